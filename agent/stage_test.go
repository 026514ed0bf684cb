package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
	"golang.org/x/tools/txtar"
)

// form is a way to reach a model that must not matter.
type form struct {
	name, kind string // kind is native or emulated
	vendor     string // and its path
	model      string // of the simulator
	whole      bool
}

var forms = []form{
	{"native, streamed", "native", "openai+%s/v1", "sim/native", false},
	{"native, whole", "native", "openai+%s/v1", "sim/native", true},
	{"messages, streamed", "native", "anthropic+%s/v1", "sim/native", false},
	{"emulated, streamed", "emulated", "openai+%s/v1", "sim/hermes_json", false},
	{"emulated, whole", "emulated", "openai+%s/v1", "sim/hermes_json", true},
	{"ollama, emulated", "emulated", "ollama+%s/api", "sim/mistral_json", false},
}

// other is a form of the other kind.
func (f form) other() form {
	if f.kind == "native" {
		return forms[3]
	}
	return forms[0]
}

// open starts a simulator with the player behind it and opens it in a form.
func (s *stage) open(f form, fault string) (llm.Model, string) {
	server := httptest.NewServer(s.handler(f))
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	name := f.model + fault
	if s.set.Model != "" {
		name = s.set.Model
	}
	vendor := f.vendor
	if s.set.Model != "" { // nothing is to be known about it but its name
		vendor = strings.TrimPrefix(vendor, "openai+")
	}
	id := fmt.Sprintf(vendor, server.URL) + "#" + name
	info := catalog.Default().Lookup(id)
	c := &provider.Client{HTTP: server.Client(), Whole: f.whole, Retry: provider.RetryPolicy{Attempts: 3, Initial: time.Millisecond}}
	if f.kind == "native" {
		info.NativeTools, info.ToolChoiceRequired, info.ParallelTools = yes, yes, yes
		info.Promotion = string(llm.PromoteAll) // its answers write calls in every form
		c.Catalog = catalog.Default().With(info)
	} else {
		c.Route = provider.Prompted
	}
	m, err := c.Open(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return m, f.kind + " model"
}

var yes = catalog.Answer{Support: catalog.Yes}

// handler is the simulator; a model with a name of its own behaves like that of
// the form.
func (s *stage) handler(f form) http.Handler {
	server := &sim.Server{Model: s.play1}
	if s.set.Model == "" {
		return server
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = bytes.Replace(body, []byte(`"model":"`+s.set.Model+`"`), []byte(`"model":"`+f.model+s.set.Fault+`"`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		server.ServeHTTP(w, r)
	})
}

// player is the model behind the simulator: it says one answer after the other,
// and the last for ever. An answer that begins with "if WORDS" is given to the
// next question that contains them, whatever its place.
type player struct {
	t *testing.T

	mu      sync.Mutex
	answers []answerFile
	asked   int
}

type answerFile struct {
	when   string
	script *sim.Script
}

func (p *player) add(f txtar.File) {
	text := string(f.Data)
	var a answerFile
	if rest, ok := strings.CutPrefix(text, "if "); ok {
		a.when, text, _ = strings.Cut(rest, "\n")
	}
	name := "1"
	if rest, ok := strings.CutPrefix(text, "raw\n"); ok {
		name, text = "1.raw", rest
	}
	script, err := sim.ParseScript(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: name, Data: []byte(text)}}}))
	if err != nil {
		p.t.Fatalf("%s: %v", f.Name, err)
	}
	a.script = script
	p.answers = append(p.answers, a)
}

func (p *player) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	valid(p.t, req.Messages)
	for _, a := range p.answers {
		if a.when != "" && strings.Contains(everything(req), a.when) {
			return a.script.Stream(ctx, &llm.Request{})
		}
	}
	var plain []answerFile
	for _, a := range p.answers {
		if a.when == "" {
			plain = append(plain, a)
		}
	}
	a := plain[min(p.asked, len(plain)-1)]
	p.asked++
	return a.script.Stream(ctx, &llm.Request{})
}

