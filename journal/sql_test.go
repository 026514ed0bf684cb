package journal_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// stuck is a database that answers the first statement, and no other.
type stuck struct{ answered bool }

func (s *stuck) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *stuck) Driver() driver.Driver                        { return nil }
func (s *stuck) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not prepared") }
func (s *stuck) Begin() (driver.Tx, error)                    { return nil, errors.New("not begun") }
func (s *stuck) Close() error                                 { return nil }

func (s *stuck) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	if !s.answered {
		s.answered = true
		return driver.RowsAffected(0), nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *stuck) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A receipt is written even if the call was cancelled, but not for ever.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(new(stuck))
		defer db.Close()
		store, err := journal.OpenSQL(db)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = store.Append(context.WithoutCancel(t.Context()), journal.Entry{Run: "run", Kind: journal.KindReceipt, Body: []byte(`{}`)})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > time.Minute {
			t.Errorf("%v after %s", err, took)
		}
	})
}
