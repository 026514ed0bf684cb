package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// line is what an actor says at one question: parts, then an end or an error.
type line struct {
	parts   []llm.Part
	invalid []llm.InvalidCall
	finish  llm.Finish // Reason "" means stop, or tool_calls after calls; Raw "none" sends no finish
	err     error
}

// actor is a model that says one line after the other and remembers what it was
// asked. It cuts text and arguments into pieces of chunk bytes; 0 sends them
// whole.
type actor struct {
	lines []line // the last one for ever
	chunk int

	mu    sync.Mutex
	asked []*llm.Request
}

// says returns an actor. A string is text, a call a call, an error an error.
func says(lines ...any) *actor {
	a := new(actor)
	for _, l := range lines {
		switch l := l.(type) {
		case string:
			a.lines = append(a.lines, line{parts: []llm.Part{llm.Text{Text: l}}})
		case llm.Part:
			a.lines = append(a.lines, line{parts: []llm.Part{l}})
		case []llm.Part:
			a.lines = append(a.lines, line{parts: l})
		case error:
			a.lines = append(a.lines, line{err: l})
		case line:
			a.lines = append(a.lines, l)
		default:
			panic(fmt.Sprintf("%T", l))
		}
	}
	return a
}

func (a *actor) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	a.mu.Lock()
	l := a.lines[min(len(a.asked), len(a.lines)-1)]
	a.asked = append(a.asked, req.Clone())
	a.mu.Unlock()
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		resp := llm.Response{Message: llm.Assistant(l.parts...), Invalid: l.invalid, Finish: l.finish}
		if resp.Finish.Reason == "" {
			resp.Finish.Reason = llm.Stop
			if len(resp.Message.Calls()) > 0 {
				resp.Finish.Reason = llm.ToolCalls
			}
		}
		resp.Finish.Usage = llm.Usage{Input: 10, Output: 5}
		for _, ev := range a.cut(resp.Events()) {
			if _, end := ev.(llm.Finish); end && (l.err != nil || l.finish.Raw == "none") {
				if l.err != nil {
					yield(nil, l.err)
				}
				return
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// cut chops texts and arguments.
func (a *actor) cut(events []llm.Event) []llm.Event {
	if a.chunk == 0 {
		return events
	}
	var out []llm.Event
	for _, ev := range events {
		switch ev := ev.(type) {
		case llm.TextDelta:
			for len(ev.Text) > a.chunk {
				out = append(out, llm.TextDelta{Text: ev.Text[:a.chunk]})
				ev.Text = ev.Text[a.chunk:]
			}
			out = append(out, ev)
		case llm.CallDelta:
			for len(ev.Args) > a.chunk {
				out = append(out, llm.CallDelta{ID: ev.ID, Args: ev.Args[:a.chunk]})
				ev.Args = ev.Args[a.chunk:]
			}
			out = append(out, ev)
		default:
			out = append(out, ev)
		}
	}
	return out
}

func call(id, name, args string) llm.Call {
	return llm.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

func failed(kind llm.Kind, code string) error {
	return &llm.Error{Op: "test", Kind: kind, Code: code, Err: errors.New("it broke")}
}

// def describes a tool that takes the named strings.
func def(name string, args ...string) llm.ToolDef {
	props := make([]string, len(args))
	for i, a := range args {
		props[i] = fmt.Sprintf(`%q:{"type":"string"}`, a)
	}
	required, _ := json.Marshal(append([]string{}, args...))
	return llm.ToolDef{Name: name, Description: "Does " + name + ".", Schema: json.RawMessage(
		`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":` + string(required) + `}`)}
}

// log is the events of a run, and how it ended.
type log struct {
	events []llm.Event
	done   agent.Done
	err    error
}

func listen(events iter.Seq2[llm.Event, error]) *log {
	l := new(log)
	for ev, err := range events {
		if err != nil {
			l.err = err
			continue
		}
		l.events = append(l.events, ev)
		if d, ok := ev.(agent.Done); ok {
			l.done = d
		}
	}
	return l
}

func run(t *testing.T, a *agent.Agent, task string) *log {
	t.Helper()
	return listen(a.Run(t.Context(), llm.User(task)))
}

// of returns the events of one type.
func of[E llm.Event](l *log) []E {
	var out []E
	for _, ev := range l.events {
		if e, ok := ev.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

func (l *log) text() string {
	var b strings.Builder
	for _, d := range of[llm.TextDelta](l) {
		b.WriteString(d.Text)
	}
	return b.String()
}

// counted is a tool that counts its calls and answers with its name.
func counted(name string, n *int, effects tool.Effects) tool.Tool {
	var mu sync.Mutex
	t := tool.Func(name, "Does "+name+".", func(context.Context, map[string]any) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		*n++
		return name + " is done", nil
	})
	t.Effects = effects
	return t
}

func runner(tools ...tool.Tool) *invoke.Runner { return &invoke.Runner{Tools: tool.MustSet(tools...)} }

// valid fails unless every call of a conversation has exactly one result, right
// after the message it stands in.
func valid(t *testing.T, msgs []llm.Message) {
	t.Helper()
	for i, m := range msgs {
		want := make(map[string]int)
		for _, c := range m.Calls() {
			want[c.ID]++
		}
		if len(want) == 0 {
			continue
		}
		if i+1 < len(msgs) {
			for _, p := range msgs[i+1].Parts {
				if r, ok := p.(llm.Result); ok {
					want[r.CallID]--
				}
			}
		}
		for id, n := range want {
			if n != 0 {
				t.Errorf("message %d: call %s has not exactly one result", i, id)
			}
		}
	}
}

// verified fails unless a run is whole, and returns its entries with whole bodies.
func verified(t *testing.T, store journal.Store, run string) []journal.Entry {
	t.Helper()
	if _, err := journal.Verify(store.Read(t.Context(), run, 0)); err != nil {
		t.Error(err)
	}
	var entries []journal.Entry
	for e, err := range journal.Whole(store.Read(t.Context(), run, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}
