package eval_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// obeys is a simulated model without tools that writes calls in one dialect, and only if its prompt teaches that dialect.
func obeys(t *testing.T, name string, tools []llm.ToolDef) llm.Model {
	t.Helper()
	example, err := dialect.Builtin().Render(name, llm.Call{ID: "call_1", Name: "get_weather", Args: []byte(`{"city":"Rome"}`)})
	if err != nil {
		t.Fatal(err)
	}
	marker, _, _ := strings.Cut(strings.TrimSpace(example), "get_weather")
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		asked := *req
		asked.System, asked.Tools = "", nil
		if strings.Contains(req.System, marker) {
			asked.Tools = tools
		}
		return func(yield func(llm.Event, error) bool) {
			resp, err := llm.Generate(ctx, sim.Offline{}, &asked)
			text := ""
			if err == nil {
				text, err = dialect.Builtin().Render(name, resp.Message.Parts...)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if yield(llm.TextDelta{Text: text}, nil) {
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		}
	})
}

// tuningSuite has cases that the offline model passes.
func tuningSuite(t *testing.T, n int) *eval.Suite {
	t.Helper()
	var b strings.Builder
	b.WriteString("suite: cities\ntools:\n  - {name: get_weather, description: Returns the weather of a city., parameters: {type: object, properties: {city: {type: string}}, required: [city]}}\ncases:\n")
	for i, city := range strings.Fields("Rome Oslo Lima Cairo Kyoto Quito Berlin Madrid Dublin Vienna Paris Tokyo Bern Riga Delhi Seoul Hanoi Accra Dakar Tunis Malta Minsk Sofia Turin")[:n] {
		fmt.Fprintf(&b, "  - {id: city %d, task: What is the weather in %s?, expect: {calls: [get_weather: {city: {$text: %s}}]}}\n", i, city, city)
	}
	s, err := new(eval.Loader).Parse("cities.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dialectsWithMarkers returns 20 dialects whose calls begin with a marker that no other of them has.
func dialectsWithMarkers(t *testing.T) []string {
	t.Helper()
	marker := func(d spec.Dialect) string {
		text, err := dialect.Builtin().Render(d.Name, llm.Call{ID: "call_1", Name: "get_weather", Args: []byte(`{"city":"Rome"}`)})
		before, _, found := strings.Cut(strings.TrimSpace(text), "get_weather")
		if err != nil || !found {
			return ""
		}
		return before
	}
	var names []string
	for i, d := range dialect.Builtin().All() {
		mine := marker(d)
		if len(mine) < 8 {
			continue
		}
		if !slices.ContainsFunc(dialect.Builtin().All(), func(o spec.Dialect) bool {
			theirs := marker(o)
			return o.Name != d.Name && theirs != "" && strings.Contains(theirs, mine)
		}) {
			names = append(names, dialect.Builtin().All()[i].Name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d dialects: %q", len(names), names)
	}
	return names[:20]
}

func TestTuneFindsTheOneDialectThatAModelObeys(t *testing.T) {
	s := tuningSuite(t, 24)
	var settings []eval.Setting
	settings = append(settings, eval.Setting{Name: "as it is", Values: map[string]string{"emulation_style": "none"}})
	names := dialectsWithMarkers(t)
	for _, name := range names {
		settings = append(settings, eval.Setting{Name: name, Values: map[string]string{"emulation_style": name}})
	}
	for _, name := range names {
		m := obeys(t, name, s.Cases[0].Tools)
		r := &eval.Evaluator{Store: new(journal.Memory), Models: []string{"sim/" + name}, Work: t.TempDir()}
		got, err := r.Tune(t.Context(), s, settings, func(set eval.Setting) (llm.Model, error) {
			if set.Values["emulation_style"] == "none" {
				return m, nil
			}
			return emulate.Emulation{Style: set.Values["emulation_style"], Dialects: dialect.Builtin()}.Around(m), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Better || got.Winner.Name != name {
			t.Errorf("%s: %s, %s", name, got.Winner.Name, got.Evidence())
		}
	}
}

func TestTuneRecommendsNothingThatIsNotBetter(t *testing.T) {
	s := tuningSuite(t, 24)
	settings := []eval.Setting{{Name: "as it is"}, {Name: "lucky"}, {Name: "equal"}}
	// Lucky is right only in the cases by which a setting is chosen.
	lucky := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		asked := *req
		for i, c := range s.Cases {
			if c.Messages[0].Text() == req.Messages[0].Text() && i%2 == 1 {
				asked.Tools = nil
			}
		}
		return sim.Offline{}.Stream(ctx, &asked)
	})
	half := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		asked := *req
		if len(req.Messages[0].Text())%2 == 0 {
			asked.Tools = nil
		}
		return sim.Offline{}.Stream(ctx, &asked)
	})
	r := &eval.Evaluator{Store: new(journal.Memory), Models: []string{"sim/offline"}, Work: t.TempDir()}
	got, err := r.Tune(t.Context(), s, settings, func(set eval.Setting) (llm.Model, error) {
		return map[string]llm.Model{"as it is": half, "lucky": lucky, "equal": half}[set.Name], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Winner.Name != "lucky" || got.Better || got.After.Hits != 0 {
		t.Errorf("%+v", got)
	}
}