// everything is all the text of a request.
func everything(req *llm.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	if req.Temperature != nil {
		fmt.Fprintf(&b, " temperature %g ", *req.Temperature)
	}
	for _, m := range req.Messages {
		b.WriteString(m.Text())
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				b.WriteString(r.Text())
			}
		}
	}
	return b.String()
}

// digest is what happens, in words that do not depend on the form.
type digest struct {
	b     strings.Builder
	text  strings.Builder // that is being said
	names map[string]string
	// varies says that whether a question is asked again depends on the form.
	varies bool
}

func (d *digest) line(format string, args ...any) {
	d.say()
	fmt.Fprintf(&d.b, strings.ReplaceAll(format, "\n", "\n\t")+"\n", args...)
}

// say ends a stretch of text.
func (d *digest) say() {
	if s := d.text.String(); strings.TrimSpace(s) != "" {
		d.text.Reset()
		d.line("text %s", strings.TrimSpace(s))
	}
	d.text.Reset()
}

func (d *digest) String() string { d.say(); return d.b.String() }

// name gives a call a name that does not depend on who minted its id.
func (d *digest) name(id string) string {
	if id == "" {
		return ""
	}
	if _, ok := d.names[id]; !ok {
		d.names[id] = fmt.Sprintf("#%d", len(d.names)+1)
	}
	return d.names[id]
}

var varying = regexp.MustCompile(`(openai\+|anthropic\+|ollama\+)?http://[^ ]*#|127\.0\.0\.1:\d+|sim/[a-z_]+|(native|emulated) model|openai|anthropic|ollama|call_\d+|\d+ tokens`)

// tidy takes out what differs from form to form.
func tidy(s string) string { return varying.ReplaceAllString(s, "~") }

func (d *digest) add(ev llm.Event, p *player) {
	switch ev := ev.(type) {
	case llm.TextDelta:
		d.text.WriteString(ev.Text)
	case agent.Turn:
		if ev.Last {
			d.line("turn %d, the last", ev.N)
		} else {
			d.line("turn %d of %d", ev.N, ev.Max)
		}
	case llm.Call:
		d.line("call %s %s %s%s", d.name(ev.ID), ev.Name, compact(ev.Args), repairs(ev.Provenance.Repairs))
	case llm.InvalidCall:
		if d.varies {
			return
		}
		d.line("invalid %s %s: %s", d.name(ev.ID), ev.Name, ev.Reason)
	case llm.HostedCall:
		d.line("hosted call %s %s", ev.Name, ev.Args)
	case llm.HostedResult:
		d.line("hosted result %s", ev.Text())
	case llm.Warning:
		if shown[ev.Feature] && ev.Code != llm.Emulated || ev.Code == llm.UnknownModel {
			d.line("warning %s %s: %s", ev.Code, tidy(ev.Feature), tidy(ev.Detail))
		}
	case invoke.Outcome:
		d.outcome(ev)
	case invoke.Started:
		if ev.Attempt == 1 { // those that run side by side begin in any order
			return
		}
		d.line("started %s attempt %d", d.name(ev.CallID), ev.Attempt)
	case invoke.ToolRetry:
		d.line("retrying %s: %s", d.name(ev.CallID), ev.Error)
	case invoke.Decided:
		if !ev.Allowed || ev.By != "policy" {
			d.line("decided %s allowed=%v by %s %s", d.name(ev.CallID), ev.Allowed, ev.By, ev.Reason)
		}
	case invoke.Stopped:
		d.line("stopped %s", ev.Reason)
	case llm.Retract:
		if d.varies {
			d.text.Reset()
			return
		}
		d.line("retract")
	case refine.AnswerRetry:
		if d.varies {
			d.text.Reset()
			return
		}
		d.line("retry after attempt %d of %d: %s", ev.Attempt, ev.Max, ev.Cause)
	case agent.Done:
		d.done(ev)
	default:
		d.own(ev)
	}
}

