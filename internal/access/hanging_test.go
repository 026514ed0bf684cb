package access

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// hanging is a database that does not answer.
type hanging struct{}

func (hanging) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hanging) Driver() driver.Driver { return nil }

// A request does not wait indefinitely for a hanging database.
func TestHangingDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(hanging{})
		defer db.Close()
		s := &SQL{db: db}
		begun := time.Now()
		for name, ask := range map[string]func() error{
			"put":    func() error { return s.Put(t.Context(), Row{Kind: "k", ID: "i"}) },
			"within": func() error { return s.within(t.Context(), func(*sql.Tx) error { return nil }) },
		} {
			var broken *StoreError
			if err := ask(); !errors.As(err, &broken) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if took := time.Since(begun); took > 2*answerTime {
			t.Errorf("it took %v", took)
		}
	})
}
