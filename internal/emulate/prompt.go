package emulate

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// unknownContext is the context, in tokens, that is assumed if it is not known.
const unknownContext = 8192

// PromptOptions say whom a prompt teaches what.
type PromptOptions struct {
	// Style is the notation to teach: "json", "xml", "pythonic", "hermes" or "react",
	// or a dialect of Dialects. Empty selects the notation for Family.
	Style string
	// Dialects are where Style may come from besides; nil adds nothing. With a
	// program's own dialects (dialect.List.With) a model is taught those.
	Dialects *dialect.List
	Tools    []llm.ToolDef
	// Choice decides which tools are taught and how urgently. If it forbids calls,
	// none is taught, and the prompt forbids them.
	Choice llm.ToolChoice
	// Context is the model's context in tokens; 0 means unknownContext. Up to
	// that size the prompt is compact.
	Context int
	// Parallel offers several calls in one answer.
	Parallel bool
	// Family is the model's family in the words of the catalogue, like
	// "qwen"; empty or unknown changes nothing.
	Family string
	// Constrained is set if the host holds the answer to ToolPrompt.Envelope. Style
	// then does not matter.
	Constrained bool
	// Envelope is how tight that schema is; its Tools, Choice and Parallel are
	// those above.
	Envelope EnvelopeOptions
}

// ToolPrompt is what makes a model without tools call them.
type ToolPrompt struct {
	// System teaches the tools. It stands after the caller's own system text.
	System string
	// Reminder says the essentials again, for the last turns of a long chat.
	Reminder string
	// Stop are sequences at which the model has to be stopped, because with
	// them it would begin to invent a result. They are not part of a call.
	Stop []string
	// Dialect is the hint for dialect.Parser.Dialect, Results the dialect for
	// dialect.WrapResults.
	Dialect, Results string
	// Envelope is the schema the host has to hold the answer to; nil unless
	// PromptOptions.Constrained.
	Envelope json.RawMessage
	// Template is the template that was used: standard, compact or parallel.
	Template string
	// InUser says that the family's chat templates refuse a system turn:
	// System belongs at the start of the first user message.
	InUser bool
}

// style is a notation that can be taught.
type style struct {
	dialect string
	results string // the dialect whose result wrapper is used
	how     string
}

var styles = map[string]style{
	"json":     {dialect: "json_fence", how: "To call a tool, write a fenced block with one JSON object, exactly in this form:"},
	"xml":      {dialect: "claude_xml", how: "To call a tool, write these elements. Text stands as it is, without quotes or escapes; numbers, lists and objects are JSON:"},
	"pythonic": {dialect: "pythonic", how: "To call a tool, write a list of Python calls with keyword arguments and nothing else, exactly in this form:"},
	"react":    {dialect: "react", results: "react", how: "To call a tool, write two lines, the name and the arguments as JSON, exactly in this form:"},
	"hermes":   {dialect: "hermes_json", results: "hermes_json", how: "To call a tool, write a JSON object between these tags, exactly in this form:"},
}

// Styles returns the names of the notations that can be taught, in order.
func Styles() []string { return slices.Sorted(maps.Keys(styles)) }

// enveloped is the style of hosts that hold the answer to a schema.
var enveloped = style{dialect: "envelope", how: "Answer with one JSON object and nothing else. To call a tool:"}

// family has the exceptions for a family of models.
type family struct {
	style  string
	note   string
	inUser bool
}

const thinkFirst = "Write calls only after your thinking has ended, never inside it."

var families = map[string]family{
	"qwen": {style: "hermes", note: thinkFirst}, "qwq": {style: "hermes", note: thinkFirst}, "deepseek": {note: thinkFirst},
	"glm": {note: thinkFirst}, "magistral": {note: thinkFirst}, "hermes": {style: "hermes"}, "nous": {style: "hermes"},
	"smollm": {style: "hermes"}, "bielik": {style: "hermes"}, "exaone": {style: "hermes", note: thinkFirst},
	"lfm": {style: "pythonic"}, "toolace": {style: "pythonic"}, "olmo": {style: "pythonic"},
	"claude": {style: "xml"}, "gemma": {inUser: true},
}

