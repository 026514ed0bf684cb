package emulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
)

// Emulation configures how a model without tool calling is made to call tools. The
// zero value teaches the tools in a prompt, in JSON, to an unknown model; see
// [Emulation.Around].
type Emulation struct {
	// Style is the notation to teach: one of [Styles], "markdown", which is
	// another word for json, or a dialect of Dialects. Empty takes what suits
	// the family.
	Style string
	// Dialects are the dialects that are read and may be taught; nil reads
	// dialect.Builtin and teaches those of Styles.
	Dialects *dialect.List
	// Family is the model's family in the words of the catalogue, like
	// "qwen"; empty or unknown changes nothing.
	Family string
	// Size is the number of the model's parameters, Context its context in
	// tokens; 0 means unknown.
	Size    int64
	Context int
	// OneCall says that the model cannot write several calls in an answer.
	OneCall bool
	// Dialect is how calls of the history are written where no tools are
	// offered; empty means JSON.
	Dialect string
	// Host holds answers to a schema; the zero value holds them to nothing.
	Host Host
	// Apart is set if the host keeps text apart from the control tokens of its models,
	// as the vendors' own APIs do: a request without tools is then sent unchanged. Any
	// other request has them neutralised; see [Tokens].
	Apart bool
	// Decider decides about calls and their values for the models that Gate
	// selects. Nil leaves all decisions to the model.
	Decider Decider
	// Gate selects the models that Decider decides for; empty is GateSmall.
	// GateOn needs a Decider.
	Gate Gate
	// Promotion is which text may become a call, and Why the reason for it; the
	// default is that of the request, else all.
	Promotion llm.Promotion
	Why       string
}

// Reader turns one stream of events into another. It keeps the promises of
// package llm: it passes on the one error last, and stops when told to.
type Reader = func(iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error]

// EmulatedRequest is a request in words that teach its tools, and how to read the answer.
type EmulatedRequest struct {
	// Request is the request for the model. It does not have tools.
	Request *llm.Request
	// Dialect is the notation of calls in the answer; empty if there are none.
	Dialect string
	// Taught says that the prompt teaches the tools and the model decides.
	Taught bool
	// Warnings report the changes, and the demands that nothing enforces.
	Warnings []llm.Warning

	// Answer describes how the answer is read. A caller may add stages.
	Answer Answer

	final bool // the tools include FinalTool
}

// Read returns the events of the model's answer in the terms of the request
// that was planned.
func (p *EmulatedRequest) Read(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return p.Answer.Pipeline().Read(raw)
}

func (p *EmulatedRequest) warn(code llm.WarningCode, feature, format string, args ...any) {
	p.Warnings = append(p.Warnings, llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...)})
}

// Plan returns the request without tools, in words that teach them, and how to
// read its answer. The caller's request is not changed. Calls and results of the
// history should be in order, as history.Repair leaves them.
//
// A request without tools is planned, too: the model may not know the roles of
// calls and results, so those of the history become text. Those of tools that a
// vendor ran are left out, with a warning; see [WithoutHosted].
func (e Emulation) Plan(req *llm.Request) (*EmulatedRequest, error) {
	out := &EmulatedRequest{}
	said := req.Messages
	if kept, warnings := WithoutHosted(req.Messages); len(warnings) > 0 {
		req = req.Clone()
		req.Messages, out.Warnings = kept, warnings
	}
	asked := req
	// A free-text tool is taught as a function with one argument.
	req, aliases := history.Rules{NoFreeTools: true}.Apply(req)
	// From here on no text from outside holds a control token of the model's
	// template.
	req, restored := e.tokens(req).Guard(req)
	if req == asked && req.Output != nil {
		req = req.Clone()
	}
	output, err := e.answer(req, out)
	if err != nil {
		return nil, err
	}
	if output != nil {
		out.Answer.Output = []Reader{output}
	}
	if e.Gate == GateOn && e.Decider == nil {
		return nil, &llm.Error{Op: "emulate", Kind: llm.Invalid, Err: errors.New("GateOn needs a Decider, for instance smallmodel.Wording")}
	}
	out.Request = req.Clone()
	out.Request.Tools, out.Request.Choice, out.Request.OneCall = nil, llm.ToolChoice{}, false
	if req.N > 1 && len(req.Tools) > 0 {
		out.Request.N = 0
		out.warn(llm.Ignored, "n", "calls are read from the text of one answer")
	}
	switch {
	case len(req.Tools) == 0:
		err = e.inText(out.Request, e.Dialect, "")
	case e.Host.holds() && e.decides():
		err = e.small(req, out)
	default:
		err = e.teach(req, out)
	}
	if err != nil {
		return nil, err
	}
	out.Warnings = append(out.Warnings, wire.Uncarried(asked, out.Request)...)
	out.Answer.Tokens, out.Answer.Aliases = restored, aliases
	out.compare(said)
	return out, nil
}

// compare has the calls of the answer compared with messages, which the request need not have any more.
func (p *EmulatedRequest) compare(messages []llm.Message) {
	if p.Answer.Calls == nil || p.Answer.Calls.Request == nil {
		return
	}
	req := *p.Answer.Calls.Request
	req.Messages = messages
	p.Answer.Calls.Request = &req
}

