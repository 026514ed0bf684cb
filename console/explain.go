package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// maxExplained limits the text that a person may paste, in bytes.
const maxExplained = 256 << 10

// explain shows what became of every byte of an answer that a person pastes.
func (p page) explain(w http.ResponseWriter) error {
	text, tools, name := p.PostFormValue("text"), p.PostFormValue("tools"), p.PostFormValue("dialect")
	if p.Method == http.MethodGet {
		text = "Let me look. <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\",}}</tool_call>"
		tools = ""
	}
	var names []string
	for _, d := range dialect.Builtin().All() {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	form := html.Tag("form", html.Attrs{"method", "post", "action", p.Base + "/explain", "class", "stack", "id", "explain"}, p.session.hidden(),
		html.Tag("label", html.Attrs{"for", "text"}, html.Text("Answer of a model")),
		html.Tag("textarea", html.Attrs{"id", "text", "name", "text", "rows", "8", "spellcheck", "false"}, html.Text("\n"+text)),
		html.Tag("label", html.Attrs{"for", "tools"}, html.Text("Tools, as a JSON array. Without tools, any name is a call")),
		html.Tag("textarea", html.Attrs{"id", "tools", "name", "tools", "rows", "3", "spellcheck", "false", "placeholder", `[{"name": "get_weather", "parameters": {"type": "object"}}]`}, html.Text("\n"+tools)),
		choice("dialect", "Dialect of the model", name, names),
		html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Explain")))
	parser := dialect.Parser{Dialect: name}
	if !slices.Contains(names, name) && name != "" {
		return wrong("There is no dialect " + name + ".")
	}
	var result html.HTML
	switch err := readTools(&parser, tools); {
	case len(text) > maxExplained:
		result = problem(fmt.Sprintf("This page explains at most %d bytes.", maxExplained))
	case err != nil:
		result = problem("The tools cannot be read: " + err.Error())
	default:
		result = explained(parser, text)
	}
	return p.write(w, "Explain", html.Join(
		html.Tag("h1", nil, html.Text("Explain an answer")), form,
		html.Tag("section", html.Attrs{"id", "explained", "aria-live", "polite"}, result)))
}

func readTools(p *dialect.Parser, text string) error {
	if text == "" {
		return nil
	}
	var defs []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal([]byte(text), &defs); err != nil {
		return err
	}
	p.Tools = []llm.ToolDef{}
	for _, d := range defs {
		p.Tools = append(p.Tools, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Parameters})
	}
	return nil
}

// explained colours every byte of a text by what became of it, and lists the calls with their evidence.
func explained(p dialect.Parser, text string) html.HTML {
	var spans []dialect.Span
	p.Trace = func(s dialect.Span) {
		if n := len(spans); n > 0 && spans[n-1].Kind == s.Kind && spans[n-1].Rule == s.Rule && spans[n-1].End == s.Start {
			spans[n-1].End = s.End
			return
		}
		spans = append(spans, s)
	}
	var results []html.HTML
	p.Suspected = func(s dialect.Span) {
		results = append(results, html.El("p", "warning", html.Text(fmt.Sprintf("Bytes %d to %d look like a call of %s and stayed text.", s.Start, s.End, cmp.Or(s.Tool, "a tool")))))
	}
	for ev, err := range p.Parse(dialect.Whole(text)) {
		if err != nil {
			results = append(results, problem(err.Error()))
			break
		}
		switch ev := ev.(type) {
		case llm.Call:
			results = append(results, readCall(ev, p.Tools))
		case llm.InvalidCall:
			results = append(results, html.El("div", "call", problem("✗ "+orDash(ev.Name)+" cannot run: "+ev.Problem)))
		case llm.Warning:
			results = append(results, html.El("p", "warning", html.Text(ev.Detail)))
		}
	}
	if len(results) == 0 {
		results = append(results, note("No call. The whole answer is text."))
	}
	coloured := html.Each(spans, func(s dialect.Span) html.HTML {
		title := s.Kind.String()
		for _, extra := range []string{s.Dialect, s.Rule} {
			if extra != "" {
				title += " · " + extra
			}
		}
		return html.Tag("span", html.Attrs{"class", "span " + spanClass(s.Kind.String()), "title", title, "tabindex", "0", "role", "note", "aria-label", title + ": " + text[s.Start:s.End]}, html.Text(text[s.Start:s.End]))
	})
	return html.Join(
		html.Tag("h2", nil, html.Text("Every byte")), html.Tag("pre", html.Attrs{"class", "bytes"}, coloured), legend(spans),
		html.Tag("h2", nil, html.Text("Result")), html.Join(results...))
}

// spanClass is the class for the colour of a kind of span.
func spanClass(kind string) string { return "b-" + kind }

// legend names the colours of a text.
func legend(spans []dialect.Span) html.HTML {
	var seen []string
	for _, s := range spans {
		if k := s.Kind.String(); !slices.Contains(seen, k) {
			seen = append(seen, k)
		}
	}
	return html.El("ul", "legend", html.Each(seen, func(k string) html.HTML {
		return html.Tag("li", nil, html.El("span", "span "+spanClass(k), html.Text(k)))
	}))
}

func readCall(c llm.Call, tools []llm.ToolDef) html.HTML {
	state := "call"
	if c.Provenance.Doubtful() {
		state = "doubtful call"
	}
	out := []html.HTML{html.El("p", "callname", html.Text("✓ "+state+" of "), html.El("code", "", html.Text(c.Name)), html.Text(provenance(c.Provenance))),
		html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(indented(c.Args)))}
	for _, r := range c.Provenance.Repairs {
		if !r.Doubts() {
			out = append(out, html.El("p", "repair", html.Textf("%s (%s): bytes %d to %d", r.Rule, r.Class, r.Start, r.End)))
		}
	}
	pro, contra := evidence(c, tools)
	list := func(title, mark string, items []string) html.HTML {
		if len(items) == 0 {
			items = []string{"nothing"}
		}
		return html.El("div", "", html.Tag("h3", nil, html.Text(title)), html.El("ul", "evidence", html.Each(items, func(s string) html.HTML { return html.Tag("li", nil, html.Text(mark+" "+s)) })))
	}
	return html.El("div", "call", append(out, html.El("div", "pair", list("For the call", "+", pro), list("Against it", "−", contra)))...)
}

