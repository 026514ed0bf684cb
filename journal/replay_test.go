package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// script is a model that gives prepared answers.
func script(answers ...[]llm.Event) llm.Model {
	n := 0
	return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			events := answers[n]
			n++
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			if _, ok := events[len(events)-1].(llm.Finish); !ok {
				yield(nil, &llm.Error{Op: "script", Kind: llm.Overloaded, Status: 529, Err: errors.New("busy")})
			}
		}
	})
}

var lookup = llm.Call{ID: "call_1", Name: "lookup", Args: json.RawMessage(`{"city":"Rome","api_key":"0123456789abcdef"}`)}

// conversation asks a model, runs what it calls with run, and asks again. It
// returns everything the model said.
func conversation(ctx context.Context, m llm.Model, task string, run func(llm.Call) (llm.Result, error)) ([]llm.Message, error) {
	req := &llm.Request{
		System: "be brief", Messages: []llm.Message{llm.User(task)}, MaxTokens: 100,
		Tools:  []llm.ToolDef{{Name: "lookup", Schema: json.RawMessage(`{"type":"object"}`)}},
		Choice: llm.ToolChoice{Allowed: []string{}},
	}
	var said []llm.Message
	for {
		resp, err := llm.Generate(ctx, m, req)
		if err != nil {
			return said, err
		}
		said = append(said, resp.Message)
		calls := resp.Message.Calls()
		if len(calls) == 0 {
			return said, nil
		}
		req = req.Clone()
		req.Messages = append(req.Messages, resp.Message)
		for _, c := range calls {
			result, err := run(c)
			if err != nil {
				return said, err
			}
			req.Messages = append(req.Messages, llm.Results(result))
		}
	}
}

// record plays a conversation of two answers, one call between them, and
// returns its store.
func record(t *testing.T) (*journal.Memory, []llm.Message) {
	t.Helper()
	store := new(journal.Memory)
	r := open(t, store, "r")
	model := script(
		[]llm.Event{llm.ThinkingDelta{Text: "hm"}, llm.TextDelta{Text: "Let me "}, llm.TextDelta{Text: "look."}, lookup, llm.Finish{Reason: llm.ToolCalls, Usage: llm.Usage{Input: 7}}},
		[]llm.Event{llm.TextDelta{Text: "It is "}, llm.TextDelta{Text: "sunny."}, llm.Finish{Reason: llm.Stop}},
	)
	said, err := conversation(t.Context(), r.Model(model), "Weather in Rome?", func(c llm.Call) (llm.Result, error) {
		result := llm.Result{CallID: c.ID, Name: c.Name, Parts: []llm.Part{llm.Text{Text: "sunny, 31 °C"}}}
		_, err := r.Receipt(t.Context(), journal.Receipt{Call: c.ID, Tool: c.Name, Args: c.Args, Status: journal.OK, Result: &result})
		return result, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, store, "r"); got != "request answer receipt request answer seal" {
		t.Fatalf("the run is: %s", got)
	}
	return store, said
}

func replayOf(t *testing.T, store journal.Store) *journal.Replay {
	t.Helper()
	p, err := journal.NewReplay(store.Read(t.Context(), "r", 0))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReplay(t *testing.T) {
	store, said := record(t)
	p := replayOf(t, store)
	again, err := conversation(t.Context(), p, "Weather in Rome?", func(c llm.Call) (llm.Result, error) { return p.Call(t.Context(), c) })
	if err != nil {
		t.Fatal(err)
	}
	// The key that the model wrote into its call is not on record.
	want := slices.Clone(said)
	call := lookup
	call.Args = json.RawMessage(`{"api_key":"[stripped:api-key]","city":"Rome"}`)
	want[0].Parts = []llm.Part{want[0].Parts[0], want[0].Parts[1], call}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Error(diff)
	}
	if requests, calls := p.Left(); requests+calls > 0 || p.Difference() != nil {
		t.Errorf("%d requests and %d calls are left, difference %v", requests, calls, p.Difference())
	}
}

func TestReplayFirstDifference(t *testing.T) {
	store, _ := record(t)
	for _, c := range []struct {
		why  string
		task string
		call func(llm.Call) llm.Call
		want string
	}{
		{"another task", "Weather in Oslo?", nil, `request 1 at /messages/0/parts/0/text: was "Weather in Rome?", is "Weather in Oslo?"`},
		{"other arguments", "Weather in Rome?", func(c llm.Call) llm.Call { c.Args = json.RawMessage(`{"api_key":"x","city":"Oslo"}`); return c },
			`call call_1 of lookup at /args/api_key: was "[stripped:api-key]", is "x"`},
		{"another tool", "Weather in Rome?", func(c llm.Call) llm.Call { c.Name = "rm"; return c }, `call call_1 of rm at /name: was lookup, is rm`},
		{"another call", "Weather in Rome?", func(c llm.Call) llm.Call { c.ID = "call_9"; c.Args = json.RawMessage(`{}`); return c }, `call call_9 of lookup: was nothing, is {}`},
	} {
		p := replayOf(t, store)
		_, err := conversation(t.Context(), p, c.task, func(call llm.Call) (llm.Result, error) {
			if c.call != nil {
				call = c.call(call)
			}
			return p.Call(t.Context(), call)
		})
		var d *journal.Difference
		if !errors.As(err, &d) || !strings.HasSuffix(d.Error(), c.want) || p.Difference() != d {
			t.Errorf("%s: %v\nwant %s", c.why, err, c.want)
		}
	}
}

// A conversation grows; the journal holds each message once.
func TestReplayRequestDifference(t *testing.T) {
	store, _ := record(t)
	var keeps []int
	for e := range store.Read(t.Context(), "r", 0) {
		var req journal.Request
		if e.Kind != journal.KindRequest {
			continue
		}
		if err := e.Decode(&req); err != nil {
			t.Fatal(err)
		}
		keeps = append(keeps, req.Keep)
		if req.Keep > 0 && (len(req.Messages) != 2 || req.Tools != nil || req.Settings != nil) {
			t.Errorf("the second request repeats what is known: %s", e.Body)
		}
	}
	if diff := cmp.Diff([]int{0, 1}, keeps); diff != "" {
		t.Error(diff)
	}
}

func TestReplayOfAFailure(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r")
	_, err := conversation(t.Context(), r.Model(script([]llm.Event{llm.TextDelta{Text: "I was say"}})), "hi", nil)
	if llm.KindOf(err) != llm.Overloaded {
		t.Fatal(err)
	}
	req := &llm.Request{Messages: []llm.Message{llm.User("and then he left")}}
	for range r.Model(script([]llm.Event{llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "b"}, llm.Finish{}})).Stream(t.Context(), req) {
		break
	}
	p := replayOf(t, store)
	_, err = conversation(t.Context(), p, "hi", nil)
	if llm.KindOf(err) != llm.Overloaded || !strings.Contains(err.Error(), "busy") {
		t.Errorf("the replay fails with %v", err)
	}
	resp, err := llm.Generate(t.Context(), p, req)
	if llm.KindOf(err) != llm.Canceled || resp.Message.Text() != "a" {
		t.Errorf("the answer nobody waited for: %q, %v", resp.Message.Text(), err)
	}
}

