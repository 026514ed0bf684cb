package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
)

// TestModel checks that an [llm.Model] keeps the promises of the interface. It
// asks short questions about the weather, with two tools. The answers may be
// anything, but must keep the promises about all answers. open is called once
// per promise.
//
// If the model never calls a tool, the promises about calls are not tested, and
// the log reports this.
func TestModel(t *testing.T, open func(*testing.T) llm.Model) {
	for _, p := range []struct {
		promise string
		check   func(*testing.T, llm.Model)
	}{
		{"a stream ends with one finish or one error", modelEnds},
		{"a call is what its pieces were", modelCalls},
		{"ids of calls are unique in a conversation", modelIDs},
		{"results are taken", modelResults},
		{"what must not be called is not called", modelForbidden},
		{"one call is one call", modelOneCall},
		{"no event comes after the caller stopped", modelStops},
		{"a cancelled context ends the answer", modelCancelled},
		{"nothing runs on after the end", modelLeaves},
		{"requests are not changed", modelKeepsRequests},
		{"one model serves many at once", modelConcurrent},
	} {
		t.Run(p.promise, func(t *testing.T) { p.check(t, open(t)) })
	}
}

// patience is the maximum time for an immediate reaction of a model.
const patience = 10 * time.Second

// question is the request to models.
func question() *llm.Request {
	city := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}`)
	return &llm.Request{
		System: "Answer in one sentence. Use the tools.",
		Tools: []llm.ToolDef{
			{Name: "get_weather", Description: "Get the current weather in a city", Schema: city},
			{Name: "get_time", Description: "Get the current time in a city", Schema: city},
		},
		Messages: []llm.Message{llm.User("What is the weather in Rome?")},
	}
}

// questions are the ways to ask.
func questions() map[string]*llm.Request {
	plain, both, must, named, talk := question(), question(), question(), question(), question()
	both.Messages = []llm.Message{llm.User("What is the weather in Rome and what is the weather in Oslo? Make both calls at once.")}
	must.Choice.Mode = llm.MustCall
	named.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "get_time"}
	talk.Tools, talk.System = nil, ""
	return map[string]*llm.Request{"a question": plain, "two questions": both, "a demanded call": must, "a demanded tool": named, "no tools": talk}
}

// observed is an answer as the test saw it.
type observed struct {
	events   []llm.Event
	err      error
	finished bool
	broken   string // the first error in the order of events
}

// listen asks a model and checks the promises about every stream.
func listen(ctx context.Context, m llm.Model, req *llm.Request) observed {
	var h observed
	for ev, err := range m.Stream(ctx, req) {
		h.add(ev, err)
	}
	h.end()
	return h
}

// add takes the next event or the error.
func (h *observed) add(ev llm.Event, err error) {
	_, start := ev.(llm.Start)
	switch {
	case h.err != nil:
		h.broken = "something follows the error"
	case h.finished:
		h.broken = "something follows the finish"
	case err == nil && ev == nil:
		h.broken = "an event is nil"
	case start && slices.ContainsFunc(h.events, isAnswer):
		h.broken = "the start does not stand at the start"
	case start && slices.ContainsFunc(h.events, isStart):
		h.broken = "there are two starts"
	}
	if err != nil {
		h.err = err
		return
	}
	h.events = append(h.events, ev)
	if f, ok := ev.(llm.Finish); ok {
		h.finish(f)
	}
}

// reasons are why a model may stop.
var reasons = []llm.Reason{llm.Stop, llm.ToolCalls, llm.Length, llm.ContentFilter, llm.OtherReason}

// finish takes the llm.Finish.
func (h *observed) finish(f llm.Finish) {
	h.finished = true
	valid, invalid := h.calls()
	switch {
	case h.broken != "":
	case !slices.Contains(reasons, f.Reason):
		h.broken = fmt.Sprintf("the finish has a reason that nobody knows: %q", f.Reason)
	case f.Reason == llm.ToolCalls && len(valid)+len(invalid) == 0:
		h.broken = "the finish says that there are calls, but there are none"
	}
}

func isStart(ev llm.Event) bool {
	_, ok := ev.(llm.Start)
	return ok
}

// end records the end of the stream.
func (h *observed) end() {
	if h.err == nil && !h.finished && h.broken == "" {
		h.broken = "it ends without a finish and without an error"
	}
}

// isAnswer reports whether an event is part of the answer itself.
func isAnswer(ev llm.Event) bool {
	switch ev.(type) {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallStart, llm.CallDelta, llm.Call, llm.InvalidCall, llm.Media, llm.Finish:
		return true
	}
	return false
}

// calls returns the calls of an answer, including invalid ones.
func (h observed) calls() (valid []llm.Call, invalid []llm.InvalidCall) {
	for _, ev := range h.events {
		switch ev := ev.(type) {
		case llm.Call:
			valid = append(valid, ev)
		case llm.InvalidCall:
			invalid = append(invalid, ev)
		}
	}
	return valid, invalid
}

func modelEnds(t *testing.T, m llm.Model) {
	for name, req := range questions() {
		h := listen(t.Context(), m, req)
		if h.broken != "" {
			t.Errorf("%s: %s: %v %v", name, h.broken, h.events, h.err)
		}
		// A missing call that the request demanded has a separate error kind.
		if h.err != nil && llm.KindOf(h.err) != llm.BrokenPromise {
			t.Errorf("%s: %v", name, h.err)
		}
		if h.err != nil && llm.KindOf(h.err) == llm.Unknown {
			t.Errorf("%s: an error has a kind, so that callers know what to do: %v", name, h.err)
		}
	}
}

func modelCalls(t *testing.T, m llm.Model) {
	seen := 0
	for name, req := range questions() {
		h := listen(t.Context(), m, req)
		if problem := h.pieces(req); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
		valid, _ := h.calls()
		seen += len(valid)
	}
	if seen == 0 {
		t.Log("the model called nothing, so that the promises about calls were not tried")
	}
}

// pieces describes the error in the pieces of the calls of an answer; empty if there is none.
func (h observed) pieces(req *llm.Request) string {
	open, joined := map[string]string{}, map[string]string{}
	for _, ev := range h.events {
		switch ev := ev.(type) {
		case llm.CallStart:
			if ev.ID == "" || ev.Name == "" {
				return fmt.Sprintf("a call begins without id or name: %+v", ev)
			}
			open[ev.ID] = ev.Name
		case llm.CallDelta:
			if _, began := open[ev.ID]; !began {
				return "a piece of arguments belongs to no open call: " + ev.ID
			}
			joined[ev.ID] += ev.Args
		case llm.Call:
			if problem := whole(ev, req); problem != "" {
				return problem
			}
			name, began := open[ev.ID]
			if began && (name != ev.Name || joined[ev.ID] != string(ev.Args)) {
				return fmt.Sprintf("the pieces of %s are %q, the call is %s %s", name, joined[ev.ID], ev.Name, ev.Args)
			}
			delete(open, ev.ID)
		case llm.InvalidCall:
			if ev.Problem == "" || ev.Reason == "" {
				return fmt.Sprintf("a call that cannot be run must say why: %+v", ev)
			}
			delete(open, ev.ID)
		}
	}
	if len(open) > 0 && h.err == nil {
		return fmt.Sprintf("calls that began never ended: %v", open)
	}
	return ""
}

// whole describes the error in a single call; empty if there is none.
func whole(c llm.Call, req *llm.Request) string {
	var args map[string]json.RawMessage
	_, offered := req.Tool(c.Name)
	switch {
	case c.ID == "":
		return "a call of " + c.Name + " has no id"
	case !offered:
		return "a tool is called that was not offered: " + c.Name
	case json.Unmarshal(c.Args, &args) != nil:
		return fmt.Sprintf("the arguments of %s are no JSON object: %s", c.Name, c.Args)
	case c.Provenance.Worst() >= llm.Truncation:
		return "a call that was cut off is given as one that can be run: " + c.Name
	}
	return ""
}

// withResults adds an answer and results to a conversation.
func withResults(req *llm.Request, h observed) *llm.Request {
	calls, _ := h.calls()
	if len(calls) == 0 {
		calls = []llm.Call{{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}}
	}
	next := req.Clone()
	var said []llm.Part
	var results []llm.Result
	for _, c := range calls {
		said = append(said, c)
		results = append(results, llm.Result{CallID: c.ID, Name: c.Name, Parts: []llm.Part{llm.Text{Text: "17 degrees and hail"}}})
	}
	next.Messages = append(next.Messages, llm.Assistant(said...), llm.Results(results...))
	return next
}

func modelIDs(t *testing.T, m llm.Model) {
	req := questions()["two questions"]
	seen := map[string]bool{}
	for turn := range 3 {
		h := listen(t.Context(), m, req)
		valid, invalid := h.calls()
		for _, c := range invalid {
			valid = append(valid, llm.Call{ID: c.ID, Name: c.Name})
		}
		for _, c := range valid {
			if seen[c.ID] {
				t.Errorf("turn %d: the id %q is taken", turn, c.ID)
			}
			seen[c.ID] = true
		}
		req = withResults(req, h)
		req.Messages = append(req.Messages, llm.User("And what is the weather in Oslo and in Bergen?"))
	}
}

func modelResults(t *testing.T, m llm.Model) {
	req := withResults(question(), listen(t.Context(), m, question()))
	h := listen(t.Context(), m, req)
	if h.err != nil || h.broken != "" || !slices.ContainsFunc(h.events, isAnswer) {
		t.Errorf("%v %s %v", h.err, h.broken, h.events)
	}
}

func modelForbidden(t *testing.T, m llm.Model) {
	none, only, empty := question(), question(), question()
	none.Choice.Mode = llm.MustNotCall
	only.Choice.Allowed = []string{"get_time"}
	empty.Choice.Allowed = []string{}
	for name, req := range map[string]*llm.Request{"none": none, "only get_time": only, "an empty list": empty} {
		h := listen(t.Context(), m, req)
		valid, _ := h.calls()
		for _, c := range valid {
			if !req.Choice.Permits(c.Name) {
				t.Errorf("%s: %s was called", name, c.Name)
			}
		}
		if h.broken != "" {
			t.Errorf("%s: %s", name, h.broken)
		}
	}
}

func modelOneCall(t *testing.T, m llm.Model) {
	req := questions()["two questions"]
	req.OneCall = true
	h := listen(t.Context(), m, req)
	if valid, _ := h.calls(); len(valid) > 1 || h.broken != "" {
		t.Errorf("%d calls, %s", len(valid), h.broken)
	}
}

func modelStops(t *testing.T, m llm.Model) {
	for limit := 1; limit <= 40; limit++ {
		n, after := 0, 0
		m.Stream(t.Context(), question())(func(llm.Event, error) bool {
			if n++; n > limit {
				after++
			}
			return n < limit
		})
		if after > 0 {
			t.Fatalf("the stream yielded %[2]d events after the caller stopped at %[1]d", limit, after)
		}
		if n < limit {
			return
		}
	}
}

func modelCancelled(t *testing.T, m llm.Model) {
	for name, when := range map[string]int{"before it begins": 0, "at the first event": 1} {
		ctx, cancel := context.WithCancel(t.Context())
		if when == 0 {
			cancel()
		}
		began, n := time.Now(), 0
		var h observed
		for ev, err := range m.Stream(ctx, question()) {
			n++
			h.add(ev, err)
			if n == when {
				cancel()
				began = time.Now()
			}
		}
		cancel()
		if h.broken != "" {
			t.Errorf("%s: %s: %v %v", name, h.broken, h.events, h.err)
		}
		if k := llm.KindOf(h.err); h.err != nil && k != llm.Canceled {
			t.Errorf("%s: the error is of kind %s, not canceled: %v", name, k, h.err)
		}
		// A stream whose end was there already may end as it would have.
		if h.err == nil && (when == 0 || !h.finished) {
			t.Errorf("%s: no error says that the answer was cancelled", name)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("%s: it went on for %v", name, took)
		}
	}
}

// modelLeaves counts goroutines before and after answers that were read to the
// end, left early and cancelled.
func modelLeaves(t *testing.T, m llm.Model) {
	listen(t.Context(), m, question()) // data made once may stay
	before := working()
	for range 3 {
		listen(t.Context(), m, question())
		for range m.Stream(t.Context(), question()) {
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range m.Stream(ctx, question()) {
			cancel()
		}
		cancel()
	}
	var after []string
	for deadline := time.Now().Add(patience / 4); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if after = working(); len(after) <= len(before) {
			return
		}
	}
	t.Errorf("%d goroutines were there before, %d after:\n%s", len(before), len(after), strings.Join(after, "\n\n"))
}

// idle are goroutines that belong to a connection that is kept, to a server or
// to the test.
var idle = []string{"net/http.(*persistConn)", "net/http.(*conn)", "net/http.(*Server)", "net/http.(*http2", "net.(*netFD).accept", "testing.", "os/signal.", "net/http.(*connReader)"}

// working returns the goroutines that do something.
func working() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	return slices.DeleteFunc(strings.Split(string(buf), "\n\n"), func(stack string) bool {
		return slices.ContainsFunc(idle, func(mark string) bool { return strings.Contains(stack, mark) })
	})
}

func modelKeepsRequests(t *testing.T, m llm.Model) {
	for name, req := range questions() {
		listen(t.Context(), m, req)
		if diff := cmp.Diff(questions()[name], req, same); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
	req := withResults(question(), observed{})
	listen(t.Context(), m, req)
	if diff := cmp.Diff(withResults(question(), observed{}), req); diff != "" {
		t.Errorf("a conversation (-before +after):\n%s", diff)
	}
}

func modelConcurrent(t *testing.T, m llm.Model) {
	var running sync.WaitGroup
	for range 4 {
		for name, req := range questions() {
			running.Go(func() {
				h := listen(t.Context(), m, req)
				if h.broken == "" {
					h.broken = h.pieces(req)
				}
				if h.broken != "" || h.err != nil && llm.KindOf(h.err) != llm.BrokenPromise {
					t.Errorf("%s: %s %v", name, h.broken, h.err)
				}
			})
		}
	}
	running.Wait()
}
