package agent

import (
	"context"
	"fmt"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Conversation returns the messages of a run from its record, with the results of all calls that
// have one, and whether the run has ended. A run that has not ended can be resumed. A run that has
// ended can be continued by a new run that begins with these messages and names the old one as its
// [Agent.Parent].
//
// A conversation that outgrew the window of the model has shortened results, and a summary instead
// of its oldest part. [WholeConversation] has all of it.
func Conversation(ctx context.Context, store journal.Store, run string) (messages []llm.Message, ended bool, err error) {
	return conversation(ctx, store, run, newRecordedRun())
}

// WholeConversation is [Conversation] without anything shortened, left out or summed up.
// It is for people and programs that look at what happened: a model may not be able to
// take all of it.
func WholeConversation(ctx context.Context, store journal.Store, run string) (messages []llm.Message, ended bool, err error) {
	p := newRecordedRun()
	p.whole = true
	return conversation(ctx, store, run, p)
}

func conversation(ctx context.Context, store journal.Store, run string, p *recordedRun) (messages []llm.Message, ended bool, err error) {
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