// A question that cannot go on record is not asked.
func TestReplayUnrecordedQuestion(t *testing.T) {
	r := open(t, new(journal.Memory), "r")
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Generate(t.Context(), r.Model(script()), &llm.Request{}); !errors.Is(err, journal.ErrSealed) {
		t.Error(err)
	}
}

// Models write half emoji and keys twice, vendors sign with numbers nobody can
// hold. It goes on record as nearly as can be, and the run goes on.
func TestNonCanonicalValuesRecorded(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r")
	odd := llm.Call{ID: "c1", Name: "f", Args: json.RawMessage("{\"b\":\"\\ud83d half\",\"a\":1,\"a\":2,\"a#2\":3,\"n\":[1e999],\"\xff\":\"\xff\\n\"}"),
		State: llm.State{Vendor: "v", Data: json.RawMessage(`{"k":1,"k":2}`)}}
	asked, err := r.Request(t.Context(), &llm.Request{Messages: []llm.Message{llm.Assistant(odd)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.Answer(t.Context(), asked, &llm.Response{Message: llm.Assistant(odd)}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.Stripped == nil || !slices.Contains(e.Stripped.Rules, "mended") {
		t.Errorf("the entry is marked %+v", e.Stripped)
	}
	want := "{\"a\":1,\"a#2\":2,\"a#2#2\":3,\"b\":\"\uFFFD half\",\"n\":[\"1e999\"],\"\uFFFD\":\"\uFFFD\\n\"}"
	var a journal.Answer
	if err := e.Decode(&a); err != nil || string(a.Message.Calls()[0].Args) != want {
		t.Errorf("the arguments are on record as\n%s, %v, want\n%s", a.Message.Calls()[0].Args, err, want)
	}
	if _, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
		t.Error(err)
	}
}

// TestReplayWholeAnswer: what the vendor said before the answer, the answers
// after the first and the events that nobody knows come again.
func TestReplayWholeAnswer(t *testing.T) {
	const key = "sk-ant-api03-aB3aB3aB3aB3aB3aB3aB3aB3"
	for name, secret := range map[string]string{"plain": "", "with a secret": key} {
		want := &llm.Response{
			Start:    llm.Start{ID: "msg_1", Model: "m-2026", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Usage: llm.Usage{Input: 7}},
			Message:  llm.Assistant(llm.Text{Text: "Yes."}),
			Warnings: []llm.Warning{{Code: llm.Degraded, Feature: "f", Detail: "d"}},
			Finish:   llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 7, Output: 3}},
			Unknown:  []llm.UnknownEvent{{Format: "chat", Type: "new", Raw: json.RawMessage(`{"a":[1]}`)}},
			Alternatives: []*llm.Response{
				{Message: llm.Assistant(llm.Text{Text: "No." + secret}), Finish: llm.Finish{Reason: llm.Stop}},
				{Message: llm.Assistant(llm.Call{ID: "c", Name: "f", Args: json.RawMessage(`{"b":1}`), Kind: llm.FunctionTool}), Finish: llm.Finish{Reason: llm.ToolCalls}},
			},
		}
		model := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				for _, ev := range want.Events() {
					if !yield(ev, nil) {
						return
					}
				}
			}
		})
		store := new(journal.Memory)
		req := &llm.Request{N: 3, Messages: []llm.Message{llm.User("Is it?")}}
		if _, err := llm.Generate(t.Context(), open(t, store, "r").Model(model), req); err != nil {
			t.Fatal(err)
		}
		got, err := llm.Generate(t.Context(), replayOf(t, store), req)
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			want.Alternatives[0].Message = llm.Assistant(llm.Text{Text: "No.[stripped:anthropic-key]"})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-said +replayed):\n%s", name, diff)
		}
		if _, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
			t.Error(err)
		}
	}
}
