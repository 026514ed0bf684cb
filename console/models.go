package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/console/internal/html"
)

// models shows what a model can do, with the rule behind each answer.
func (p page) models(w http.ResponseWriter) error {
	id := strings.TrimSpace(p.URL.Query().Get("id"))
	form := html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/models", "class", "filters", "role", "search"},
		field("id", "Model id", id, "search"), html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Show")))
	body := html.Join(html.Tag("h1", nil, html.Text("Models")), form)
	c := p.Models
	if c == nil {
		c = catalog.Default()
	}
	if id == "" {
		rows := html.Each(c.Models(), func(m catalog.Model) html.HTML {
			return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Tag("a", html.Attrs{"href", p.Base + "/models?id=" + queryEscape(m.ID.Raw)}, html.Text(m.ID.Raw))),
				cell("", html.Text(m.NativeTools.String())), cell("", html.Text(m.Reasoning.String())), cell("n", html.Text(number(m.ContextWindow))), cell("n", html.Text(number(m.MaxOutput))),
				cell("", html.Text(orDash(m.Dialect))), cell("", html.Text(orDash(m.Wire))))
		})
		return p.write(w, "Models", html.Join(body, table("Models", []string{"Model", "Native tools", "Thinks", "Context", "Output", "Dialect", "Format"}, rows)))
	}
	if len(id) > 300 {
		return wrong("An id of a model is shorter.")
	}
	m := c.Lookup(id)
	rows := html.Each(m.Explain(), func(why catalog.Why) html.HTML {
		return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Text(why.Field)), cell("", html.Text(why.Value)), cell("", html.Text(why.Rule)))
	})
	warnings := html.HTML("")
	for _, warn := range m.Warnings() {
		warnings = html.Join(warnings, html.El("p", "warning", html.Text(warn.Detail)))
	}
	return p.write(w, id, html.Join(body, html.Tag("h2", nil, html.Text(id)),
		html.If(!m.Known(), note("The catalogue does not know this model. The answers are safe defaults.")), warnings,
		table("Abilities of "+id, []string{"Ability", "Answer", "Rule"}, rows)))
}

func number(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}
