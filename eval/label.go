package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// Label is what a person says about a recorded run.
type Label struct {
	Run   string `json:"run"`
	Right bool   `json:"right"`
	Why   string `json:"why,omitempty"`
	// Expect is what should have happened, in the form of a case's expect. It is for a wrong run.
	Expect json.RawMessage `json:"expect,omitempty"`
	By     string          `json:"by"`
	At     time.Time       `json:"at"`
}

// KindLabel is the kind of entries with a [Label] in the journal.
const KindLabel journal.Kind = "eval.label"

// labels is the record of all labels of a store.
const labels = "labels"

// Keep adds the label to the record of labels. A later label of the same run replaces it.
func (l *Label) Keep(ctx context.Context, store journal.Store) (err error) {
	rec, err := journal.Open(ctx, store, labels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close(context.WithoutCancel(ctx))) }()
	_, err = rec.Write(ctx, KindLabel, l)
	return err
}

// Labels returns the last label of each run, the newest first.
func Labels(ctx context.Context, store journal.Store) ([]Label, error) {
	last := make(map[string]Label)
	for e, err := range journal.Whole(store.Read(ctx, labels, 1)) {
		if err != nil {
			return nil, err
		}
		if e.Kind != KindLabel {
			continue
		}
		var l Label
		if err := json.Unmarshal(e.Body, &l); err != nil {
			return nil, fmt.Errorf("eval: entry %d of %s: %w", e.Seq, labels, err)
		}
		last[l.Run] = l
	}
	out := slices.Collect(maps.Values(last))
	slices.SortFunc(out, func(a, b Label) int { return b.At.Compare(a.At) })
	return out, nil
}

// ErrNoExpectation reports that a label does not name what should have happened.
var ErrNoExpectation = errors.New("eval: the run was wrong, and the label does not say what should have happened")

// Case returns the labelled run as a case of a suite, as a line of JSON. A right run expects the calls that ran, like
// [Capture]. A wrong run expects what the label says.
func (l *Label) Case(ctx context.Context, runs journal.Store) ([]byte, error) {
	if l.Right {
		return Capture(ctx, runs, l.Run)
	}
	if len(bytes.TrimSpace(l.Expect)) == 0 {
		return nil, ErrNoExpectation
	}
	c, err := capture(ctx, runs, l.Run)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(struct {
		*captured
		Expect json.RawMessage `json:"expect"`
	}{c, l.Expect})
	if err != nil {
		return nil, fmt.Errorf("eval: the expectation is not JSON: %w", err)
	}
	if _, err := new(Loader).Parse(l.Run+".jsonl", line); err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// ProfiledModels returns the models with a kept [Profile], sorted.
func ProfiledModels(ctx context.Context, store interface {
	journal.Store
	journal.Lister
}) ([]string, error) {
	var out []string
	for run, err := range store.Runs(ctx) {
		if err != nil {
			return nil, err
		}
		if !isProfiles(run) {
			continue
		}
		for e, err := range journal.Whole(store.Read(ctx, run, 1)) {
			if err != nil {
				break // a damaged record must not hide the others
			}
			var p struct{ Model string }
			if e.Kind == KindProfile && json.Unmarshal(e.Body, &p) == nil {
				out = append(out, p.Model)
				break
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
