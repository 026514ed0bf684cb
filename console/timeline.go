package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// timeline turns the entries of a run, in order, into HTML.
type timeline struct {
	base, run string
	prefix    string // of the ids of elements; the same run may be on a page twice
	refs      journal.Resolver
	seen      int // messages of the conversation that were shown
	began     time.Time
	report    report
}

// report is what the head of a page says about the run.
type report struct {
	start    journal.Start
	end      *journal.End
	last     time.Time
	entries  int64
	turns    int
	calls    int
	failed   int
	usage    llm.Usage
	repairs  int
	warnings int
	sealed   bool
	bars     []bar
	intents  map[string]time.Time
	asked    map[int64]time.Time
}

// bar is a stretch of time in the waterfall.
type bar struct {
	class, label string
	from, to     time.Time
	seq          int64
}

func newTimeline(base, run string) *timeline {
	return &timeline{base: base, run: run, report: report{intents: make(map[string]time.Time), asked: make(map[int64]time.Time)}}
}

// drawn are the entries that have a place in the timeline. Other kinds show their body.
var drawn = map[journal.Kind]func(*timeline, journal.Entry) (html.HTML, error){
	journal.KindStart:        drawing((*timeline).start),
	journal.KindRequest:      drawing((*timeline).request),
	journal.KindAnswer:       drawing((*timeline).answer),
	journal.KindRepair:       drawing((*timeline).repair),
	journal.KindQuestion:     drawing((*timeline).question),
	journal.KindApproval:     drawing((*timeline).approval),
	journal.KindIntent:       drawing((*timeline).intent),
	journal.KindReceipt:      drawing((*timeline).receipt),
	journal.KindRefusal:      drawing((*timeline).receipt),
	journal.KindVerification: drawing((*timeline).verification),
	journal.KindEnd:          drawing((*timeline).ended),
	journal.KindTorn: drawing(func(*timeline, journal.Entry, journal.Torn) html.HTML {
		return note("The process died here. Another process continued the run.")
	}),
	journal.KindSeal: drawing(func(t *timeline, _ journal.Entry, _ journal.Seal) html.HTML {
		t.report.sealed = true
		return note("The run is sealed.")
	}),
}

func drawing[T any](draw func(*timeline, journal.Entry, T) html.HTML) func(*timeline, journal.Entry) (html.HTML, error) {
	return func(t *timeline, e journal.Entry) (html.HTML, error) {
		var body T
		if err := e.Decode(&body); err != nil {
			return "", err
		}
		return draw(t, e, body), nil
	}
}

// entry returns the element of an entry. An entry that adds nothing for people returns "".
func (t *timeline) entry(e journal.Entry) html.HTML {
	if whole, err := t.refs.Whole(e); err == nil {
		e = whole
	}
	if t.began.IsZero() {
		t.began = e.At
	}
	t.report.last, t.report.entries = e.At, e.Seq
	var body html.HTML
	if draw := drawn[e.Kind]; draw != nil {
		inner, err := draw(t, e)
		if err != nil {
			inner = problem("This entry cannot be read: " + err.Error())
		}
		body = inner
	} else {
		body = html.Tag("details", nil, html.El("summary", "quiet", html.Text(string(e.Kind))), t.code(e.Seq, indented(e.Body)))
	}
	if body == "" {
		return ""
	}
	seq := strconv.FormatInt(e.Seq, 10)
	return html.Tag("li", html.Attrs{"id", t.prefix + "e" + seq, "class", "entry " + kindClass(e.Kind)},
		html.Tag("a", html.Attrs{"class", "at", "href", "#" + t.prefix + "e" + seq, "title", "entry " + seq + ", " + string(e.Kind) + ", " + e.At.Format(time.RFC3339)},
			html.Text(offset(e.At.Sub(t.began)))),
		html.El("div", "what", body, stripped(e.Stripped)))
}

// kindClass is a class for the kinds of other packages too, whose names have dots.
func kindClass(k journal.Kind) string {
	return "k-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, string(k))
}

// offset is a time since the beginning of a run.
func offset(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < 10*time.Second:
		return fmt.Sprintf("+%d ms", d.Milliseconds())
	case d < time.Hour:
		return fmt.Sprintf("+%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return "+" + d.Round(time.Minute).String()
}

func note(text string) html.HTML    { return html.El("p", "note", html.Text(text)) }
func problem(text string) html.HTML { return html.El("p", "problem", html.Text(text)) }

func stripped(s *journal.Stripped) html.HTML {
	if s == nil || len(s.Rules) == 0 {
		return ""
	}
	return note("Secrets were removed from the record: " + strings.Join(s.Rules, ", "))
}

// maxShown is how much of a text a page shows, in bytes. A link leads to the rest.
const maxShown = 16 << 10

// prose shows a text of a model or a person.
func (t *timeline) prose(seq int64, class, text string) html.HTML {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	shown, rest := t.cut(seq, text)
	return html.El("div", "text "+class, html.Text(shown), rest)
}

// code shows JSON, a result or another text whose white space counts.
func (t *timeline) code(seq int64, text string) html.HTML {
	shown, rest := t.cut(seq, text)
	return html.Join(html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(shown)), rest)
}

