package agent

import (
	"context"
	"fmt"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Conversation returns the messages of a run as its record has them, with the
// results of all calls that have one, and whether the run has ended. One that has
// not can be resumed; one that has can be gone on with by a new run that begins
// with these messages and names the old one as its [Agent.Parent].
func Conversation(ctx context.Context, store journal.Store, run string) (messages []llm.Message, ended bool, err error) {
	p := newPast()
	for e, err := range journal.Whole(store.Read(ctx, run, 0)) {
		if err == nil {
			err = p.take(e)
		}
		if err != nil {
			return nil, false, fmt.Errorf("agent: run %s: %w", run, err)
		}
		ended = e.Kind == journal.KindSeal
	}
	if !p.begun {
		return nil, false, fmt.Errorf("agent: the record has no run %s that an agent began", run)
	}
	p.answered()
	return p.messages, ended, nil
}
