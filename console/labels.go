package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/eval"
)

// maxLabels limits the labels of a page and of a suite.
const maxLabels = 1000

// labels lists the runs that people judged, and leads to the suite that they make.
func (p page) labels(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	all, err := eval.Labels(p.Context(), p.Evaluations.Store)
	if err != nil {
		return err
	}
	body := html.Join(html.Tag("h1", nil, html.Text("Labels")), p.evaluationSections())
	if len(all) == 0 {
		return p.write(w, "Labels", html.Join(body, empty("No run has a label. Every run has a box in which a person says whether it was right. Labelled runs become the cases of a suite.", "")))
	}
	all = all[:min(len(all), maxLabels)]
	open := 0
	rows := html.Each(all, func(l eval.Label) html.HTML {
		state := html.Text("a case of the suite")
		if !l.Right && len(l.Expect) == 0 {
			open++
			state = html.El("span", "quiet", html.Text("not a case: nobody said what should have happened"))
		}
		return html.Tag("tr", nil, cell("", html.Tag("a", html.Attrs{"href", p.Base + "/runs/" + pathEscape(l.Run)}, html.Text(l.Run))), cell("", labelBadge(l.Right)),
			cell("task", html.Text(orDash(l.Why))), cell("", state), cell("", html.Text(l.By)), cell("time", clock(l.At)))
	})
	return p.write(w, "Labels", html.Join(body,
		html.El("ul", "actions", html.Tag("li", nil, html.Tag("a", html.Attrs{"href", p.Base + "/evaluations/labels.jsonl", "download", "labels.jsonl"}, html.Textf("Download the suite of %s", count(len(all)-open, "run"))))),
		html.Tag("p", nil, html.El("code", "", html.Text("toolpost eval run labels.jsonl -m MODEL")), html.Text(" asks a model the same tasks.")),
		table("Labels", []string{"Run", "Label", "Why", "Suite", "By", "At"}, rows)))
}

func labelBadge(right bool) html.HTML {
	if right {
		return html.El("span", "badge s-success", html.Text("✓ right"))
	}
	return html.El("span", "badge s-failed", html.Text("✗ wrong"))
}

// labelledSuite sends the labelled runs as a suite.
func (p page) labelledSuite(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	all, err := eval.Labels(p.Context(), p.Evaluations.Store)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, l := range all[:min(len(all), maxLabels)] {
		line, err := l.Case(p.Context(), p.Store)
		if err != nil { // a run without an expectation, or one that was deleted
			continue
		}
		out.Write(line)
	}
	if out.Len() == 0 {
		return notFound("No labelled run is a case yet.")
	}
	w.Header().Set("Content-Disposition", `attachment; filename="labels.jsonl"`)
	return sendText(w, plainJSON([]byte(out.String())))
}

// labelForm asks whether a run was right.
func (p page) labelForm(run string) html.HTML {
	if p.Evaluations == nil {
		return ""
	}
	all, err := eval.Labels(p.Context(), p.Evaluations.Store)
	if err != nil {
		return problem("The labels cannot be read: " + err.Error())
	}
	var now eval.Label
	if i := slices.IndexFunc(all, func(l eval.Label) bool { return l.Run == run }); i >= 0 {
		now = all[i]
	}
	said := html.HTML("")
	if now.Run != "" {
		said = html.Tag("p", nil, labelBadge(now.Right), html.Text(" "+now.Why), html.El("span", "quiet", html.Textf(" by %s, %s", now.By, now.At.Local().Format("2006-01-02 15:04"))))
	}
	if p.session.user.Permission < Operator {
		return html.If(said != "", html.El("section", "panel label-box", html.Tag("h2", nil, html.Text("Label")), said))
	}
	radio := func(text string, right bool) html.HTML {
		attrs := html.Attrs{"type", "radio", "name", "verdict", "value", text, "id", "verdict-" + text, "required", ""}
		if now.Run != "" && now.Right == right {
			attrs = append(attrs, "checked", "")
		}
		return html.El("span", "radio", html.Tag("input", attrs), html.Tag("label", html.Attrs{"for", "verdict-" + text}, html.Text(text)))
	}
	return html.Tag("details", html.Attrs{"class", "panel label-box"}, html.Tag("summary", nil, html.Text("Was this run right?"), html.If(said != "", html.Text(" "), labelBadge(now.Right))), said,
		html.Tag("form", html.Attrs{"method", "post", "action", p.Base + "/runs/" + run + "/label", "class", "stack"}, p.session.hidden(),
			html.Tag("fieldset", nil, html.Tag("legend", nil, html.Text("The run was")), radio("right", true), radio("wrong", false)),
			html.Tag("label", html.Attrs{"for", "why"}, html.Text("Why")),
			html.Tag("input", html.Attrs{"id", "why", "name", "why", "type", "text", "maxlength", "1000", "value", now.Why}),
			html.Tag("label", html.Attrs{"for", "expect"}, html.Text("If it was wrong: what should have happened, as the expect of a case")),
			html.Tag("textarea", html.Attrs{"id", "expect", "name", "expect", "rows", "3", "spellcheck", "false", "placeholder", `{"calls": [{"read_file": {"path": "a.txt"}}]}`}, html.Text("\n"+string(now.Expect))),
			html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Save label"))))
}

// label records what a person says about a run.
func (p page) label(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	run, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	if !p.recorded(run) {
		return notFound("There is no run " + run + ".")
	}
	verdict := p.PostFormValue("verdict")
	l := eval.Label{Run: run, Right: verdict == "right", Why: strings.TrimSpace(p.PostFormValue("why")), By: p.session.user.Name, At: time.Now().UTC()}
	expect := strings.TrimSpace(p.PostFormValue("expect"))
	switch {
	case verdict != "right" && verdict != "wrong":
		return wrong("Choose right or wrong.")
	case len(l.Why) > 4000 || len(expect) > 64<<10:
		return wrong("The text is too long.")
	case !l.Right && expect != "":
		if !json.Valid([]byte(expect)) {
			return wrong("What should have happened is not JSON.")
		}
		l.Expect = json.RawMessage(expect)
	}
	if _, err := l.Case(p.Context(), p.Store); l.Expect != nil && err != nil && !errors.Is(err, eval.ErrNoExpectation) {
		return wrong("This cannot be the expectation of a case: " + err.Error())
	}
	if err := l.Keep(p.Context(), p.Evaluations.Store); err != nil {
		return err
	}
	http.Redirect(w, p.Request, p.Base+"/runs/"+run+"?labelled=1", http.StatusSeeOther)
	return nil
}

// recorded reports whether the store has a run.
func (p page) recorded(run string) bool {
	for _, err := range p.Store.Read(p.Context(), run, 1) {
		return err == nil
	}
	return false
}