// styleOf returns the style to teach.
func (o PromptOptions) styleOf(name string) (style, error) {
	if s, ok := styles[name]; ok {
		return s, nil
	}
	if o.Dialects != nil {
		if d, ok := o.Dialects.Lookup(name); ok {
			return style{dialect: d.Name, results: d.Name, how: "To call a tool, write exactly this form:"}, nil
		}
	}
	return style{}, &llm.Error{Op: "emulate.Teach", Kind: llm.Unsupported,
		Err: fmt.Errorf("no prompt teaches the style %q; there are %s", name, strings.Join(Styles(), ", "))}
}

// list returns the dialects to write in.
func (o PromptOptions) list() *dialect.List { return listOr(o.Dialects) }

func listOr(l *dialect.List) *dialect.List {
	if l == nil {
		return dialect.Builtin()
	}
	return l
}

// Teach returns the prompt that teaches a model to call tools by writing text, and
// related settings. The same options always give the same bytes, and the tools come
// before everything that changes from turn to turn.
//
// A style without a prompt, for instance "markdown", is an error of kind Unsupported,
// as is a tool that the provider would have to run. A choice that cannot be met is of
// kind Invalid. A free-text tool is taught with one parameter "input". Without tools
// the ToolPrompt is empty.
func Teach(o PromptOptions) (ToolPrompt, error) {
	fam := families[o.Family]
	s, err := o.styleOf(cmp.Or(o.Style, fam.style, "json"))
	if err != nil {
		return ToolPrompt{}, err
	}
	if o.Choice.Forbids() && o.Choice.Mode != llm.MustCall {
		return forbid(o, s), nil
	}
	tools, err := permitted("emulate.Teach", o.Tools, o.Choice)
	if err != nil {
		return ToolPrompt{}, err
	}
	if len(tools) == 0 {
		return ToolPrompt{}, nil
	}
	p := ToolPrompt{Template: "standard", InUser: fam.inUser}
	switch {
	case o.Context <= unknownContext: // 0, unknown, included
		p.Template = "compact"
	case o.Parallel:
		p.Template = "parallel"
	}
	if o.Constrained {
		s = enveloped
		if p.Envelope, err = Envelope(o.envelope(tools)); err != nil {
			return ToolPrompt{}, err
		}
	} else {
		p.Stop = o.list().ResultStops(s.results)
	}
	p.Dialect, p.Results = s.dialect, s.results
	err = p.write(o, s, fam, tools)
	return p, err
}

// envelope returns the options of the schema that belongs to the prompt.
func (o PromptOptions) envelope(tools []llm.ToolDef) EnvelopeOptions {
	env := o.Envelope
	env.Tools, env.Choice, env.Parallel = tools, o.Choice, o.Parallel
	return env
}

// forbid is the prompt of a turn without tools: a model that has seen calls
// before would go on writing them.
func forbid(o PromptOptions, s style) ToolPrompt {
	if len(o.Tools) == 0 {
		return ToolPrompt{}
	}
	const text = "Do not call any tool in this answer. Answer in plain text."
	return ToolPrompt{System: text, Reminder: text, Stop: o.list().ResultStops(s.results), Dialect: s.dialect, Results: s.results, InUser: families[o.Family].inUser}
}

// plainName reports whether a name can be used in a call without being read as markup.
func plainName(name string) bool {
	_, err := dialect.Builtin().Render("json_fence", llm.Call{Name: name})
	return err == nil
}

// words are what the templates speak of.
type words struct {
	Tools, How, Form, Result, Example, Choice, Names string
	Notes                                            []string
	Parallel                                         bool
}

//go:embed prompts/*.txt
var promptFiles embed.FS

