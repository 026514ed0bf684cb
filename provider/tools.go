package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// defineTools gives a schema to the client's tools that only models of another vendor
// know by their type.
func (p planner) defineTools() {
	codec := p.codec
	if p.route.Kind != Native { // told in words
		codec = wire.Codec{}
	}
	p.req.Tools = codec.DefineTools(p.req.Tools)
}

// freeTextTools reports that tools which take free text become functions.
func (p planner) freeTextTools() {
	if p.freeTools() {
		return
	}
	for i := range p.req.Tools {
		if t := &p.req.Tools[i]; t.Kind == llm.FreeTool {
			p.warn(llm.Degraded, "tools.free_text", "%s has functions only; the text of %s is the argument %q", p.vendor.Name, t.Name, history.FreeInput)
		}
	}
}

// freeTools reports whether the vendor has tools that take free text.
func (m *Model) freeTools() bool { return m.vendor.freeTools(m.format()) }

// rules are the vendor's demands on names and ids.
func (m *Model) rules() history.Rules {
	return history.Rules{
		Name: m.info.ToolName, ID: m.info.CallID, IDForm: m.info.CallIDForm,
		LetterFirst: m.format().LetterFirst,
		NoFreeTools: !m.freeTools(),
	}
}

// toolChoice does what the vendor cannot do about the tool choice: it withholds
// tools that must not be called, and asks for a call that is demanded.
func (p planner) toolChoice() {
	if len(p.req.Tools) == 0 {
		return
	}
	ch := p.req.Choice
	switch {
	case ch.Forbids() && (p.vendor.NoNone || !p.has(format.ChoiceNone)):
		p.req.Tools, p.req.Choice = nil, llm.ToolChoice{}
		p.warn(llm.Degraded, "tool_choice.none", "%s may not honour it; the tools are withheld", p.vendor.Name)
		return
	case ch.Forbids():
		p.req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
		return
	case ch.Allowed != nil && (p.vendor.NoAllowed || !p.has(format.ChoiceAllowed)):
		p.withhold(ch.Allowed)
	}
	if ch.Mode == llm.MustCall && p.forces(p.req) == catalog.No {
		p.demand()
	}
	if p.req.OneCall && (!p.has(format.OneCall) || p.vendor.Quirks.NoParallel) {
		p.req.OneCall = false
		p.warn(llm.Emulated, "one_call", "%s cannot be held to one call; only the first counts", p.vendor.Name)
	}
}

// withhold offers only the tools that may be called.
func (p planner) withhold(allowed []string) {
	n := len(p.req.Tools)
	p.req.Tools = slices.DeleteFunc(p.req.Tools, func(t llm.ToolDef) bool {
		return t.Kind != llm.HostedTool && !slices.Contains(allowed, t.Name)
	})
	p.req.Choice.Allowed = nil
	if len(p.req.Tools) < n {
		p.warn(llm.Degraded, "tool_choice.allowed", "%s cannot be told which tools are allowed; the others are withheld", p.vendor.Name)
	}
}

// demand asks for a call where the vendor cannot force one, at all or while
// the model thinks. Whether it came is checked.
func (p planner) demand() {
	name := p.req.Choice.Name
	text := "You must answer with a call of one of the tools, not with text."
	if name != "" {
		p.withhold([]string{name})
		text = "You must answer with a call of the tool " + name + ", not with text."
	}
	p.req.Choice.Mode, p.req.Choice.Name = llm.MayCall, ""
	p.instruct(text)
	why := "cannot force a call"
	if thinks(p.req) {
		why = "cannot force a call while the model thinks"
	}
	p.warn(llm.Emulated, "tool_choice", "%s %s; it is asked for one, and the answer is checked", p.vendor.Name, why)
}

// declareUsedTools declares the tools of the history where a request offers none: some
// formats refuse calls of tools that are not declared.
func (p planner) declareUsedTools() {
	if !p.format().DeclaredCalls || len(p.req.Tools) > 0 {
		return
	}
	seen := map[string]bool{}
	for _, msg := range p.req.Messages {
		for _, c := range msg.Calls() {
			if !seen[c.Name] {
				seen[c.Name] = true
				p.req.Tools = append(p.req.Tools, llm.ToolDef{Name: c.Name, Description: fmt.Sprintf("%s was used earlier and is not available now.", c.Name), Schema: []byte(`{"type":"object"}`)})
			}
		}
	}
	if len(p.req.Tools) > 0 {
		p.req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	}
}

// hostedWithFunctions adds the fields with which the vendor accepts hosted tools
// together with functions.
func (p planner) hostedWithFunctions() {
	if len(p.vendor.beside) == 0 || !offersFunctions(p.req) || p.info.HostedBeside.Support == catalog.No ||
		!slices.ContainsFunc(p.req.Tools, func(t llm.ToolDef) bool { return t.Kind == llm.HostedTool }) {
		return
	}
	for field, value := range p.vendor.beside {
		setExtra(p.req, p.wire, field, json.RawMessage(value))
	}
}

