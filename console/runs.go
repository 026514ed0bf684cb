package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
)

// pageSize is how many runs a page lists.
const pageSize = 50

// runs lists the runs of the store, with filters.
func (p page) runs(w http.ResponseWriter) error {
	q := p.URL.Query()
	f := filter{text: q.Get("q"), model: q.Get("model"), tool: q.Get("tool"), state: q.Get("state"), team: q.Get("team")}
	for _, day := range []struct {
		name string
		to   *time.Time
		add  int
	}{{"since", &f.since, 0}, {"until", &f.until, 1}} {
		if v := q.Get(day.name); v != "" {
			at, err := time.Parse(time.DateOnly, v)
			if err != nil {
				return wrong(fmt.Sprintf("%s must be a day like 2026-11-19, not %q.", day.name, v))
			}
			*day.to = at.AddDate(0, 0, day.add)
		}
	}
	from, _ := strconv.Atoi(q.Get("from"))
	from = max(from, 0)
	rows, total, left, err := p.index.list(p.Context(), f, from, pageSize)
	if err != nil {
		return err
	}
	return p.write(w, "Runs", html.Join(
		html.Tag("h1", nil, html.Text("Runs")),
		p.filters(f, q),
		html.If(left > 0, note(fmt.Sprintf("%s not read yet. Filters see the others.", count(left, "run")))),
		p.listed(rows, total, from, q)))
}

func (p page) filters(f filter, q url.Values) html.HTML {
	models, tools, teams := p.index.choices()
	return html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/", "class", "filters", "role", "search"},
		field("q", "Task or run", f.text, "search"),
		choice("state", "State", f.state, []string{stateOpen, stateWaiting, stateSuccess, stateFailed, stateEnded, stateUnread}),
		choice("model", "Model", f.model, models),
		choice("tool", "Tool", f.tool, tools),
		html.If(len(teams) > 0 || f.team != "", choice("team", "Team", f.team, teams)),
		field("since", "Since", q.Get("since"), "date"),
		field("until", "Until", q.Get("until"), "date"),
		html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Filter")),
		html.Tag("a", html.Attrs{"href", p.Base + "/"}, html.Text("Clear")))
}

func (p page) listed(rows []summary, total, from int, q url.Values) html.HTML {
	if total == 0 {
		return empty("No run matches. Every run is recorded:", "toolpost run 'Which files are here?'")
	}
	list := html.Each(rows, func(s summary) html.HTML {
		return html.Tag("tr", nil,
			cell("", html.Tag("a", html.Attrs{"href", p.Base + "/runs/" + s.Run}, html.Text(s.Run))),
			cell("", badge(s.State)),
			cell("task", html.Text(orDash(s.Task))),
			cell("", html.Text(orDash(s.Model))),
			cell("", html.Text(orDash(strings.Join(s.Tools, ", ")))),
			cell("n", html.Textf("%d", s.Calls), html.If(s.FailedCalls > 0, html.El("span", "failed", html.Textf(" ✗ %d", s.FailedCalls)))),
			cell("n", html.Text(thousands(int64(s.Tokens)))),
			cell("n", html.Text(duration(s.Last.Sub(s.Began)))),
			cell("time", clock(s.Began)))
	})
	more := func(label string, at int) html.HTML {
		q.Set("from", strconv.Itoa(at))
		return html.Tag("a", html.Attrs{"href", p.Base + "/?" + q.Encode()}, html.Text(label))
	}
	return html.Join(
		table("Runs", []string{"Run", "State", "Task", "Model", "Tools", "#Calls", "#Tokens", "#Time", "Began"}, list),
		html.El("p", "pages",
			html.Textf("%d to %d of %s ", min(from+1, total), min(from+len(rows), total), count(total, "run")),
			html.If(from > 0, more("Newer", max(from-pageSize, 0)), html.Text(" ")),
			html.If(from+len(rows) < total, more("Older", from+pageSize))))
}

func badge(state string) html.HTML {
	marks := map[string]string{stateOpen: "●", stateWaiting: "?", stateSuccess: "✓", stateFailed: "✗", stateEnded: "■", stateUnread: "!", stateComplete: "✓"}
	return html.El("span", "badge s-"+state, html.Text(marks[state]+" "+state))
}

func clock(at time.Time) html.HTML {
	if at.IsZero() {
		return html.Text("–")
	}
	return html.Tag("time", html.Attrs{"datetime", at.Format(time.RFC3339)}, html.Text(at.Local().Format("2006-01-02 15:04:05")))
}

func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