// write fills the templates.
func (p *ToolPrompt) write(o PromptOptions, s style, fam family, tools []llm.ToolDef) error {
	w := words{How: s.how, Choice: choiceText(o), Names: nameList(tools, 20), Parallel: o.Parallel}
	_, w.Result = o.list().WrapResults(s.results, []llm.Result{{CallID: "ID", Name: "NAME", Parts: []llm.Part{llm.Text{Text: "…"}}}})
	w.Result = strings.ReplaceAll(w.Result, "\n", "")
	if fam.note != "" {
		w.Notes = append(w.Notes, fam.note)
	}
	var err error
	if w.Form, err = o.form(s); err != nil {
		return err
	}
	if w.Example, err = o.example(s, tools); err != nil {
		return err
	}
	var b strings.Builder
	for i, t := range tools {
		if i > 0 && p.Template != "compact" {
			b.WriteByte('\n')
		}
		describe(&b, t, p.Template == "compact")
	}
	w.Tools = b.String()
	if p.Template == "compact" {
		w.Tools = strings.TrimSuffix(w.Tools, "\n")
	}
	if p.System, err = fill(p.Template, w); err == nil {
		p.Reminder, err = fill("reminder", w)
	}
	return err
}

// fill writes words into the text of that name. It does not use a template package: a
// package that calls methods by name keeps every method of every type in the program.
func fill(name string, w words) (string, error) {
	text, err := promptFiles.ReadFile("prompts/" + name + ".txt")
	if err != nil {
		return "", err
	}
	together := "One call per answer."
	if w.Parallel {
		together = "Independent calls may stand in one answer."
	}
	var notes, list strings.Builder
	for _, n := range w.Notes {
		notes.WriteString(n + "\n")
		list.WriteString("- " + n + "\n")
	}
	return strings.TrimSpace(strings.NewReplacer("{{.Tools}}", w.Tools, "{{.Names}}", w.Names, "{{.How}}", w.How, "{{.Form}}", w.Form, "{{.Result}}", w.Result,
		"{{.Example}}", w.Example, "{{.Choice}}", w.Choice, "{{.Together}}", together, "{{.Notes}}", notes.String(), "{{.List}}", list.String()).Replace(string(text))), nil
}

// form is a call with placeholders.
func (o PromptOptions) form(s style) (string, error) {
	call := llm.Call{Name: "TOOL_NAME", Args: json.RawMessage(`{"PARAMETER_NAME":"VALUE"}`)}
	if !o.Constrained {
		return o.list().Render(s.dialect, call)
	}
	text, err := o.constrained(call)
	if err == nil && o.Choice.Mode == llm.MayCall {
		text += "\nTo answer without a tool:\n" + `{"type": "text", "text": "YOUR ANSWER"}`
	}
	return text, err
}

// example is one call of the first tool, or two if several are allowed in an answer
// and there are two tools. It is an error if the style cannot express a call of the
// tool.
func (o PromptOptions) example(s style, tools []llm.ToolDef) (string, error) {
	write := func(parts ...llm.Part) (string, error) { return o.list().Render(s.dialect, parts...) }
	if o.Constrained {
		write = o.constrained
	}
	var calls []llm.Part
	for _, t := range tools {
		call := llm.Call{Name: t.Name, Args: example(t)}
		if _, err := write(call); err != nil {
			return "", &llm.Error{Op: "emulate.Teach", Kind: llm.Unsupported, Err: err}
		}
		calls = append(calls, call)
	}
	if n := min(len(calls), 2); o.Parallel {
		return write(calls[:n]...)
	}
	return write(calls[0])
}

// constrained writes calls in the form of the envelope's schema.
func (o PromptOptions) constrained(parts ...llm.Part) (string, error) {
	var calls []string
	for _, p := range parts {
		call := p.(llm.Call)
		if _, err := readObject(call.Args); err != nil {
			return "", fmt.Errorf("the arguments of %q: %w", call.Name, err)
		}
		calls = append(calls, `{"name": `+quote(call.Name)+`, "arguments": `+string(spaced(call.Args))+"}")
	}
	text := strings.Join(calls, ", ")
	if o.Parallel {
		text = `{"tool_calls": [` + text + "]}"
	}
	return text, nil
}

// choiceText describes the tool choice.
func choiceText(o PromptOptions) string {
	switch {
	case o.Choice.Mode == llm.MustCall && o.Choice.Name != "":
		return "This time you must call the tool " + o.Choice.Name + ": your answer has to contain a call of it."
	case o.Choice.Mode == llm.MustCall:
		return "This time you must call a tool: your answer has to contain a call."
	case o.Constrained:
		return "Call a tool only if you need one."
	}
	return "Call a tool only if you need one. Otherwise answer in plain text."
}
