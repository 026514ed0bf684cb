package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
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
	kindSwitch  journal.Kind = "agent.switch" // another model continues
	kindResume  journal.Kind = "agent.resume" // the run was taken up again
	kindCost    journal.Kind = "agent.cost"   // what runs inside the calls of a turn cost
	kindFound   journal.Kind = "agent.found"  // tools that the model found with find_tools
	kindPlan    journal.Kind = "agent.plan"   // what a hook changed for a turn
	kindStop    journal.Kind = "agent.stop"   // a hook ended the run after a turn
	kindPanic   journal.Kind = "agent.panic"  // a hook panicked, which ended the run
	kindInside  journal.Kind = "agent.inside" // a call that is run while the model answers
	kindLane    journal.Kind = "agent.lane"   // the lane of each hosted tool
	kindGuard   journal.Kind = "agent.guard"  // what guardrails decided
	kindCheck   journal.Kind = "agent.check"  // a structured answer that was refused
)

// beginning is everything the loop depends on.
type beginning struct {
	System   string          `json:"system,omitempty"`
	Messages []llm.Message   `json:"messages"`
	Caller   []llm.ToolDef   `json:"caller,omitempty"` // tools the caller runs; Lanes has the others
	Request  json.RawMessage `json:"request,omitempty"`
	Limits   limits          `json:"limits"`
	Ladder   *Ladder         `json:"ladder,omitempty"`
	Lanes    offeredTools    `json:"lanes"`
	Program  json.RawMessage `json:"program,omitempty"`
	// Origins reports that the texts of the record have their origin.
	Origins bool `json:"origins,omitempty"`
	// Echoes is what the echo guard knows of an earlier run that this one continues.
	Echoes *llm.EchoMemory `json:"echoes,omitempty"`
}