// Around returns a model that answers like inner and calls tools, which inner
// need not know of. It asks inner for what [Emulation.Plan] says, after history.Repair
// has put the history in order, and holds the answer to what the request demands
// (see [Keep]). Its events are those of inner, as they stream, with the calls in
// place of the text they were written in; warnings about the emulation come
// first. It asks inner once per request and is safe for concurrent use if inner
// is.
func (e Emulation) Around(inner llm.Model) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			plan, err := e.around(req)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, w := range plan.Warnings {
				if !yield(w, nil) {
					return
				}
			}
			for ev, err := range plan.Read(inner.Stream(ctx, plan.Request)) {
				if !yield(ev, err) || err != nil {
					return
				}
			}
		}
	})
}

// around plans a request for a model of the program.
func (e Emulation) around(req *llm.Request) (*EmulatedRequest, error) {
	if err := Check("emulate", req); err != nil {
		return nil, err
	}
	healed := req.Clone()
	messages, warnings := history.Repair(req.Messages, "")
	healed.Messages = messages
	plan, err := e.Plan(healed)
	if err != nil {
		return nil, err
	}
	plan.Warnings = append(warnings, plan.Warnings...)
	if plan.Taught {
		plan.warn(llm.Emulated, "tools", "the tools are taught in a prompt, in the dialect %s", plan.Dialect)
	}
	plan.Answer.Unchecked, plan.Answer.Demands, plan.Answer.Op = true, req, "emulate"
	plan.compare(req.Messages)
	return plan, nil
}

// tokens are what text from outside must not hold: the control tokens of the
// model's family, and the words around results in the notation that is taught.
func (e Emulation) tokens(req *llm.Request) *Tokens {
	if e.Apart && len(req.Tools) == 0 {
		return nil
	}
	results := ""
	o := PromptOptions{Dialects: e.Dialects}
	if s, err := o.styleOf(cmp.Or(e.style(), families[e.Family].style, "json")); err == nil {
		results = s.results
	}
	return familyTokens(e.Family, listOr(e.Dialects).ResultMarkers(results))
}

// bounds are the limits of what a model writes under a schema. A small model
// that has begun a string does not stop by itself.
func (e Emulation) bounds() bounds {
	if e.isSmall() {
		return bounds{text: 200, items: 10, whole: 1_000_000_000}
	}
	return bounds{}
}

// style is the notation to teach. A fenced block is what Markdown has for data.
func (e Emulation) style() string {
	if e.Style == "markdown" {
		return "json"
	}
	return e.Style
}

// teach writes the tools into the prompt and leaves the decision to the model.
func (e Emulation) teach(req *llm.Request, out *EmulatedRequest) error {
	constrained := e.Host.holds() && !req.Choice.Forbids()
	prompt, err := Teach(PromptOptions{
		Style: e.style(), Dialects: e.Dialects, Tools: req.Tools, Choice: req.Choice, Context: e.Context, Family: e.Family,
		Parallel: !req.OneCall && !e.OneCall, Constrained: constrained,
	})
	if err != nil {
		return err
	}
	out.Dialect, out.Taught = prompt.Dialect, !req.Choice.Forbids()
	if err := e.inText(out.Request, prompt.Dialect, prompt.Results); err != nil {
		return err
	}
	if prompt.System != "" {
		e.instruct(out.Request, prompt)
	}
	if constrained {
		before, err := e.constrain(req, out, prompt)
		if err != nil {
			return err
		}
		if !before {
			out.Answer.Constrained = wholeJSON("", "")
		}
	}
	out.Answer.Calls = e.reader(req, Functions(req.Tools), prompt.Dialect)
	return nil
}

// reminded is how many messages a conversation has before its end is reminded
// of the notation: models forget it.
const reminded = 8

// instruct puts the prompt where the model reads it.
func (e Emulation) instruct(req *llm.Request, prompt ToolPrompt) {
	text := strings.TrimSpace(req.System + "\n\n" + prompt.System)
	last := lastUser(req.Messages)
	if prompt.Reminder != "" && len(req.Messages) >= reminded && last >= 0 {
		prepend(&req.Messages[last], prompt.Reminder)
	}
	if first := firstUser(req.Messages); prompt.InUser && first >= 0 {
		req.System = ""
		prepend(&req.Messages[first], text)
	} else {
		req.System = text
	}
	req.Stop = append(req.Stop, prompt.Stop...)
}

func firstUser(messages []llm.Message) int {
	for i, m := range messages {
		if m.Role == llm.RoleUser {
			return i
		}
	}
	return -1
}

func lastUser(messages []llm.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.RoleUser {
			return i
		}
	}
	return -1
}

// prepend puts text before what a message says.
func prepend(m *llm.Message, text string) {
	m.Parts = append([]llm.Part{llm.Text{Text: text + "\n\n"}}, m.Parts...)
}

