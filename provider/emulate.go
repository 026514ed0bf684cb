package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// emulation makes a model without tools call them. It is pure: what it knows
// is the request, the catalogue's entry and the route.
type emulation struct {
	route *Route
	info  catalog.Model
	gate  Gate
	// host is the constraint of the host, for the route Constrained.
	host constraint
}

// rewritten is a request in words that teach its tools, and how to read the
// answer.
type rewritten struct {
	req      *llm.Request
	readers  []reader
	warnings []llm.Warning
}

func (r *rewritten) warn(code llm.WarningCode, feature, format string, args ...any) {
	r.warnings = append(r.warnings, llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...)})
}

// rewrite returns the request without tools, in words that teach them.
func (e emulation) rewrite(req *llm.Request) (*rewritten, error) {
	out := &rewritten{req: req.Clone()}
	out.req.Tools, out.req.Choice, out.req.OneCall = nil, llm.ToolChoice{}, false
	switch {
	case e.route.Kind == Text:
		return out, inText(out.req, e.route.Dialect, "")
	case e.route.Kind == Constrained && e.decides():
		return out, e.small(req, out)
	}
	return out, e.teach(req, out)
}

// decides reports whether the gate is ours.
func (e emulation) decides() bool {
	switch e.gate {
	case GateOn:
		return true
	case GateOff:
		return false
	}
	return e.isSmall()
}

// isSmall reports whether the model is known to be small.
func (e emulation) isSmall() bool { return e.info.ID.Size > 0 && e.info.ID.Size <= small }

// bounds are the limits of what a model writes under a schema. A small model
// that has begun a string does not stop by itself.
func (e emulation) bounds() bounds {
	if e.isSmall() {
		return bounds{text: 200, items: 10, whole: 1_000_000_000}
	}
	return bounds{}
}

// style is the notation to teach. The catalogue's json is everybody's default,
// which the family's own comes before.
func (e emulation) style() string {
	switch s := cmp.Or(e.route.Style, e.info.Emulation); {
	case s == "markdown": // a fenced block is what Markdown has for data
		return "json"
	case s == "json" && e.route.Style == "":
		return ""
	default:
		return s
	}
}

// teach writes the tools into the prompt and leaves the decision to the model.
func (e emulation) teach(req *llm.Request, out *rewritten) error {
	constrained := e.route.Kind == Constrained && req.Choice.Mode != llm.MustNotCall
	prompt, err := dialect.Prompt(dialect.PromptOptions{
		Style: e.style(), Tools: req.Tools, Choice: req.Choice, Context: e.info.ContextWindow, Family: e.info.ID.Root(),
		Parallel: !req.OneCall && e.info.ParallelTools.Support != catalog.No, Constrained: constrained,
	})
	if err != nil {
		return err
	}
	e.route.Dialect = prompt.Dialect
	if err := inText(out.req, prompt.Dialect, prompt.Results); err != nil {
		return err
	}
	if prompt.System != "" {
		e.instruct(out.req, prompt)
	}
	tools := functions(req.Tools)
	if forbids(req.Choice) {
		tools = []llm.ToolDef{}
	}
	read := textCalls{parser: dialect.Parser{Tools: tools, Dialect: prompt.Dialect}, made: llm.CallIDs{After: countCalls(req)}}.read
	if constrained {
		before, err := e.constrain(req, out, prompt)
		if err != nil {
			return err
		}
		if !before {
			out.readers = append(out.readers, wholeJSON("", ""))
		}
	}
	out.readers = append(out.readers, read)
	out.warn(llm.Emulated, "tools", "the tools are taught in a prompt: %s", e.route)
	return nil
}

// reminded is how many messages a conversation has before its end is reminded
// of the notation: models forget it.
const reminded = 8

// instruct puts the prompt where the model reads it.
func (e emulation) instruct(req *llm.Request, prompt dialect.Emulation) {
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

// constrain has the host hold the answer to the envelope, and reports whether
// text may stand before it.
func (e emulation) constrain(req *llm.Request, out *rewritten, prompt dialect.Emulation) (bool, error) {
	b := e.bounds()
	envelope, losses, err := b.bound(prompt.Envelope)
	if err != nil {
		return false, &llm.Error{Op: "provider", Kind: llm.Invalid, Err: fmt.Errorf("the schema of the tools: %w", err)}
	}
	out.lost(losses)
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
		if err == nil && e.host.applyGrammar(out.req, g) {
			return true, nil
		}
	}
	e.host.apply(out.req, envelope)
	return false, nil
}

// callsOnly returns an envelope without its alternative of text, which a
// grammar that allows text before a call does not need.
func callsOnly(envelope json.RawMessage) (json.RawMessage, bool) {
	o, err := readObject(envelope)
	if err != nil {
		return nil, false
	}
	var calls []json.RawMessage
	for _, alt := range decode[[]json.RawMessage](o.get("anyOf")) {
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

// lost says what the host will not hold the model to.
func (r *rewritten) lost(losses []schema.Loss) {
	for i, l := range losses {
		if i == maxLosses {
			r.warn(llm.Degraded, "schema", "and %d more", len(losses)-maxLosses)
			return
		}
		r.warn(llm.Degraded, "schema", "%s: %s: %s", l.Path, l.Keyword, l.Why)
	}
}

// inText writes the calls and results of the history as text.
func inText(req *llm.Request, name, results string) error {
	for i, m := range req.Messages {
		var said []llm.Part
		var answers []llm.Result
		changed := false
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				text, err := dialect.Render(cmp.Or(name, "json_fence"), p)
				if err != nil {
					text, err = dialect.Render("json_fence", p)
				}
				if err != nil {
					return err
				}
				said, changed = append(said, llm.Text{Text: text}), true
			case llm.Result:
				answers, changed = append(answers, p), true
			default:
				said = append(said, p)
			}
		}
		if len(answers) > 0 {
			_, text := dialect.WrapResults(results, answers)
			said = append([]llm.Part{llm.Text{Text: text}}, said...)
			req.Messages[i].Role = llm.RoleUser
		}
		if changed {
			req.Messages[i].Parts = said
		}
	}
	return nil
}
