package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The kinds of entries this package adds to the record of a run. Together with
// requests, answers and receipts they are all that Resume and Replay need.
const (
	kindBegin  journal.Kind = "agent.begin"  // settings and first messages
	kindTurn   journal.Kind = "agent.turn"   // an answer that counts
	kindNote   journal.Kind = "agent.note"   // a message of ours to the model
	kindChoice journal.Kind = "agent.choice" // how a checkpoint was answered
	kindCut    journal.Kind = "agent.cut"    // results that were shortened
	// the oldest part of the conversation was left out
	kindCompact journal.Kind = "agent.compact"
	kindSwitch  journal.Kind = "agent.switch" // another model goes on
	kindResume  journal.Kind = "agent.resume" // the run was taken up again
	kindCost    journal.Kind = "agent.cost"   // what runs inside the calls of a turn cost
	kindFound   journal.Kind = "agent.found"  // tools that the model found with find_tools
	kindPlan    journal.Kind = "agent.plan"   // what a hook changed for a turn
	kindStop    journal.Kind = "agent.stop"   // a hook ended the run after a turn
	kindPanic   journal.Kind = "agent.panic"  // a hook panicked, which ended the run
	kindInside  journal.Kind = "agent.inside" // a call that is run while the model answers
	kindLane    journal.Kind = "agent.lane"   // who runs the tools that a provider may run
)

// beginning is everything the loop depends on.
type beginning struct {
	System   string          `json:"system,omitempty"`
	Messages []llm.Message   `json:"messages"`
	Caller   []llm.ToolDef   `json:"caller,omitempty"` // tools the caller runs; Lanes has the others
	Request  json.RawMessage `json:"request,omitempty"`
	Limits   limits          `json:"limits"`
	Ladder   *Ladder         `json:"ladder,omitempty"`
	Lanes    laneSet         `json:"lanes"`
	Program  json.RawMessage `json:"program,omitempty"`
}

// template returns the settings of every question.
func (b *beginning) template() (llm.Request, error) {
	var req llm.Request
	if len(b.Request) == 0 {
		return req, nil
	}
	if err := json.Unmarshal(b.Request, &req); err != nil {
		return req, fmt.Errorf("agent: the settings on record: %w", err)
	}
	if req.Output != nil {
		req.Output.Schema = present(req.Output.Schema)
	}
	return req, nil
}

// present returns JSON that was read from the record: what was not there when it
// was written has become null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// UnmarshalJSON reads a set from the record.
func (s *laneSet) UnmarshalJSON(b []byte) error {
	type plain laneSet
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return err
	}
	dropNulls(s.Defs)
	return nil
}

// dropNulls removes the nulls of definitions from the record.
func dropNulls(defs []llm.ToolDef) {
	for i := range defs {
		defs[i].Schema = present(defs[i].Schema)
	}
}

// laneEntry is a laneSet that begins to count when another model is asked.
type laneEntry struct {
	Model string  `json:"model"`
	Lanes laneSet `json:"lanes"`
}

// turnEntry is an answer that became part of the conversation.
type turnEntry struct {
	Turn    int               `json:"turn"`
	Model   string            `json:"model,omitempty"`
	Message llm.Message       `json:"message"`
	Invalid []llm.InvalidCall `json:"invalid,omitempty"`
	Minted  []string          `json:"minted,omitempty"` // ids given to its calls
	Usage   llm.Usage         `json:"usage"`            // of the run so far
	Cost    catalog.Money     `json:"cost,omitempty"`   // of the run so far
	// Unpriced says that a part of the run so far has no known price.
	Unpriced bool `json:"unpriced,omitempty"`
	// Over is how an answer ended that the run is over with; nil if it goes on.
	Over *llm.Finish `json:"over,omitempty"`
}

// insideEntry is a call that is about to be run while the model answers.
type insideEntry struct {
	Turn int    `json:"turn"`
	Call string `json:"call"`
}

// costEntry is what a run has cost after the calls of a turn.
type costEntry struct {
	Turn     int           `json:"turn"`
	Cost     catalog.Money `json:"cost"`
	Unpriced bool          `json:"unpriced,omitempty"`
}

// whyResumed marks the messages that came with Resume.
const whyResumed = "resumed"

// noteEntry is a message from us.
type noteEntry struct {
	Message llm.Message `json:"message"`
	Why     string      `json:"why"`
}

// resumeEntry says that a run was taken up again, and under which settings.
type resumeEntry struct {
	System  string          `json:"system,omitempty"`
	Caller  []llm.ToolDef   `json:"caller,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Limits  limits          `json:"limits"`
	Ladder  *Ladder         `json:"ladder,omitempty"`
	Lanes   laneSet         `json:"lanes"`
	Program json.RawMessage `json:"program,omitempty"`
}

// beginning returns the settings as those of a run that begins.
func (e resumeEntry) beginning() beginning {
	dropNulls(e.Caller)
	return beginning{System: e.System, Caller: e.Caller, Request: e.Request, Limits: e.Limits, Ladder: e.Ladder, Lanes: e.Lanes, Program: e.Program}
}

// cutEntry says which results were cut to how many characters.
type cutEntry struct {
	Results map[string]int `json:"results"`
}

// choiceEntry is an answered checkpoint. Result is what the model gets for the
// call instead of what it got first.
type choiceEntry struct {
	Checkpoint
	Choice Choice      `json:"choice"`
	Result *llm.Result `json:"result,omitempty"`
	Minted []string    `json:"minted,omitempty"` // ids given to calls that were run again
}

// write records v unless the run is not recorded. It writes even if ctx has
// been cancelled: what happened, happened.
func (l *loop) write(ctx context.Context, kind journal.Kind, v any) error {
	if l.rec == nil {
		return nil
	}
	if _, err := l.rec.Write(context.WithoutCancel(ctx), kind, v); err != nil {
		return fmt.Errorf("agent: %s could not be recorded: %w", kind, err)
	}
	return nil
}

// maxTask bounds the task in the record: the messages hold all of it.
const maxTask = 1000

// task is what the run is about: the last thing a person said.
func (c redactor) task(msgs []llm.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.RoleUser && msgs[i].Text() != "" {
			return c.redact(msgs[i].Text()).Cut(maxTask)
		}
	}
	return ""
}

// redactor is the secrets that are kept out of records and results. Text is
// cleaned of them before it is cut.
type redactor []*journal.Secrets

// redactor returns what the record and the results are kept free of.
func (a *Agent) redactor() redactor {
	c := redactor{journal.SecretsOf(a.Store)}
	if a.Tools != nil {
		c = append(c, a.Tools.Output.Secrets)
	}
	return c
}

func (c redactor) redact(text string) journal.Clean {
	out := (*journal.Secrets)(nil).Clean(text)
	for _, s := range c {
		if s != nil {
			out = s.Clean(out.String())
		}
	}
	return out
}
