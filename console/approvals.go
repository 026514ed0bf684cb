package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// maxWaiting limits the runs of the page.
const maxWaiting = 200

// approvals lists the calls that wait for a person.
func (p page) approvals(w http.ResponseWriter) error {
	runs, err := p.index.waiting(p.Context())
	if err != nil {
		return err
	}
	var items []html.HTML
	for _, run := range runs[:min(len(runs), maxWaiting)] {
		questions, err := agent.Waiting(p.Context(), p.Store, run)
		if err != nil || len(questions) == 0 {
			continue
		}
		items = append(items, html.Tag("section", html.Attrs{"id", run, "class", "waiting"},
			html.Tag("h2", nil, html.Tag("a", html.Attrs{"href", p.Base + "/runs/" + run}, html.Text(run))),
			html.Each(questions, func(q invoke.Question) html.HTML { return p.questionForm(run, q) })))
	}
	done := html.HTML("")
	if text := p.URL.Query().Get("done"); text == "allowed" || text == "refused" {
		done = html.Tag("p", html.Attrs{"class", "verified", "role", "status"}, html.Text("The call was "+text+". "), nextStep(p.URL.Query().Get("run")))
	}
	body := html.Join(html.Tag("h1", nil, html.Text("Approvals")), done)
	if len(items) == 0 {
		body = html.Join(body, empty("No call waits for a decision. A run with --later asks here, and so does a route of a gateway whose tools ask.", ""))
	}
	return p.write(w, "Approvals", html.Join(append([]html.HTML{body}, items...)...))
}

// nextStep tells how a decided run continues.
func nextStep(run string) html.HTML {
	switch {
	case journal.ValidRun(run) != nil:
		return ""
	case strings.HasPrefix(run, "req_"):
		return html.Text("The gateway continues when its client makes the same call again.")
	}
	return html.Join(html.El("code", "", html.Text("toolpost run --resume "+run)), html.Text(" continues the run."))
}

// questionForm shows everything that the call would do, and the decisions.
func (p page) questionForm(run string, q invoke.Question) html.HTML {
	id := run + "-" + q.CallID
	out := []html.HTML{html.Tag("h3", nil, html.El("code", "", html.Text(q.Tool)))}
	if q.Prompt > 0 {
		out = append(out, html.El("p", "lead", html.Text("The tool asks: "+q.Message)))
	}
	out = append(out, factList([]fact{
		{"Declared effects", q.Effects.String()}, {"Asked because", q.Why()}, {"Changed", q.Changed}, {"Repeats", repeats(q)},
		{"Refused after", until(q)}, {"Arguments hash", string(q.ParamsHash)},
	}))
	if q.Runs != "" {
		out = append(out, html.El("p", "label", html.Text("What will run")), html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(q.Runs)))
	}
	if q.Hides() {
		out = append(out, problem("A part of the arguments looks like a secret and is not on record. Approve only after you replace the arguments."))
	}
	if p.session.user.Permission < Operator {
		return html.El("div", "question", append(out, html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(indented(q.Args))), note("You are a viewer. An operator can decide."))...)
	}
	if q.Prompt > 0 {
		out = append(out,
			html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(indented(q.Schema))),
			html.Tag("label", html.Attrs{"for", "value-" + id}, html.Text("Answer, as JSON")),
			html.Tag("textarea", html.Attrs{"id", "value-" + id, "name", "value", "rows", "3", "spellcheck", "false"}))
	} else {
		out = append(out,
			html.Tag("label", html.Attrs{"for", "args-" + id}, html.Text("Arguments. Your changes are recorded, and the model is told.")),
			html.Tag("textarea", html.Attrs{"id", "args-" + id, "name", "args", "rows", rows(indented(q.Args)), "spellcheck", "false"}, html.Text("\n"+indented(q.Args))))
	}
	out = append(out,
		html.Tag("label", html.Attrs{"for", "reason-" + id}, html.Text("Reason")),
		html.Tag("input", html.Attrs{"id", "reason-" + id, "name", "reason", "type", "text", "maxlength", "1000"}),
		html.El("p", "buttons",
			html.Tag("button", html.Attrs{"type", "submit", "name", "decision", "value", "deny"}, html.Text("Refuse")),
			html.Tag("button", html.Attrs{"type", "submit", "name", "decision", "value", "approve", "class", "primary"}, html.Text("Allow "+q.Tool))))
	action := fmt.Sprintf("%s/approvals/%s/%s", p.Base, run, pathEscape(q.CallID))
	hidden := []html.HTML{p.session.hidden(), html.Tag("input", html.Attrs{"type", "hidden", "name", "hash", "value", string(q.ParamsHash)})}
	return html.Tag("form", html.Attrs{"method", "post", "action", action, "class", "question stack"}, append(hidden, out...)...)
}