// limits are the numbers a run is held to.
type limits struct {
	MaxTurns   int  `json:"max_turns"`
	NoLastTurn bool `json:"no_last_turn,omitempty"`
	Budget     int  `json:"budget"`
	Tokens     int  `json:"tokens,omitempty"`
	Context    int  `json:"context,omitempty"`
	// Money is in millionths of a millionth of a dollar.
	Money catalog.Money `json:"money,omitempty"`
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

// present returns JSON from the record. A value that was absent when it was written is null there.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// offeredTools is the tools that one model is told about.
type offeredTools struct {
	Defs     []llm.ToolDef   `json:"defs"`               // all tools that run here or at the provider
	Withheld map[string]bool `json:"withheld,omitempty"` // tools of the program that are not offered
	Chosen   []LaneChosen    `json:"chosen,omitempty"`
	// Dropped are tools that did not fit into Agent.Offer, best first.
	Dropped []string `json:"dropped,omitempty"`
	Finds   bool     `json:"finds,omitempty"` // the model can find the dropped tools with find_tools
}

// UnmarshalJSON reads a set from the record.
func (s *offeredTools) UnmarshalJSON(b []byte) error {
	type plain offeredTools
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

// laneEntry is a offeredTools that begins to count when another model is asked.
type laneEntry struct {
	Model string       `json:"model"`
	Lanes offeredTools `json:"lanes"`
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
	// Unpriced reports that the price of a part of the run so far is unknown.
	Unpriced bool `json:"unpriced,omitempty"`
	// Over is how the last answer of the run ended; nil if the run continues.
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

// whyManual marks a note that a person wrote.
const whyManual = "manual"

// noteEntry is a message that was added to the conversation.
type noteEntry struct {
	Message llm.Message `json:"message"`
	Why     string      `json:"why"`
}

// message returns the message of a note. A text of the library is marked as such: it may
// quote a call, and the model may repeat that call without it being an echo.
func (n noteEntry) message() llm.Message {
	m := n.Message
	if n.Why != whyManual && n.Why != whyResumed {
		m.Parts = markOwn(m.Parts)
	}
	return m
}

// markOwn returns parts with their text marked as written by the library. A text with an
// origin is a quotation, which is not.
func markOwn(parts []llm.Part) []llm.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if t, ok := p.(llm.Text); ok && t.Origin == "" {
			t.Ours = true
			out[i] = t
		}
	}
	return out
}

// resumeEntry says that a run was taken up again, and under which settings.
type resumeEntry struct {
	System  string          `json:"system,omitempty"`
	Caller  []llm.ToolDef   `json:"caller,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Limits  limits          `json:"limits"`
	Ladder  *Ladder         `json:"ladder,omitempty"`
	Lanes   offeredTools    `json:"lanes"`
	Program json.RawMessage `json:"program,omitempty"`
}

// beginning returns the settings as those of a run that begins.
func (e resumeEntry) beginning() beginning {
	dropNulls(e.Caller)
	return beginning{System: e.System, Caller: e.Caller, Request: e.Request, Limits: e.Limits, Ladder: e.Ladder, Lanes: e.Lanes, Program: e.Program}
}

// choiceEntry is an answered checkpoint. Result is what the model gets for the
// call instead of what it got first.
type choiceEntry struct {
	Checkpoint
	Choice Choice      `json:"choice"`
	Result *llm.Result `json:"result,omitempty"`
	Minted []string    `json:"minted,omitempty"` // ids given to calls that were run again
}

// compactEntry is a compaction of the conversation.
type compactEntry struct {
	Turn int `json:"turn"`
	// Messages is the new conversation. Nil means that there is none: the run ended after
	// the request for a summary.
	Messages *[]compaction.Range `json:"messages,omitempty"`
	Of       int                 `json:"of,omitempty"` // the number of messages before
	Used     llm.Usage           `json:"used,omitzero"`
	Cost     catalog.Money       `json:"cost,omitempty"` // of the run so far
	Unpriced bool                `json:"unpriced,omitempty"`
}

// apply returns the conversation after a compaction.
func (e compactEntry) apply(msgs []llm.Message) ([]llm.Message, error) {
	if e.Messages == nil {
		return msgs, nil
	}
	if e.Of != len(msgs) {
		return nil, fmt.Errorf("agent: the conversation that was compacted had %d messages, and this one has %d", e.Of, len(msgs))
	}
	return compaction.Assemble(*e.Messages, msgs)
}

// left returns the messages that the compaction left out or changed.
func (e compactEntry) left(msgs []llm.Message) []llm.Message {
	if e.Messages == nil {
		return nil
	}
	return compaction.LeftOut(*e.Messages, msgs)
}

// planEntry is what a hook changed for a turn.
type planEntry struct {
	Turn     int                 `json:"turn"`
	Model    string              `json:"model,omitempty"`
	System   *string             `json:"system,omitempty"`
	Tools    *[]llm.ToolDef      `json:"tools,omitempty"`
	Messages *[]compaction.Range `json:"messages,omitempty"`
	Request  json.RawMessage     `json:"request,omitempty"`
}

// changed names the parts that a hook changed.
func (e *planEntry) changed() []string {
	var names []string
	for _, c := range []struct {
		name string
		is   bool
	}{{"model", e.Model != ""}, {"system", e.System != nil}, {"tools", e.Tools != nil}, {"messages", e.Messages != nil}, {"request", e.Request != nil}} {
		if c.is {
			names = append(names, c.name)
		}
	}
	return names
}

// stopEntry is the end of a run by a hook after a turn.
type stopEntry struct {
	Turn int    `json:"turn"`
	Why  string `json:"why"`
}

// foundEntry is tools that the model found with find_tools before a turn. They are offered
// from then on.
type foundEntry struct {
	Turn  int           `json:"turn"`
	Tools []llm.ToolDef `json:"tools"`
}

// panicEntry is the panic of a hook, which ended the run.
type panicEntry struct {
	Turn int    `json:"turn"`
	Hook string `json:"hook"`
	Why  string `json:"why"`
}

// recorder writes the record of a run. Without a [journal.Recorder] it writes nothing: in
// a replay, and for an Agent without a Store.
type recorder struct{ *journal.Recorder }

// write records v, even if ctx has been cancelled.
func (r recorder) write(ctx context.Context, kind journal.Kind, v any) error {
	if r.Recorder == nil {
		return nil
	}
	if _, err := r.Write(context.WithoutCancel(ctx), kind, v); err != nil {
		return fmt.Errorf("agent: %s could not be recorded: %w", kind, err)
	}
	return nil
}

// model records the requests of a model and its answers.
func (r recorder) model(m llm.Model) llm.Model {
	if r.Recorder == nil {
		return m
	}
	return r.Model(m)
}

// close gives up the ownership of the run. Another process can resume it then.
func (r recorder) close(ctx context.Context) error {
	if r.Recorder == nil {
		return nil
	}
	return r.Close(ctx)
}

// hosted records the calls that the provider ran in an answer. Calls in ran have a receipt
// already.
func (r recorder) hosted(ctx context.Context, m llm.Message, turn int, ran map[string]bool) error {
	if r.Recorder == nil {
		return nil
	}
	results := make(map[string]llm.Result)
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			results[r.CallID] = r
		}
	}
	for _, p := range m.Parts {
		c, ok := p.(llm.Call)
		if !ok || !c.Hosted || ran[c.ID] {
			continue
		}
		id := c.ID
		for n := 1; id == "" || r.Settled(id); n++ { // a vendor may leave the id out
			id = fmt.Sprintf("hosted_%d_%d", turn, n)
		}
		receipt := journal.Receipt{Call: id, Tool: c.Name, Args: c.Args, Status: journal.OK, ExecutedBy: journal.ByProvider, Attempts: 1}
		if result, ok := results[c.ID]; ok {
			receipt.Result = &result
			if result.Failed {
				receipt.Status, receipt.Error = journal.Failed, &journal.Failure{Code: "execution", Message: result.Text()}
			}
			if hash, err := journal.OutputHash(result.Parts, ""); err == nil {
				receipt.OutputHash = hash
			}
		}
		if _, err := r.Receipt(ctx, receipt); err != nil {
			return fmt.Errorf("agent: the call of %s could not be recorded: %w", c.Name, err)
		}
	}
	return nil
}

// consented gives the session the decisions about the calls it is going to run: decisions from the
// record, and new ones, after recording them.
func (r recorder) consented(ctx context.Context, session *invoke.Session, entries []journal.Entry, decisions []journal.Approval) error {
	for _, a := range decisions {
		e, err := r.Write(context.WithoutCancel(ctx), journal.KindApproval, a)
		if err != nil {
			return fmt.Errorf("agent: a decision could not be recorded: %w", err)
		}
		entries = append(slices.Clip(entries), e)
	}
	for _, e := range entries {
		if err := session.Recall(e); err != nil {
			return err
		}
	}
	return nil
}

// seal ends the record of a run for good. err is the error of the run.
func (r recorder) seal(ctx context.Context, end journal.End, err error) error {
	if e := r.write(ctx, journal.KindEnd, end); e != nil {
		return errors.Join(err, e)
	}
	if _, e := r.Seal(ctx); e != nil {
		return errors.Join(err, fmt.Errorf("agent: the run could not be sealed: %w", e))
	}
	return err
}

// guardEntry is what guardrails decided about messages or an answer.
type guardEntry struct {
	Turn    int                  `json:"turn"`
	Output  bool                 `json:"output,omitempty"` // about an answer
	Results []refine.GuardResult `json:"results"`
	Text    *string              `json:"text,omitempty"` // of the answer, if it was changed
}

// blocked returns the error of a text that was blocked, nil if it was not.
func (e *guardEntry) blocked() error {
	if n := len(e.Results); n > 0 && e.Results[n-1].Verdict == refine.GuardBlock {
		return &refine.BlockedError{GuardResult: e.Results[n-1]}
	}
	return nil
}

// limits returns the limits with their defaults.
func (a *Agent) limits() limits {
	return limits{
		MaxTurns: cmp.Or(a.MaxTurns, defaultTurns), NoLastTurn: a.NoLastTurn,
		Budget: max(cmp.Or(a.RetryBudget, defaultBudget), 0), Tokens: a.Tokens, Context: a.Context, Money: a.Money,
	}
}
