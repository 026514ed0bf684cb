package console

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
)

// maxEntries limits the entries of one page. A longer run is shown in pages.
const maxEntries = 2000

// run shows one run as a timeline.
func (p page) run(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	from, _ := strconv.ParseInt(p.URL.Query().Get("from"), 10, 64)
	t := newTimeline(p.Base, name)
	var items []html.HTML
	var more int64
	for e, err := range p.Store.Read(p.Context(), name, 1) {
		if err != nil {
			items = append(items, html.El("li", "entry", problem("The record cannot be read from here on: "+err.Error())))
			break
		}
		item := t.entry(e)
		switch {
		case e.Seq < from || item == "":
		case len(items) < maxEntries:
			items = append(items, item)
		case more == 0:
			more = e.Seq
		}
	}
	if t.report.entries == 0 && len(items) == 0 {
		return notFound("There is no run " + name + ".")
	}
	live := html.Attrs{"class", "timeline", "id", "timeline"}
	if !t.report.sealed && more == 0 {
		live = append(live, "data-live", fmt.Sprintf("%s/runs/%s/live?after=%d", p.Base, name, t.report.entries))
	}
	return p.write(w, name, html.Join(
		p.head(name, t),
		p.verified(name),
		waterfall(t.report.bars),
		html.Tag("h2", nil, html.Text("Timeline")),
		html.Tag("ol", live, items...),
		html.If(more > 0, html.Tag("p", nil, html.Tag("a", html.Attrs{"href", fmt.Sprintf("%s/runs/%s?from=%d", p.Base, name, more)}, html.Text("Later entries"))))))
}

// runName checks the id of a run.
func (p page) runName(name string) (string, error) {
	if journal.ValidRun(name) != nil {
		return "", notFound("This is not the id of a run.")
	}
	return name, nil
}

// head is the summary of a run.
func (p page) head(name string, t *timeline) html.HTML {
	r := t.report
	state := stateOpen
	switch {
	case r.end != nil && r.end.Status == "success":
		state = stateSuccess
	case r.end != nil:
		state = stateFailed
	case r.sealed:
		state = stateEnded
	}
	waiting, _ := agent.Waiting(p.Context(), p.Store, name) // no agent started a run of another program, and nothing waits
	if state == stateOpen && len(waiting) > 0 {
		state = stateWaiting
	}
	facts := factList([]fact{
		{"Model", r.start.Model}, {"Team", r.start.Team}, {"Route", r.start.Route},
		{"Turns", strconv.Itoa(r.turns)}, {"Calls", fmt.Sprintf("%d, %d failed or refused", r.calls, r.failed)},
		{"Repairs", strconv.Itoa(r.repairs)}, {"Warnings", strconv.Itoa(r.warnings)},
		{"Tokens", fmt.Sprintf("%d read, %d written", r.usage.Input, r.usage.Output)},
		{"Time", duration(r.last.Sub(t.began))}, {"Entries", strconv.FormatInt(r.entries, 10)},
	})
	link := func(path, label string) html.HTML {
		return html.Tag("li", nil, html.Tag("a", html.Attrs{"href", p.Base + path}, html.Text(label)))
	}
	return html.Join(
		html.Tag("h1", nil, html.Text(name+" "), badge(state)),
		html.If(r.start.Task != "", html.El("p", "lead", html.Text(r.start.Task))),
		html.If(len(waiting) > 0, html.Tag("p", html.Attrs{"class", "asks"}, html.Tag("a", html.Attrs{"href", p.Base + "/approvals#" + name}, html.Textf("%s for your decision", waits(len(waiting)))))),
		facts,
		html.El("ul", "actions",
			link("/runs/"+name+"/steps", "Step by step"),
			link("/compare?a="+name, "Compare with another run"),
			link("/runs/"+name+"/script", "Answers as a script for sim"),
			link("/runs/"+name+"/case", "As an evaluation case"),
			link("/runs/"+name+"/curl", "Requests as curl")),
		p.labelForm(name))
}

func waits(n int) string {
	if n == 1 {
		return "1 call waits"
	}
	return strconv.Itoa(n) + " calls wait"
}