func rows(text string) string {
	return fmt.Sprint(min(max(strings.Count(text, "\n")+1, 3), 20))
}

func repeats(q invoke.Question) string {
	if q.Repeats == "" {
		return ""
	}
	return "call " + q.Repeats + ", whose outcome is unknown: it may happen twice"
}

func until(q invoke.Question) string {
	if q.Until.IsZero() {
		return ""
	}
	return q.Until.Local().Format(time.RFC1123)
}

// decide records a decision about a call. It holds only for the arguments that the person saw.
func (p page) decide(w http.ResponseWriter) error {
	run, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	call := p.PathValue("call")
	questions, err := agent.Waiting(p.Context(), p.Store, run)
	if err != nil {
		return wrong(err.Error())
	}
	i := slices.IndexFunc(questions, func(q invoke.Question) bool { return q.CallID == call })
	if i < 0 {
		return &statusError{http.StatusConflict, "This call no longer waits. Somebody decided, or its time is over."}
	}
	q := questions[i]
	if hash := p.PostFormValue("hash"); hash != string(q.ParamsHash) {
		return &statusError{http.StatusConflict, "The call is not the one that the page showed. Load the page again."}
	}
	g := agent.Grant{Call: call, By: p.session.user.Name, Reason: strings.TrimSpace(p.PostFormValue("reason")), ParamsHash: q.ParamsHash}
	word := "refused"
	switch p.PostFormValue("decision") {
	case "approve":
		g.Allowed, word = true, "allowed"
		if err := fillGrant(&g, q, p.PostFormValue("args"), p.PostFormValue("value")); err != nil {
			return err
		}
	case "deny":
	default:
		return wrong("Choose a decision.")
	}
	var held *journal.HeldError
	switch err := agent.Decide(p.Context(), p.Store, run, g); {
	case errors.As(err, &held):
		return &statusError{http.StatusConflict, "The run is at work, so it does not wait: " + held.Owner.String() + "."}
	case err != nil:
		return wrong(strings.TrimPrefix(err.Error(), "agent: "))
	}
	http.Redirect(w, p.Request, p.Base+"/approvals?done="+word+"&run="+run, http.StatusSeeOther)
	return nil
}

// fillGrant adds changed arguments or an answer to an approval.
func fillGrant(g *agent.Grant, q invoke.Question, args, value string) error {
	if q.Prompt > 0 {
		g.Value = json.RawMessage(strings.TrimSpace(value))
		if fault := q.Fault(g.Value); fault != "" {
			return wrong("The answer does not match: " + fault)
		}
		return nil
	}
	changed := []byte(strings.TrimSpace(strings.ReplaceAll(args, "\r\n", "\n")))
	if sameText(changed, []byte(html.Visible(indented(q.Args)))) {
		if q.Hides() {
			return wrong("A part of the arguments is not on record, so nobody can agree to it. Replace the arguments.")
		}
		return nil
	}
	if !json.Valid(changed) {
		return wrong("The arguments are not JSON.")
	}
	if text := indented(q.Args); html.Visible(text) != text { // the form holds marks in their place
		return wrong("The arguments have characters that a page cannot show, and a change would lose them. Refuse the call, or change it with 'toolpost runs approve --args'.")
	}
	g.Args = changed
	return nil
}

func sameText(a, b []byte) bool { return bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b)) }
