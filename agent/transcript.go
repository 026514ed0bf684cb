package agent

import (
	"context"
	"slices"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/tool"
)

// transcript is the part of a run that is written to: its conversation, its record and its
// spending.
type transcript struct {
	record   recorder
	spending *spending
	messages []llm.Message
	echoes   echoMemory
	ids      llm.CallIDs           // of all calls
	minted   []string              // ids that the loop gave to calls since the last recorded answer
	results  map[string]llm.Result // of the calls of the last answer, by id
}

// modelAnswer is an answer of the model, complete or not.
type modelAnswer struct {
	message llm.Message
	calls   []llm.Call // to run, in order
	invalid []llm.InvalidCall
	finish  llm.Finish
	over    bool // the run ends with it
	err     error
	kept    bool // part of the conversation, although it failed
}

func (t *transcript) write(ctx context.Context, kind journal.Kind, v any) error {
	return t.record.write(ctx, kind, v)
}

// newID returns id if no call of the conversation has it, and a new id otherwise.
func (t *transcript) newID(id string) string {
	fresh := t.ids.Take(id)
	if fresh != id {
		t.minted = append(t.minted, fresh)
	}
	return fresh
}

// pending returns the calls of the last answer that have not got results.
func (t *transcript) pending() []llm.Call {
	if len(t.messages) == 0 {
		return nil
	}
	return t.messages[len(t.messages)-1].Calls()
}

// giveResults answers the calls of the last message, in their order.
func (t *transcript) giveResults() {
	var results []llm.Result
	for _, c := range t.pending() {
		if r, ok := t.results[c.ID]; ok {
			results = append(results, r)
		}
	}
	if len(results) > 0 {
		t.messages = append(t.messages, llm.Results(results...))
	}
	t.results = nil
}

// closeCalls gives each call of the last answer a result, because every vendor refuses a
// conversation with an open call. A call without a result gets the text why.
func (t *transcript) closeCalls(why string) {
	calls := t.pending()
	if len(calls) == 0 {
		return
	}
	results := make([]llm.Result, len(calls))
	for i, c := range calls {
		r, ok := t.results[c.ID]
		if !ok {
			r = llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: why}}}
		}
		results[i] = r
	}
	t.messages = append(slices.Clip(t.messages), llm.Results(results...))
}

// keep adds an answer to the conversation and to the record.
func (t *transcript) keep(ctx context.Context, h *modelAnswer, turn *turn) error {
	if len(h.message.Parts) == 0 && len(h.invalid) == 0 {
		return nil
	}
	if len(h.message.Parts) > 0 {
		t.messages = append(t.messages, h.message)
	}
	if err := t.record.hosted(ctx, h.message, turn.n, turn.ranInAnswer); err != nil {
		return err
	}
	entry := turnEntry{Turn: turn.n, Model: turn.model, Message: h.message, Invalid: h.invalid, Minted: t.minted,
		Usage: t.spending.usage, Cost: t.spending.cost(), Unpriced: t.spending.unpriced.Load()}
	t.minted = nil
	if h.over {
		entry.Over = &h.finish
	}
	return t.write(ctx, kindTurn, entry)
}

// note adds a message to the model to the conversation and to the record.
func (t *transcript) note(ctx context.Context, why, text string) error {
	n := noteEntry{Message: llm.User(text), Why: why}
	t.messages = append(t.messages, n.message())
	return t.write(ctx, kindNote, n)
}

// turn is the state of one turn. A hook may change the settings of its requests.
type turn struct {
	n           int
	model       string    // id of the model that is asked
	asked       llm.Model // of the last request
	observed    *observe.Turn
	ranInAnswer map[string]bool // ids of calls that ran while the model answered
	narrowed    bool            // the plan offers other tools than the run
	planModel   llm.Model       // nil means the model of the run
	planID      string
	extra       *tool.Set // tools of the plan that only this turn can call
	system      string
	tools       []llm.ToolDef
	settings    llm.Request
	view        []llm.Message // replaces the first viewed messages, if not nil
	viewed      int
}

// conversation is the messages of the next request.
func (t *turn) conversation(msgs []llm.Message) []llm.Message {
	if t.view == nil {
		return msgs
	}
	return append(slices.Clip(t.view), msgs[min(t.viewed, len(msgs)):]...)
}

// offers reports whether the turn offers a function tool of that name.
func (t *turn) offers(name string) bool {
	return slices.ContainsFunc(t.tools, func(d llm.ToolDef) bool { return d.Name == name && d.Kind != llm.HostedTool })
}

// modelName is the name of the model in messages to people.
func (t *turn) modelName() string {
	if t.model == "" {
		return "the model"
	}
	return t.model
}