// constrain has the host hold the answer to the envelope, and reports whether text may
// precede it.
func (e Emulation) constrain(req *llm.Request, out *EmulatedRequest, prompt ToolPrompt) (bool, error) {
	b := e.bounds()
	envelope, losses, err := b.bound(prompt.Envelope)
	if err != nil {
		return false, &llm.Error{Op: "emulate", Kind: llm.Invalid, Err: fmt.Errorf("the schema of the tools: %w", err)}
	}
	out.lost("schema", losses)
	if calls, ok := callsOnly(envelope); ok {
		before := proseBeforeCall
		if req.Choice.Mode != llm.MustCall {
			before = proseWithoutCall
		}
		g, err := grammar(calls, before)
		if err == nil && req.Choice.Mode != llm.MustCall {
			g = strings.Replace(g, "prose* ", "prose* (", 1)
			g = strings.Replace(g, "\n", ")?\n", 1)
		}
		if err == nil && e.Host.applyGrammar(out.Request, g) {
			return true, nil
		}
	}
	return false, e.Host.apply(out.Request, envelope)
}

// callsOnly returns an envelope without its alternative of text, which a
// grammar that allows text before a call does not need.
func callsOnly(envelope json.RawMessage) (json.RawMessage, bool) {
	o, err := readObject(envelope)
	if err != nil {
		return nil, false
	}
	var calls []json.RawMessage
	for _, alt := range js.Decode[[]json.RawMessage](o.get("anyOf")) {
		a, _ := readObject(alt)
		props, _ := readObject(a.get("properties"))
		if !props.has("text") || props.has("name") {
			calls = append(calls, alt)
		}
	}
	if len(calls) == 0 {
		return envelope, o.get("anyOf") == nil
	}
	joined, err := oneOf(calls)
	return joined, err == nil
}

// maxLosses bounds how many losses are reported one by one.
const maxLosses = 8

// lost reports the parts of a schema that the host does not enforce.
func (p *EmulatedRequest) lost(feature string, losses []schema.Loss) {
	for i, l := range losses {
		if i == maxLosses {
			p.warn(llm.Degraded, feature, "and %d more", len(losses)-maxLosses)
			return
		}
		p.warn(llm.Degraded, feature, "%s: %s: %s", l.Path, l.Keyword, l.Why)
	}
}

// inText writes the calls and results of the history as text.
func (e Emulation) inText(req *llm.Request, name, results string) error {
	list := listOr(e.Dialects)
	for i := range req.Messages {
		m := &req.Messages[i]
		parts, err := turnInText(list, cmp.Or(name, "json_fence"), m.Parts)
		if err != nil {
			return err
		}
		parts, answers := takeResults(parts)
		if len(answers) > 0 {
			_, text := list.WrapResults(results, answers)
			parts = slices.Concat([]llm.Part{llm.Text{Text: text}}, imagesOf(answers), parts)
			m.Role = llm.RoleUser
		}
		m.Parts = parts
	}
	return nil
}

// imagesOf returns the images of results, in order. The text of a result has a note in the place of each.
func imagesOf(results []llm.Result) (images []llm.Part) {
	for _, r := range results {
		for _, p := range r.Parts {
			if m, ok := p.(llm.Media); ok && m.Kind == llm.Image {
				images = append(images, m)
			}
		}
	}
	return images
}

// takeResults divides parts into results and everything else.
func takeResults(parts []llm.Part) (others []llm.Part, results []llm.Result) {
	for _, p := range parts {
		if r, ok := p.(llm.Result); ok {
			results = append(results, r)
		} else {
			others = append(others, p)
		}
	}
	return others, results
}

// turnInText writes the text and the calls of a turn as the model would have written
// them. They are written together, because a dialect has separators between them.
// Thinking, and parts that a model does not write, come first. A turn without calls is
// not changed.
func turnInText(list *dialect.List, name string, parts []llm.Part) ([]llm.Part, error) {
	var others, turn, calls []llm.Part
	said := ""
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Call:
			turn, calls = append(turn, p), append(calls, p)
		case llm.Text:
			if p.Text == "" && !p.State.IsZero() { // what only the vendor knows
				others = append(others, p)
				continue
			}
			turn, said = appendText(turn, p.Text), said+p.Text
		default:
			others = append(others, p)
		}
	}
	if len(calls) == 0 {
		return parts, nil
	}
	text, err := list.Render(name, turn...)
	if err != nil && said != "" { // an answer in this dialect may be either text or calls
		text, err = list.Render(name, calls...)
		text = said + "\n" + text
	}
	if err != nil { // a call that the dialect cannot write
		text, err = list.Render("json_fence", turn...)
	}
	if err != nil {
		return nil, err
	}
	return append(others, llm.Text{Text: text}), nil
}

// appendText adds text to parts, to the text they end with if they do.
func appendText(parts []llm.Part, text string) []llm.Part {
	if n := len(parts) - 1; n >= 0 {
		if last, ok := parts[n].(llm.Text); ok {
			parts[n] = llm.Text{Text: last.Text + text}
			return parts
		}
	}
	return append(parts, llm.Text{Text: text})
}
