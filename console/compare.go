package console

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/journal"
)

func pathEscape(s string) string { return url.PathEscape(s) }

func queryEscape(s string) string { return url.QueryEscape(s) }

// maxCompared limits the entries of each run that are compared.
const maxCompared = 1000

// compare shows two runs side by side. The first entry that differs is marked.
func (p page) compare(w http.ResponseWriter) error {
	q := p.URL.Query()
	a, b := q.Get("a"), q.Get("b")
	rows, _, _, err := p.index.list(p.Context(), filter{}, 0, 200)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range rows {
		names = append(names, s.Run)
	}
	form := html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/compare", "class", "filters"},
		choice("a", "First run", a, names), choice("b", "Second run", b, names),
		html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Compare")))
	body := html.Join(html.Tag("h1", nil, html.Text("Compare two runs")), form)
	if a == "" || b == "" {
		return p.write(w, "Compare", html.Join(body, note("Choose two runs. Times, ids and hashes are not compared.")))
	}
	left, err := p.steps("a-", a)
	if err != nil {
		return err
	}
	right, err := p.steps("b-", b)
	if err != nil {
		return err
	}
	return p.write(w, "Compare", html.Join(body, sideBySide(p.Base, a, b, left, right)))
}

// step is an entry as the comparison sees it: the parts that do not change from run to run.
type step struct {
	shown html.HTML
	seq   int64
	same  string
}

// steps returns the entries of a run that people see.
func (p page) steps(prefix, name string) ([]step, error) {
	name, err := p.runName(name)
	if err != nil {
		return nil, err
	}
	t := newTimeline(p.Base, name)
	t.prefix = prefix
	var refs journal.Resolver
	var out []step
	for e, err := range p.Store.Read(p.Context(), name, 1) {
		if err != nil {
			return nil, err
		}
		whole, err := refs.Whole(e)
		if err != nil {
			whole = e
		}
		item := t.entry(e)
		if item != "" && len(out) < maxCompared {
			out = append(out, step{item, e.Seq, essence(whole)})
		}
	}
	if len(out) == 0 {
		return nil, notFound("There is no run " + name + ".")
	}
	return out, nil
}

// essence is what two runs that did the same have in common.
func essence(e journal.Entry) string {
	switch e.Kind {
	case journal.KindAnswer:
		var a journal.Answer
		if e.Decode(&a) == nil {
			text := "answer " + a.Message.Text()
			for _, c := range a.Message.Calls() {
				text += "\x00" + c.Name + string(c.Args)
			}
			return text
		}
	case journal.KindReceipt, journal.KindRefusal:
		var r journal.Receipt
		if e.Decode(&r) == nil {
			return "receipt " + r.Tool + string(r.ParamsHash) + string(r.OutputHash) + string(r.Status)
		}
	case journal.KindStart:
		var s journal.Start
		if e.Decode(&s) == nil {
			return "start " + s.Task
		}
	case journal.KindApproval:
		var a journal.Approval
		if e.Decode(&a) == nil {
			return "approval " + a.Tool + strconv.FormatBool(a.Allowed)
		}
	case journal.KindEnd:
		var end journal.End
		if e.Decode(&end) == nil {
			return "end " + end.Status
		}
	}
	return string(e.Kind)
}

// firstDifference returns the index of the first step in which two runs differ, -1 if they took the same steps.
func firstDifference(left, right []step) int {
	for i := range max(len(left), len(right)) {
		if i >= len(left) || i >= len(right) || left[i].same != right[i].same {
			return i
		}
	}
	return -1
}

func sideBySide(base, a, b string, left, right []step) html.HTML {
	first := firstDifference(left, right)
	verdict := html.El("p", "verified", html.Text("✓ The runs took the same steps."))
	if first >= 0 {
		verdict = html.Tag("p", html.Attrs{"class", "asks"}, html.Tag("a", html.Attrs{"href", "#first"}, html.Textf("The first difference is step %d", first+1)))
	}
	var rows []html.HTML
	for i := range max(len(left), len(right)) {
		attrs := html.Attrs{}
		if i == first {
			attrs = html.Attrs{"id", "first", "class", "differs"}
		}
		at := func(steps []step) html.HTML {
			if i >= len(steps) {
				return cell("", note("nothing"))
			}
			return cell("", html.El("ol", "timeline", steps[i].shown))
		}
		rows = append(rows, html.Tag("tr", attrs, cell("n", html.Textf("%d", i+1)), at(left), at(right)))
	}
	step := html.Tag("p", nil, html.Tag("a", html.Attrs{"href", base + "/runs/" + a + "/steps?with=" + queryEscape(b)}, html.Text("Step through both")))
	return html.Join(verdict, step, html.El("div", "sides", table("Two runs", []string{"Step", a, b}, rows...)))
}
