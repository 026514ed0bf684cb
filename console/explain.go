package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
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
	var suspected []int
	p.Suspected = func(at int) { suspected = append(suspected, at) }
	var results []html.HTML
	for ev, err := range p.Parse(dialect.Whole(text)) {
		if err != nil {
			results = append(results, problem(err.Error()))
			break
		}
		switch ev := ev.(type) {
		case llm.Call:
			results = append(results, readCall(ev))
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

func readCall(c llm.Call) html.HTML {
	state := "call"
	if c.Provenance.Doubtful() {
		state = "doubtful call"
	}
	out := []html.HTML{html.El("p", "callname", html.Text("✓ "+state+" of "), html.El("code", "", html.Text(c.Name)), html.Text(provenance(c.Provenance))),
		html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(indented(c.Args)))}
	for _, r := range c.Provenance.Repairs {
		why := dialect.WhyDoubtful(r)
		if why == "" {
			why = fmt.Sprintf("bytes %d to %d", r.Start, r.End)
		}
		out = append(out, html.El("p", "repair", html.Textf("%s (%s): %s", r.Rule, r.Class, why)))
	}
	return html.El("div", "call", out...)
}