// shown are the warnings that every form gives.
var shown = map[string]bool{"tools": true, "toolExecutors.partial": true, "context": true}

func (d *digest) own(ev llm.Event) {
	switch ev := ev.(type) {
	case refine.Recovery:
		d.line("recovery %d of %d, %s: %s", ev.Attempt, ev.Max, ev.Cause, tidy(ev.Error))
	case agent.Checkpoint:
		d.line("checkpoint %d, %s failed: %s, recoverable=%v, attempt %d, options %v\n%s", ev.N, ev.Cause, ev.Error.Code, ev.Error.Recoverable, ev.Attempt, ev.Options, tidy(ev.Error.Message))
		if ev.Error.Fix != "" {
			d.line("\tfix: %s", ev.Error.Fix)
		}
	case agent.Chosen:
		d.line("chosen %d: %s by %s", ev.N, ev.Action, ev.By)
	case agent.Switched:
		d.line("switched to %s: %s", tidy(ev.To), ev.Why)
	case agent.Escalated:
		d.line("escalated %s after attempt %d of %s %s", ev.Strategy, ev.Attempt, ev.Tool, ev.Model)
	case agent.LaneChosen:
		d.line("lane %s: %s (asked for %s) because %s", ev.Tool, ev.Lane, ev.Asked, tidy(ev.Why))
	case agent.Shortened:
		d.line("shortened %d results, %d -> %d characters", len(ev.Calls), ev.Chars, ev.Kept)
	}
}

func (d *digest) outcome(ev invoke.Outcome) {
	d.line("outcome %s %s", d.name(ev.Call.ID), ev.Receipt.Status)
	if ev.Error != nil {
		d.line("\tcode=%s recoverable=%v attempt=%d next=%s", ev.Error.Code, ev.Error.Recoverable, ev.Attempt, ev.Next)
	}
	text := tidy(ev.Result.Text())
	if len(text) > 1500 {
		text = text[:60] + " ... " + text[len(text)-200:]
	}
	d.line("\t%s", strings.ReplaceAll(text, "\n", "\n\t"))
}

func (d *digest) done(ev agent.Done) {
	reason := string(ev.Finish.Reason)
	if ev.Finish.Reason == agent.Failed { // else it is the vendor's word
		reason += " " + ev.Finish.Raw
	}
	d.line("done %s after %d turns, %d calls ran, partial=%v open=%v", reason, ev.Turns, ev.Ran, ev.Partial, ev.Open)
	if ev.Text != "" {
		d.line("\tsaying %s", strings.ReplaceAll(ev.Text, "\n", "\n\t"))
	}
	if ev.Value != nil {
		d.line("\tvalue %s", ev.Value)
	}
	for _, c := range ev.Calls {
		d.line("\tfor the caller: %s %s", c.Name, compact(c.Args))
	}
	for _, did := range ev.Did {
		d.line("\tdid %s %s", did.Type, did.Path)
	}
}

// compact takes the white space out of JSON.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// sorted returns a record with the entries of calls that ran side by side, and
// with questions the requests asked side by side, in one order.
func sorted(text string, questions bool) string {
	lines := strings.SplitAfter(text, "\n")
	key := func(line string) int {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch n := 0; {
		case kind == "receipt" || kind == "outcome":
			_, _ = fmt.Sscanf(rest, "#%d", &n)
			return n + 2
		case questions && (kind == "request" || kind == "answer"):
			return map[string]int{"request": 0, "answer": 1}[kind]
		}
		return -9
	}
	first := 0
	for i := range len(lines) + 1 {
		if i == len(lines) || key(lines[i]) == -9 {
			slices.SortStableFunc(lines[first:i], func(a, b string) int { return key(a) - key(b) })
			first = min(i+1, len(lines))
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(lines, ""), "  \n", "\n"), " \n", "\n")
}

func repairs(list []llm.Repair) string {
	s := ""
	for _, r := range list {
		s += fmt.Sprintf(" (%s %s)", r.Class, r.Rule)
	}
	return s
}