// verified is the state of the chain.
func (p page) verified(name string) html.HTML {
	report, err := journal.VerifyLines(p.Store.Lines(p.Context(), name))
	if report == nil {
		return problem("The record cannot be verified: " + err.Error())
	}
	out := html.HTML("")
	switch {
	case err == nil && report.Sealed:
		out = html.El("p", "verified", html.Textf("✓ verified: %d entries, sealed, head %s", report.Entries, report.Head.Short()))
	case err == nil:
		out = html.El("p", "verified", html.Textf("✓ verified so far: %d entries, not sealed, head %s", report.Entries, report.Head.Short()))
	default:
		out = html.Join(problem("✗ "+err.Error()), html.El("ul", "faults", html.Each(report.Faults, func(f journal.Fault) html.HTML { return html.Tag("li", nil, html.Text(f.String())) })))
	}
	for _, in := range report.Unknown {
		out = html.Join(out, problem("The outcome of "+in.Tool+" is unknown: it began, and there is no receipt."))
	}
	return out
}

// waterfall draws what took time, in the order of its beginning.
func waterfall(bars []bar) html.HTML {
	if len(bars) == 0 {
		return ""
	}
	const left, width, row, most = 190, 600, 20, 200
	shown := bars[:min(len(bars), most)]
	first, last := shown[0].from, shown[0].to
	for _, b := range shown {
		if b.from.Before(first) {
			first = b.from
		}
		if b.to.After(last) {
			last = b.to
		}
	}
	span := max(last.Sub(first), time.Millisecond)
	place := func(at time.Time) float64 { return left + width*float64(at.Sub(first))/float64(span) }
	var rows []html.HTML
	for i, b := range shown {
		y := strconv.Itoa(i*row + 2)
		text := fmt.Sprintf("%s, %s, began at %s", b.label, duration(b.to.Sub(b.from)), offset(b.from.Sub(first)))
		rows = append(rows, html.Tag("a", html.Attrs{"href", "#e" + strconv.FormatInt(b.seq, 10)},
			html.Tag("title", nil, html.Text(text)),
			html.Tag("text", html.Attrs{"x", "0", "y", strconv.Itoa(i*row + 15)}, html.Text(firstLine(b.label, 26))),
			html.Tag("rect", html.Attrs{"class", "bar " + b.class, "x", fmt.Sprintf("%.1f", place(b.from)), "y", y, "height", "16", "rx", "2",
				"width", fmt.Sprintf("%.1f", max(place(b.to)-place(b.from), 2))})))
	}
	height := strconv.Itoa(len(shown) * row)
	return html.Join(
		html.Tag("h2", nil, html.Text("What took time")),
		html.Tag("div", html.Attrs{"class", "wide", "tabindex", "0", "role", "region", "aria-label", "What took time"},
			html.Tag("svg", html.Attrs{"class", "waterfall", "viewBox", fmt.Sprintf("0 0 %d %s", left+width, height), "width", strconv.Itoa(left + width), "height", height, "role", "group", "aria-label", "A bar for each answer and each call"}, rows...)),
		html.If(len(bars) > most, note(fmt.Sprintf("The first %d of %d.", most, len(bars)))))
}

// wholeText sends an entry as text.
func (p page) wholeText(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	seq, err := strconv.ParseInt(p.PathValue("seq"), 10, 64)
	if err != nil {
		return notFound("This is not the number of an entry.")
	}
	for e, err := range journal.Whole(p.Store.Read(p.Context(), name, 1)) {
		if err != nil {
			return err
		}
		if e.Seq == seq {
			return sendText(w, html.Visible(indented(e.Body)))
		}
	}
	return notFound("The run has no such entry.")
}

func sendText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := io.WriteString(w, text)
	return err
}

// evalCase sends the run as a case of an evaluation suite.
func (p page) evalCase(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	text, err := eval.Capture(p.Context(), p.Store, name)
	if err != nil {
		return wrong(err.Error())
	}
	return sendText(w, plainJSON(text))
}