// narrowTools rewrites the schemas of tools into what the vendor accepts, and
// asks it to hold the model to them wherever it can.
func (p planner) narrowTools() {
	room := &strictRoom{vendor: &p.vendor}
	for i := range p.req.Tools {
		t := &p.req.Tools[i]
		p.describeExamples(t)
		if t.Kind != llm.FunctionTool || p.codec.Defines(*t) {
			continue
		}
		own := t.Schema
		n := p.narrowTool(t, room)
		if n.err != nil {
			p.refuse(llm.Invalid, p.vendor.Name, "%w", n.err)
			return
		}
		if n.Wrapped != "" {
			if p.answer.Wrapped == nil {
				p.answer.Wrapped = map[string]schema.Narrowed{}
			}
			p.answer.Wrapped[t.Name] = n.Narrowed
		} else if n.Strict && p.vendor.schemas() == schema.OpenAI {
			if p.answer.Nullable == nil {
				p.answer.Nullable = map[string]*schema.Shape{}
			}
			p.answer.Nullable[t.Name] = schema.ShapeOf(own)
		}
	}
}

// strict reports whether the vendor holds this model to the schemas of tools.
func (p planner) strict() bool {
	return p.vendor.Strict && !p.vendor.Quirks.NoStrict && p.info.JSONSchema.Support == catalog.Yes
}

// strictRoom is what a vendor still takes of strict tools in one request.
type strictRoom struct {
	vendor          *Vendor
	tools, optional int
}

// take reports whether one more tool can be strict, and counts it.
func (r *strictRoom) take(s schema.Schema) bool {
	shape, optional := schema.ShapeOf(s), 0
	for _, name := range shape.Properties() {
		if !shape.Required(name) {
			optional++
		}
	}
	v := r.vendor
	if v.MaxStrict > 0 && r.tools+1 > v.MaxStrict || v.MaxOptional > 0 && r.optional+optional > v.MaxOptional {
		return false
	}
	r.tools, r.optional = r.tools+1, r.optional+optional
	return true
}

func (p planner) narrowTool(t *llm.ToolDef, room *strictRoom) *narrowed {
	want := p.strict() && (t.Strict == nil && !p.asIs && !schema.AnyObject(t.Schema) || t.Strict != nil && *t.Strict)
	if want && !room.take(t.Schema) {
		want = false
		p.warnTool(t.Name, llm.Degraded, "strict", "%s: %s takes no more strict tools in one request; its arguments are checked when it is called", t.Name, p.vendor.Name)
	}
	n := p.client.narrowed.get(t.Schema, p.vendor.schemas(), want)
	if n.err != nil {
		return n
	}
	if t.Strict != nil && *t.Strict && !p.strict() {
		p.warnTool(t.Name, llm.Ignored, "strict", "%s does not hold models to the schemas of tools; the arguments of %s are checked when it is called", p.vendor.Name, t.Name)
	}
	for _, loss := range n.Losses {
		if loss.Keyword == "strict" {
			p.warnTool(t.Name, llm.Degraded, "strict", "%s: %s", t.Name, loss.Why)
		} else {
			p.warnTool(t.Name, llm.Degraded, "schema", "%s%s: %s: %s", t.Name, loss.Path, loss.Keyword, loss.Why)
		}
	}
	if !p.asIs || !n.same { // a client's own words are as good
		t.Schema = n.Schema
	}
	t.Strict = nil
	if n.Strict {
		strict := true
		t.Strict = &strict
	}
	return n
}

// describeExamples moves examples into the description where the format has no
// place for them.
func (p planner) describeExamples(t *llm.ToolDef) {
	if len(t.Examples) == 0 || p.has(format.ToolExamples) {
		return
	}
	var b strings.Builder
	b.WriteString(t.Description)
	b.WriteString("\n\nExamples of arguments:")
	for _, ex := range t.Examples {
		b.WriteString("\n")
		b.Write(ex)
	}
	t.Description, t.Examples = strings.TrimSpace(b.String()), nil
	p.warnTool(t.Name, llm.Degraded, "tools.examples", "%s: the %s format has no examples; they are part of the description", t.Name, p.wire)
}

// guardTokens neutralises the control tokens of the model in text from outside.
func (p planner) guardTokens() {
	if !p.vendor.Apart {
		p.req, p.answer.Tokens = emulate.FamilyTokens(p.settled.family).Guard(p.req)
	}
}

// aliasNames gives tools and calls names and ids that the vendor accepts.
func (p planner) aliasNames() { p.req, p.answer.Aliases = p.rules().Apply(p.req) }

// callsInText reads the calls that the vendor leaves in the text, as far as the
// promotion of the route allows.
func (p planner) callsInText() {
	if len(p.req.Tools) > 0 {
		p.answer.Calls = p.callReader()
	}
}

// callReader returns the reader of calls that a vendor with tools left in the
// text.
func (p planner) callReader() *emulate.CallReader {
	c := &emulate.CallReader{
		Request: p.asked, Tools: emulate.Functions(p.req.Tools), Dialects: p.client.Dialects, Dialect: p.settled.dialect,
		Promotion: p.route.Promotion, Why: p.route.promoted,
		IDs:   llm.CallIDs{Prefix: "call_text_", After: p.codec.Calls},
		Found: "the vendor left calls in the text; they were read from there",
	}
	if p.req.Choice.Mode == llm.MustNotCall {
		c.Tools = nil
	}
	return c
}