func (t *timeline) cut(seq int64, text string) (shown string, rest html.HTML) {
	if len(text) <= maxShown {
		return text, ""
	}
	href := fmt.Sprintf("%s/runs/%s/text/%d", t.base, t.run, seq)
	return text[:clip.Rune(text, maxShown)], html.Tag("a", html.Attrs{"class", "more", "href", href}, html.Textf("Show all %d bytes of the entry", len(text)))
}

func (t *timeline) start(_ journal.Entry, s journal.Start) html.HTML {
	t.report.start = s
	var facts []html.HTML
	for _, f := range []struct{ name, value string }{{"parent run", s.Parent}, {"lane", s.Lane}, {"policy", s.PolicyID}} {
		if f.value != "" {
			facts = append(facts, note(f.name+": "+f.value))
		}
	}
	return html.Join(facts...)
}

// request shows the messages since the request before.
func (t *timeline) request(e journal.Entry, r journal.Request) html.HTML {
	t.report.turns++
	t.report.asked[e.Seq] = e.At
	first, from := t.seen == 0, max(t.seen-r.Keep, 0)
	if r.Keep+len(r.Messages) <= t.seen {
		from = 0
	}
	t.seen = r.Keep + len(r.Messages)
	var out []html.HTML
	for _, raw := range r.Messages[min(from, len(r.Messages)):] {
		var m llm.Message
		if json.Unmarshal(raw, &m) != nil || m.Role == llm.RoleAssistant && !first {
			continue
		}
		out = append(out, t.message(e.Seq, m))
	}
	if len(r.Tools) > 0 {
		var tools []llm.ToolDef
		if json.Unmarshal(r.Tools, &tools) == nil && len(tools) > 0 {
			out = append(out, html.Tag("details", nil, html.El("summary", "quiet", html.Textf("%s offered", count(len(tools), "tool"))),
				html.El("ul", "tools", html.Each(tools, func(d llm.ToolDef) html.HTML {
					return html.Tag("li", nil, html.El("code", "", html.Text(d.Name)), html.Text(" "+firstLine(d.Description, 160)))
				}))))
		}
	}
	return html.Join(out...)
}

func firstLine(s string, n int) string {
	s, _, _ = strings.Cut(s, "\n")
	return clip.Runes(s, n)
}

func (t *timeline) message(seq int64, m llm.Message) html.HTML {
	var out []html.HTML
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			class := "from-" + string(m.Role)
			if p.Ours {
				class = "from-toolpost"
			}
			out = append(out, t.prose(seq, class, p.Text))
		case llm.Call:
			out = append(out, html.El("p", "note", html.Text("called "), html.El("code", "", html.Text(p.Name))))
		case llm.Media:
			out = append(out, note("attached "+p.MIME))
		}
	}
	return html.Join(out...)
}

func (t *timeline) answer(e journal.Entry, a journal.Answer) html.HTML {
	began := e.At.Add(-time.Duration(a.LatencyMS) * time.Millisecond)
	if at, ok := t.report.asked[a.Request]; ok {
		began = at
	}
	t.report.bars = append(t.report.bars, bar{"model", "model", began, e.At, e.Seq})
	var out []html.HTML
	for _, p := range a.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, html.Tag("details", html.Attrs{"class", "thinking"}, html.El("summary", "quiet", html.Textf("thinking, %d characters", len([]rune(p.Text)))), t.prose(e.Seq, "", p.Text)))
			}
		case llm.Text:
			out = append(out, t.prose(e.Seq, "from-assistant", p.Text))
		case llm.Call:
			out = append(out, t.call(e.Seq, p))
		}
	}
	for _, c := range a.Invalid {
		out = append(out, problem(fmt.Sprintf("A call of %s cannot run: %s", c.Name, c.Problem)), t.code(e.Seq, c.Raw))
	}
	for _, w := range a.Warnings {
		t.report.warnings++
		out = append(out, html.El("p", "warning", html.Text(w.Detail)))
	}
	if a.Error != nil {
		out = append(out, problem("The model failed: "+a.Error.Message))
	}
	switch {
	case a.Finish != nil:
		t.report.usage = t.report.usage.Add(a.Finish.Usage)
		out = append(out, html.El("p", "quiet", html.Textf("%s · %d tokens read, %d written · ended by %s", millis(a.LatencyMS), a.Finish.Usage.Input, a.Finish.Usage.Output, a.Finish.Reason)))
	case a.Error == nil:
		out = append(out, problem("The answer broke off."))
	}
	return html.Join(out...)
}

