package runstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// Prune selects the runs to remove.
type Prune struct {
	Before time.Time // runs that began earlier; zero means any
	Keep   int       // the newest runs stay
	Open   bool      // also runs that have not ended
	Dry    bool      // remove nothing
}

// Runs removes runs of a store and returns their ids. Runs that another process owns stay. Without Open, so does a run that
// has not ended, because a call in it may wait for a person.
func (p Prune) Runs(ctx context.Context, store Store) (removed []string, err error) {
	remover, ok := store.(journal.Remover)
	if !ok {
		return nil, errors.New("this store cannot remove runs")
	}
	runs, err := NewestFirst(ctx, store)
	if err != nil {
		return nil, err
	}
	for i, r := range runs {
		if i < p.Keep || !p.Before.IsZero() && !r.began.Before(p.Before) {
			continue
		}
		if !p.Open {
			report, err := journal.VerifyLines(store.Lines(ctx, r.Run))
			if err == nil && !report.Sealed && report.Entries > 0 {
				continue
			}
		}
		if !p.Dry {
			if err := remover.Remove(ctx, r.Run); errors.As(err, new(*journal.HeldError)) {
				continue
			} else if err != nil {
				return removed, fmt.Errorf("run %s: %w", r.Run, err)
			}
		}
		removed = append(removed, r.Run)
		if err := ctx.Err(); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// Unrecorded is the store of a run that leaves no record: it ends with the process.
type Unrecorded struct{ journal.Memory }

// Lines implements [Store]. It returns none.
func (*Unrecorded) Lines(context.Context, string) iter.Seq2[[]byte, error] {
	return func(func([]byte, error) bool) {}
}