// evidence is what speaks for and against a call.
func evidence(c llm.Call, tools []llm.ToolDef) (pro, contra []string) {
	switch p := c.Provenance; {
	case p.Dialect == "":
		pro = append(pro, "the vendor delivered it as a call")
	case p.Marked:
		pro = append(pro, "it begins with a marker of "+p.Dialect)
	default:
		contra = append(contra, "it has no marker: only its form, "+p.Dialect+", shows that it is a call")
	}
	if i := slices.IndexFunc(tools, func(d llm.ToolDef) bool { return d.Name == c.Name }); i >= 0 {
		pro = append(pro, "the tool "+c.Name+" is offered")
		pro, contra = fits(c, tools[i], pro, contra)
	} else if tools != nil {
		contra = append(contra, "no tool "+c.Name+" is offered")
	}
	if len(c.Provenance.Repairs) == 0 {
		pro = append(pro, "nothing had to be repaired")
	}
	if c.Provenance.Echo != "" {
		contra = append(contra, "the user's message has the same text, so it may be a quotation")
	}
	if c.Provenance.Truncated {
		contra = append(contra, "it was cut off")
	}
	for _, r := range c.Provenance.Repairs {
		if why := dialect.WhyDoubtful(r); why != "" {
			contra = append(contra, why)
		} else if r.Class == llm.Guess {
			contra = append(contra, "a guess was necessary: "+r.Rule)
		}
	}
	return pro, contra
}

// fits adds whether the arguments match the schema of the tool.
func fits(c llm.Call, d llm.ToolDef, pro, contra []string) (_, _ []string) {
	if len(d.Schema) == 0 {
		return pro, contra
	}
	s, err := schema.Compile(d.Schema)
	if err != nil {
		return pro, append(contra, "the schema of the tool cannot be used: "+err.Error())
	}
	if faults := s.Validate(c.Args); len(faults) > 0 {
		return pro, append(contra, "the arguments do not match the schema: "+firstLine(faults[0].Error(), 300))
	}
	return append(pro, "the arguments match the schema"), contra
}
