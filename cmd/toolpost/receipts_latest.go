package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// latest is the id of the newest run of a store, unless a run has this name.
const latest = "latest"

// datedRun is a run with its start time.
type datedRun struct {
	run   string
	began time.Time
}

// newestFirst returns the runs of a store, the newest first. If the first entry of a run cannot be read, the time in
// its id is used.
func newestFirst(ctx context.Context, store runStore) ([]datedRun, error) {
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
	slices.SortStableFunc(all, func(a, b datedRun) int { return cmp.Or(b.began.Compare(a.began), strings.Compare(b.run, a.run)) })
	return all, nil
}

func beganAt(ctx context.Context, store runStore, run string) time.Time {
	for line, err := range store.Lines(ctx, run) {
		if e, bad := journal.ParseEntry(trimNewline(line)); err == nil && bad == nil {
			return e.At
		}
		break
	}
	const form = "20060102-150405"
	at, _ := time.Parse(form, run[:min(len(form), len(run))])
	return at
}

// runNamed returns the id of a run that may be named "latest".
func runNamed(ctx context.Context, store runStore, name string) (string, error) {
	if name != latest {
		return name, nil
	}
	for range store.Lines(ctx, latest) {
		return latest, nil
	}
	runs, err := newestFirst(ctx, store)
	if err == nil && len(runs) == 0 {
		err = errors.New("there are no runs yet, so none is the latest")
	}
	if err != nil {
		return "", err
	}
	return runs[0].run, nil
}

// runNamed is the function runNamed for the store of the settings.
func (s *settings) runNamed(ctx context.Context, name string) (string, error) {
	if name != latest {
		return name, nil
	}
	store, done, err := openStoreAt(s.Journal, false)
	if err != nil {
		return "", err
	}
	defer done()
	return runNamed(ctx, store, name)
}
