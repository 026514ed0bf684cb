package runstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/journal"
)

// Latest is the id of the newest run of a store, unless a run has this name.
const Latest = "latest"

// datedRun is a run with its start time.
type datedRun struct {
	Run   string
	began time.Time
}

// NewestFirst returns the runs of a store, the newest first. If the first entry of a run cannot be read, the time in
// its id is used.
func NewestFirst(ctx context.Context, store Store) ([]datedRun, error) {
	var all []datedRun
	for run, err := range store.Runs(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, datedRun{run, beganAt(ctx, store, run)})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b datedRun) int { return cmp.Or(b.began.Compare(a.began), strings.Compare(b.Run, a.Run)) })
	return all, nil
}

func beganAt(ctx context.Context, store Store, run string) time.Time {
	for line, err := range store.Lines(ctx, run) {
		if e, bad := journal.ParseEntry(cli.TrimNewline(line)); err == nil && bad == nil {
			return e.At
		}
		break
	}
	const form = "20060102-150405"
	at, _ := time.Parse(form, run[:min(len(form), len(run))])
	return at
}

// Named returns the id of a run that may be named "latest".
func Named(ctx context.Context, store Store, name string) (string, error) {
	if name != Latest {
		return name, nil
	}
	for range store.Lines(ctx, Latest) {
		return Latest, nil
	}
	runs, err := NewestFirst(ctx, store)
	if err == nil && len(runs) == 0 {
		err = errors.New("there are no runs yet, so none is the latest")
	}
	if err != nil {
		return "", err
	}
	return runs[0].Run, nil
}

// NamedIn is the function runNamed for the store of the settings.
func NamedIn(ctx context.Context, s *settings.Settings, name string) (string, error) {
	if name != Latest {
		return name, nil
	}
	store, done, err := OpenAt(s.Journal, false)
	if err != nil {
		return "", err
	}
	defer done()
	return Named(ctx, store, name)
}
