package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// RunOptions are the settings of one run, in addition to those of its Agent.
type RunOptions struct {
	// ID names the run; empty means [Agent.NewRun].
	ID string
	// Parent is the run that this one continues; empty means [Agent.Parent].
	Parent string
	// Metadata is data of the program about the run, such as a user or a ticket. It is in the
	// record and in [Settings], and no model reads it.
	Metadata map[string]string
}

// The limits of RunOptions.Metadata.
const (
	maxMetadata     = 64
	maxMetadataText = 4096
)

// check refuses options that the record could not hold.
func (o *RunOptions) check() error {
	if o.ID != "" {
		if err := journal.ValidRun(o.ID); err != nil {
			return err
		}
	}
	if len(o.Metadata) > maxMetadata {
		return fmt.Errorf("agent: Metadata has %d entries; at most %d are recorded", len(o.Metadata), maxMetadata)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Metadata)) {
		v := o.Metadata[key]
		if key == "" || len(key) > maxMetadataText || len(v) > maxMetadataText || !utf8.ValidString(key) || !utf8.ValidString(v) {
			return fmt.Errorf("agent: Metadata %.40q: names and values are UTF-8, a name is not empty, and each has at most %d bytes", key, maxMetadataText)
		}
	}
	return nil
}

// RunWith is [Agent.Run] with options for this run.
func (a *Agent) RunWith(ctx context.Context, o RunOptions, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	mustContext(ctx)
	return func(yield func(llm.Event, error) bool) {
		l, err := a.begin(ctx, o, msgs)
		if err != nil {
			yield(nil, err)
			return
		}
		l.walk(a.observed(ctx), yield)
	}
}

// mustContext explains a nil context, which would be a nil dereference somewhere below.
func mustContext(ctx context.Context) {
	if ctx == nil {
		panic("agent: the context of the run is nil; pass context.Background()")
	}
}

// Into asks a for a T: it runs a conversation, whose answer has to match the schema of T, or that
// of Request.Output if it has one. The model may call the tools of a before it answers. An answer
// that does not match is asked for again, as [refine.Structured] describes.
func Into[T any](ctx context.Context, a *Agent, msgs ...llm.Message) (T, Done, error) {
	var v T
	b := *a
	if out := a.Request.Output; out == nil || len(out.Schema) == 0 {
		s, err := schema.For[T]()
		if err != nil {
			return v, Done{}, &llm.Error{Op: "agent.Into", Kind: llm.Invalid, Err: err}
		}
		format := llm.OutputFormat{Name: "answer"}
		if out != nil {
			format = *out
		}
		format.Schema = json.RawMessage(s)
		b.Request.Output = &format
	}
	done, err := b.Ask(ctx, msgs...)
	switch {
	case err != nil:
		return v, done, err
	case len(done.Value) == 0:
		return v, done, &llm.Error{Op: "agent.Into", Kind: llm.Incomplete, Err: errors.New(cmp.Or(noValue[done.Status], "the run ended without an answer"))}
	}
	if err := schema.DecodeKnown(done.Value, &v); err != nil {
		return v, done, &llm.Error{Op: "agent.Into", Kind: llm.Malformed, Err: err}
	}
	return v, done, nil
}

// noValue is why a run without an error has no value.
var noValue = map[Status]string{StatusPending: "the run waits for a person; resume it and read Done.Value"}
