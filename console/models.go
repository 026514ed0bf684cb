package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/provider"
)

// models shows what a model can do, with the rule behind each answer.
func (p page) models(w http.ResponseWriter) error {
	return p.modelsWith(w, strings.TrimSpace(p.URL.Query().Get("id")), "")
}

// modelsWith is models for an id, with something above the answers.
func (p page) modelsWith(w http.ResponseWriter, id string, above html.HTML) error {
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
		return p.write(w, "Models", html.Join(body, table("Models", []string{"Model", "Native tools", "Thinks", "#Context", "#Output", "Dialect", "Format"}, rows)))
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
	return p.write(w, id, html.Join(body, html.Tag("h2", nil, html.Text(id)), above, p.probeForm(id),
		html.If(!m.Known(), note("The catalogue does not know this model. The answers are safe defaults.")), warnings,
		table("Abilities of "+id, []string{"Ability", "Answer", "Rule"}, rows)))
}

// probeForm offers to ask the model what it can do.
func (p page) probeForm(id string) html.HTML {
	if p.Probe == nil || p.session.user.Permission < Operator {
		return ""
	}
	return html.Tag("form", html.Attrs{"method", "post", "action", p.Base + "/models", "class", "inline"}, p.session.hidden(),
		html.Tag("input", html.Attrs{"type", "hidden", "name", "id", "value", id}),
		html.Tag("button", html.Attrs{"type", "submit", "data-confirm", fmt.Sprintf("Ask %s at most %d questions? They cost tokens.", id, provider.MaxProbe)}, html.Text("Probe this model")),
		html.El("span", "quiet", html.Textf(" asks it at most %d cheap questions, and keeps the answers for later requests", provider.MaxProbe)))
}

// probe asks a model what it can do.
func (p page) probe(w http.ResponseWriter) error {
	id := strings.TrimSpace(p.PostFormValue("id"))
	switch {
	case p.Probe == nil:
		return notFound("The console was started without models to probe.")
	case id == "" || len(id) > 300:
		return wrong("An id of a model has 1 to 300 bytes.")
	}
	ctx, cancel := context.WithTimeout(p.Context(), probeTime)
	defer cancel()
	found, err := p.Probe(ctx, id)
	if err != nil {
		return wrong("The model cannot be probed: " + err.Error())
	}
	rows := html.Each(found.Findings, func(f provider.ProbeFinding) html.HTML {
		return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Text(f.Name)), cell("", html.Text(f.Answer.String())), cell("task", html.Text(f.Because)))
	})
	return p.modelsWith(w, id, html.Tag("section", html.Attrs{"class", "panel", "role", "status"},
		html.El("p", "verified", html.Textf("✓ The model was asked %s.", count(found.Requests, "question"))),
		table("What the probe found", []string{"Ability", "Answer", "Because"}, rows)))
}

// probeTime limits a probe.
const probeTime = 5 * time.Minute

func number(n int) string {
	if n == 0 {
		return "–"
	}
	return thousands(int64(n))
}
