package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// replay shows a run step by step, and a second run next to it if one is named.
func (p page) replay(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	steps, err := p.steps("", name)
	if err != nil {
		return err
	}
	other := p.URL.Query().Get("with")
	var others []step
	if other != "" {
		if others, err = p.steps("b-", other); err != nil {
			return err
		}
	}
	last := max(len(steps), len(others))
	at, err := strconv.Atoi(p.URL.Query().Get("step"))
	if err != nil {
		at = 1
	}
	at = min(max(at, 1), last)
	first := firstDifference(steps, others)
	here := func(n int) string {
		q := url.Values{"step": {strconv.Itoa(n)}}
		if other != "" {
			q.Set("with", other)
		}
		return p.Base + "/runs/" + name + "/steps?" + q.Encode()
	}
	move := func(label, rel string, n int) html.HTML {
		if n < 1 || n > last || n == at {
			return html.El("span", "button off", html.Text(label))
		}
		return html.Tag("a", html.Attrs{"class", "button", "href", here(n), "rel", rel}, html.Text(label))
	}
	out := []html.HTML{
		html.Tag("h1", nil, html.Text("Step by step")),
		html.Tag("p", nil, html.Tag("a", html.Attrs{"href", p.Base + "/runs/" + name}, html.Text(name)), html.If(other != "", html.Text(" next to "), html.Tag("a", html.Attrs{"href", p.Base + "/runs/" + pathEscape(other)}, html.Text(other)))),
		html.Tag("nav", html.Attrs{"class", "player", "aria-label", "Steps"}, move("First", "start", 1), move("Back", "prev", at-1),
			html.Tag("span", html.Attrs{"role", "status"}, html.Textf("Step %d of %d", at, last)), move("Forward", "next", at+1), move("Last", "end", last)),
		html.Tag("p", html.Attrs{"class", "quiet"}, html.Text("The keys ← and → go back and forward.")),
		html.Tag("progress", html.Attrs{"max", strconv.Itoa(last), "value", strconv.Itoa(at), "aria-label", "Place in the run"}),
	}
	if other != "" {
		switch {
		case first < 0:
			out = append(out, html.El("p", "verified", html.Text("✓ The runs took the same steps.")))
		case first+1 == at:
			out = append(out, html.El("p", "asks", html.Text("This step is the first difference.")))
		default:
			out = append(out, html.Tag("p", html.Attrs{"class", "asks"}, html.Tag("a", html.Attrs{"href", here(first + 1)}, html.Textf("The first difference is step %d", first+1))))
		}
		class := "sides"
		if at == first+1 {
			class += " differs"
		}
		out = append(out, html.El("div", class+" pair", shownStep(name, steps, at), shownStep(other, others, at)))
	} else {
		out = append(out, shownStep("", steps, at), html.Tag("p", nil, html.Tag("a", html.Attrs{"href", p.Base + "/compare?a=" + name}, html.Text("Choose a second run to compare with"))))
	}
	return p.write(w, "Step by step", html.Join(out...))
}

func shownStep(title string, steps []step, at int) html.HTML {
	inner := note("This run has no such step.")
	if at <= len(steps) {
		inner = html.El("ol", "timeline", steps[at-1].shown)
	}
	return html.El("section", "panel", html.If(title != "", html.Tag("h2", nil, html.Text(title))), inner)
}

// maxCurl limits the requests that are written as commands.
const maxCurl = 50

// curl sends the questions of a run as commands for any server of the chat format.
func (p page) curl(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	codec, _ := wire.For(wire.Chat)
	var b strings.Builder
	b.WriteString("# The questions of " + name + " to its model, for a server of the chat format, such as toolpost serve.\nTOOLPOST_URL=${TOOLPOST_URL:-http://127.0.0.1:8230}\n")
	var q question
	n := 0
	for e, err := range journal.Whole(p.Store.Read(p.Context(), name, 1)) {
		if err != nil {
			return err
		}
		if err := q.add(e); err != nil {
			return wrong("A question of the run cannot be read: " + err.Error())
		}
		if e.Kind != journal.KindRequest {
			continue
		}
		if n++; n > maxCurl {
			b.WriteString("\n# The rest is left out.\n")
			break
		}
		body, _, err := codec.EncodeRequest(&q.request, false)
		if err != nil {
			return wrong(fmt.Sprintf("Question %d cannot be written in the chat format: %s", n, err))
		}
		fmt.Fprintf(&b, "\n# Question %d\ncurl -sS \"$TOOLPOST_URL/v1/chat/completions\" -H \"Authorization: Bearer $TOOLPOST_API_KEY\" -H 'Content-Type: application/json' --data-binary @- <<'END-OF-QUESTION'\n%s\nEND-OF-QUESTION\n", n, plainJSON(body))
	}
	if n == 0 {
		return notFound("The run has no question to a model.")
	}
	return sendText(w, b.String())
}

// question collects the questions of a run, each of which holds only what changed.
type question struct{ request llm.Request }

func (q *question) add(e journal.Entry) error {
	switch e.Kind {
	case journal.KindStart:
		var s journal.Start
		if err := e.Decode(&s); err != nil {
			return err
		}
		q.request.Model = s.Model
	case journal.KindRequest:
		var r journal.Request
		if err := e.Decode(&r); err != nil {
			return err
		}
		if r.Keep > len(q.request.Messages) {
			return fmt.Errorf("it keeps %d messages of %d", r.Keep, len(q.request.Messages))
		}
		q.request.Messages = q.request.Messages[:max(r.Keep, 0):max(r.Keep, 0)]
		for _, raw := range r.Messages {
			var m llm.Message
			if err := json.Unmarshal(raw, &m); err != nil {
				return err
			}
			q.request.Messages = append(q.request.Messages, m)
		}
		return q.settings(r)
	}
	return nil
}

// settings reads the tools and settings of a request.
func (q *question) settings(r journal.Request) error {
	if len(r.Tools) > 0 {
		var tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
		}
		if err := json.Unmarshal(r.Tools, &tools); err != nil {
			return err
		}
		q.request.Tools = nil
		for _, t := range tools {
			q.request.Tools = append(q.request.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	if len(r.Settings) > 0 {
		var s struct {
			System      string   `json:"system"`
			MaxTokens   int      `json:"max_tokens"`
			Temperature *float64 `json:"temperature"`
		}
		if err := json.Unmarshal(r.Settings, &s); err != nil {
			return err
		}
		q.request.System, q.request.MaxTokens, q.request.Temperature = s.System, s.MaxTokens, s.Temperature
	}
	return nil
}

// plainJSON writes characters of JSON that a terminal or an editor would not show as escapes.
func plainJSON(raw []byte) string {
	var b strings.Builder
	for _, r := range string(raw) {
		switch shown := html.Visible(string(r)); {
		case r == '\n', r == '\t', shown == string(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