func millis(ms int64) string {
	if ms < 10_000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

// call shows a call as the model made it, with its repairs.
func (t *timeline) call(seq int64, c llm.Call) html.HTML {
	out := []html.HTML{html.El("p", "callname", html.Text("calls "), html.El("code", "", html.Text(c.Name)), html.Text(provenance(c.Provenance)))}
	out = append(out, t.code(seq, indented(c.Args)))
	for _, r := range c.Provenance.Repairs {
		t.report.repairs++
		out = append(out, html.El("p", "repair", html.Textf("repaired: %s (%s)", r.Rule, r.Class)))
	}
	return html.El("div", "call", out...)
}

func provenance(p llm.Provenance) string {
	if p.Dialect == "" {
		return ""
	}
	return fmt.Sprintf(", read from text: %s, %s", p.Dialect, p.Source())
}

// indented returns JSON for people, or the text if it is not JSON.
func indented(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func (t *timeline) repair(e journal.Entry, r journal.RepairRecord) html.HTML {
	return html.Tag("details", nil, html.El("summary", "quiet", html.Text("how the call was read")), t.code(e.Seq, indented(e.Body)))
}

func (t *timeline) question(e journal.Entry, q journal.QuestionRecord) html.HTML {
	out := []html.HTML{html.El("p", "asks", html.Text("waits for a person: "), html.El("code", "", html.Text(q.Tool)))}
	for _, text := range []string{q.Message, q.Reason, q.Changed} {
		if text != "" {
			out = append(out, note(text))
		}
	}
	if q.Runs != "" {
		out = append(out, t.code(e.Seq, q.Runs))
	}
	return html.Join(append(out, t.code(e.Seq, indented(q.Args)))...)
}

func (t *timeline) approval(_ journal.Entry, a journal.Approval) html.HTML {
	verb := "refused"
	switch {
	case a.Allowed && a.Prompt > 0:
		verb = "answered"
	case a.Prompt > 0:
		verb = "not answered"
	case a.Allowed:
		verb = "allowed"
	}
	text := a.Tool + " was " + verb
	if a.By != "" {
		text += " by " + a.By
	}
	if a.Scope != "" {
		text += ", " + a.Scope
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return note(text)
}

func (t *timeline) intent(e journal.Entry, in journal.Intent) html.HTML {
	t.report.intents[in.Call] = e.At
	return html.El("p", "quiet", html.Text("begins "), html.El("code", "", html.Text(in.Tool)), html.Text(", which may change something"))
}

func (t *timeline) receipt(e journal.Entry, r journal.Receipt) html.HTML {
	t.report.calls++
	began, ok := t.report.intents[r.Call]
	if !ok {
		began = e.At.Add(-time.Duration(r.LatencyMS) * time.Millisecond)
	}
	class, mark := "ok", "✓"
	if r.Status != journal.OK {
		t.report.failed++
		class, mark = "failed", "✗"
	}
	t.report.bars = append(t.report.bars, bar{class, r.Tool, began, e.At, e.Seq})
	out := []html.HTML{html.El("p", "receipt "+class, html.Text(mark+" "), html.El("code", "", html.Text(r.Tool)), html.Text(" "+string(r.Status)+" · "+millis(r.LatencyMS)))}
	if r.Reason != "" {
		out = append(out, note(r.Reason))
	}
	if r.Error != nil {
		out = append(out, problem(r.Error.Message))
	}
	if r.Result != nil && r.Error == nil {
		if text := r.Result.Text(); text != "" {
			out = append(out, html.Tag("details", html.Attrs{"open", ""}, html.El("summary", "quiet", html.Textf("result, %d bytes", max(r.OutputBytes, int64(len(text))))), t.code(e.Seq, text)))
		}
	}
	for _, s := range r.SideEffects {
		out = append(out, html.El("p", "quiet", html.Text(s.Type+" "+s.Path)))
	}
	out = append(out, html.Tag("details", nil, html.El("summary", "quiet", html.Text("arguments and hashes")), t.code(e.Seq, indented(r.Args)),
		html.El("p", "quiet", html.Text("params_hash "+string(r.ParamsHash)), html.Tag("br", nil), html.Text("output_hash "+string(r.OutputHash)), html.Tag("br", nil), html.Text("entry "+string(e.Hash)))))
	return html.Join(out...)
}

func (t *timeline) verification(_ journal.Entry, v journal.Verification) html.HTML {
	return note(fmt.Sprintf("checked with %s: exit code %d", v.Command, v.ExitCode))
}

func (t *timeline) ended(_ journal.Entry, end journal.End) html.HTML {
	t.report.end = &end
	if end.Status == "success" {
		return note("The run ended: success.")
	}
	return problem("The run ended: " + end.Status + ". " + end.Summary)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
