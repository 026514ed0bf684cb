// Extend is an agent of which every part is the program's own: model, dialect, store, tools,
// middleware around model and tools. It is traced. "extend TASK" runs it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"regexp"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otelobserve"
	"github.com/toolpost/toolpost/tool"
)

// The dialect: how the model writes calls, and how it is shown results.
var acme = spec.Dialect{Name: "acme", Form: spec.JSONCall, NameKey: "function",
	ArgsKey: "args", Call: []spec.Pair{{Open: "<acme:run>", Close: "</acme:run>"}},
	Write:   spec.Writing{Call: `<acme:run>{"function": "$name", "args": $args}</acme:run>`},
	Results: spec.Results{Role: llm.RoleUser, Each: "acme says: $text"}}

// The model only writes text. This one goes by rules; yours asks a service or a local process.
type scribe struct{}

func (scribe) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	_, town, _ := strings.Cut(req.Messages[0].Text(), " in ")
	town, card, _ := strings.Cut(town, ", ")
	answer := fmt.Sprintf(`<acme:run>{"function": "find", "args": {"Town": %q}}</acme:run>`, town)
	result, ok := strings.CutPrefix(req.Messages[len(req.Messages)-1].Text(), "acme says: ")
	if result == "room 7" {
		answer = `<acme:run>{"function": "book", "args": {"room": 7}}</acme:run>`
	} else if ok {
		answer = result + " " + card
	}
	return func(yield func(llm.Event, error) bool) {
		for word := range strings.SplitAfterSeq(answer, " ") { // while it is written
			if err := ctx.Err(); !yield(llm.TextDelta{Text: word}, err) || err != nil {
				return
			}
		}
		yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// The store. Next numbers, links and hashes an entry, and takes secrets out of it.
type store struct {
	sync.Mutex
	runs map[string][]journal.Entry
}

func (s *store) Append(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	s.Lock()
	defer s.Unlock()
	var last journal.Entry
	if n := len(s.runs[e.Run]); n > 0 {
		last = s.runs[e.Run][n-1]
	}
	e, err := journal.Next(last, e, nil)
	if err = cmp.Or(ctx.Err(), err); err == nil {
		s.runs[e.Run] = append(s.runs[e.Run], e)
	}
	return e, err
}

func (s *store) Read(ctx context.Context, run string, from int64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		s.Lock()
		entries := s.runs[run] // which is only ever appended to
		s.Unlock()
		for _, e := range entries {
			if err := ctx.Err(); e.Seq >= from && !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Middleware around a model: numbers of cards do not reach it.
func masked(m llm.Model) llm.Model {
	card := regexp.MustCompile(`(\d{4} ){3}\d{4}`)
	return llm.Around(m, func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
		r = r.Clone()
		r.Messages[0] = llm.User(card.ReplaceAllString(r.Messages[0].Text(), "[card]"))
		return m.Stream(ctx, r)
	})
}

// Middleware around a tool prints the arguments of each call.
func shown(t tool.Tool) tool.Tool {
	call := t.Call
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		fmt.Println(tool.InfoOf(ctx).Call, t.Name, string(args))
		return call(ctx, args)
	}
	return t
}

// The tools: one made of a typed function, one by hand.
type place struct{ Town string }

func find(_ context.Context, in place) (string, error) {
	if in.Town != "Siena" {
		return "", tool.Errorf(tool.NotFound, "no room in %s", in.Town)
	}
	return "room 7", nil
}

func book(_ context.Context, args json.RawMessage) (tool.Output, error) {
	return tool.Text("booked " + string(args)), nil
}

func main() {
	list, err := dialect.Builtin().With(acme)
	if err != nil || len(os.Args) != 2 {
		log.Fatal(errors.Join(err, errors.New("usage: extend 'Book a room in TOWN, CARD'")))
	}
	look := tool.Func("find", "Finds a room in a town.", find)
	look.Effects = tool.ReadOnly
	input := json.RawMessage(`{"type":"object","properties":{"room":{"type":"integer"}}}`)
	take := tool.New("book", "Books a room.", input, book)
	spans := tracetest.NewInMemoryExporter() // or otlptracehttp.New(ctx)
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	ctx, runs := context.Background(), &store{runs: map[string][]journal.Entry{}}
	a := agent.Agent{ID: "acme/scribe", Store: runs,
		Model:    masked(emulate.Emulation{Style: "acme", Dialects: list}.Around(scribe{})),
		Tools:    &invoke.Runner{Tools: tool.MustSet(shown(look), shown(take))},
		Observer: otelobserve.New(traces, otelobserve.Options{})}
	done, err := a.Ask(ctx, llm.User(os.Args[1]))
	fmt.Println(done.Text, err)
	report, err := journal.Verify(runs.Read(ctx, done.Run, 0))
	fmt.Println(report.State(), report.Entries, "entries", err)
	for _, s := range spans.GetSpans() { // the inner part ends first
		fmt.Println("span", s.Name)
	}
}
