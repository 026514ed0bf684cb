package eval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// past writes runs with outcomes.
type past struct {
	t     *testing.T
	store *journal.Memory
	runs  []string
}

// run records one run of a model: its task, the tools it was offered, and how calls ended.
func (p *past) run(model, task string, offered []llm.ToolDef, dialect string, right bool, called string) {
	p.t.Helper()
	name := fmt.Sprintf("run-%d", len(p.runs))
	p.runs = append(p.runs, name)
	rec, err := journal.Open(p.t.Context(), p.store, name)
	if err != nil {
		p.t.Fatal(err)
	}
	tools, err := json.Marshal(offered)
	if err != nil {
		p.t.Fatal(err)
	}
	call := llm.Call{ID: "c", Name: called, Args: []byte(`{}`), Provenance: llm.Provenance{Dialect: dialect}}
	outcome := journal.OutcomeRecord{Task: task, Call: "c", Tool: called, Model: model, Success: right, Attempt: 1}
	if !right {
		outcome.Code = string(tool.Validation)
	}
	for _, e := range []struct {
		kind journal.Kind
		body any
	}{
		{journal.KindStart, journal.Start{Task: task, Model: model}},
		{journal.KindRequest, map[string]any{"hash": "", "keep": 0, "tools": json.RawMessage(tools)}},
		{journal.KindAnswer, journal.Answer{Message: llm.Assistant(call)}},
		{journal.KindOutcome, outcome},
	} {
		if _, err := rec.Write(p.t.Context(), e.kind, e.body); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := rec.Close(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *past) learn() eval.Lesson {
	p.t.Helper()
	lessons, err := eval.Learn(p.t.Context(), p.store, p.runs)
	if err != nil || len(lessons) != 1 {
		p.t.Fatal(lessons, err)
	}
	return lessons[0]
}

// topics are things that people ask for, in several words.
var topics = []string{
	"invoice of a customer", "weather in a town", "train to a city", "recipe with mushrooms", "exchange rate of the krona", "opening hours of the museum",
	"score of the football match", "translation into Finnish", "size of a database table", "next full moon",
}

// services returns 40 tools. The first ones serve the topics, which only their true descriptions say.
func services(described bool) []llm.ToolDef {
	out := make([]llm.ToolDef, 40)
	for i := range out {
		out[i] = llm.ToolDef{Name: fmt.Sprintf("svc_%02d", i), Description: fmt.Sprintf("Calls internal service number %d.", i), Schema: []byte(`{"type":"object"}`)}
		if described && i < len(topics) {
			out[i].Description = "Finds the " + topics[i] + "."
		}
	}
	return out
}

func solvedRuns(t *testing.T, described bool) *past {
	p := &past{t: t, store: new(journal.Memory)}
	defs := services(described)
	forms := []string{"I need the %s, please.", "Can you look up the %s?", "What about the %s today?", "Find the %s for me.", "Show me the %s."}
	for i := range 200 {
		topic := i % len(topics)
		p.run("acme/bot", fmt.Sprintf(forms[i/len(topics)%len(forms)], topics[topic])+fmt.Sprintf(" Case %d.", i), defs, "", true, defs[topic].Name)
	}
	return p
}

// Tools that descriptions do not tell apart are found by the tasks they solved, on runs that were not learned from.
func TestLearnedRankingHelpsOnTheOtherHalf(t *testing.T) {
	l := solvedRuns(t, false).learn()
	t.Log(strings.Join(l.Why, "\n"))
	if len(l.Solved) != len(topics) {
		t.Fatalf("%d tools have tasks", len(l.Solved))
	}
	for i, topic := range topics {
		if got := l.Preferred("Tell me the "+topic, 1); len(got) != 1 || got[0] != fmt.Sprintf("svc_%02d", i) {
			t.Errorf("%s: %v", topic, got)
		}
	}
}

// What does not help on the other half is not adopted.
func TestRankingThatDoesNotHelpIsNotLearned(t *testing.T) {
	if l := solvedRuns(t, true).learn(); !l.Empty() || !strings.Contains(strings.Join(l.Why, "\n"), "not adopted") {
		t.Errorf("%+v", l)
	}
}

// No tool is hidden: preferred tools take a quarter of the room, the selection keeps its size, and each tool that is not
// offered is found by the words of its description.
func TestLessonsHideNoTool(t *testing.T) {
	l := solvedRuns(t, false).learn()
	l.Tools = 8
	defs := services(false)
	for i := range defs {
		defs[i].Description = fmt.Sprintf("Service for %s.", strings.Repeat(string(rune('a'+i%26))+string(rune('k'+i/26)), 3))
	}
	r := tool.NewRanker(defs)
	for _, task := range append(slices.Clone(topics), "", "nothing in particular", strings.Repeat("x ", 5000)) {
		s := l.Offer(task, tool.Selection{Tools: 64})
		if s.Tools != 8 || len(s.Pinned) > 2 {
			t.Fatalf("%d tools, %d preferred", s.Tools, len(s.Pinned))
		}
		kept, left := r.Select(task, s)
		if len(kept) != 8 || len(kept)+len(left) != len(defs) {
			t.Errorf("%q: %d kept, %d left of %d", task, len(kept), len(left), len(defs))
		}
		for i, d := range defs {
			query, _ := json.Marshal(map[string]string{"query": d.Description})
			found := r.Found(query, func(name string) bool {
				return slices.ContainsFunc(kept, func(k int) bool { return defs[k].Name == name })
			})
			if !slices.Contains(kept, i) && !slices.Contains(found, i) {
				t.Errorf("%q: %s is neither offered nor found", task, d.Name)
			}
		}
	}
	few := tool.Selection{Tools: 4, Pinned: []string{"svc_39"}}
	if s := l.Offer("weather", few); s.Tools != 4 || !slices.Contains(s.Pinned, "svc_39") || len(few.Pinned) != 1 {
		t.Errorf("a smaller limit and the pins of the user stay: %+v", s)
	}
}

func TestStyleAndNumberAreLearnedFromClearDifferences(t *testing.T) {
	many := services(true)
	runs := func(rightA, rightB int, few, more []llm.ToolDef) eval.Lesson {
		p := &past{t: t, store: new(journal.Memory)}
		for i := range 160 {
			p.run("acme/bot", "", few, "react", i%20 < rightA, "svc_00")
			p.run("acme/bot", "", more, "json_fence", i%20 < rightB, "svc_00")
		}
		return p.learn()
	}
	if l := runs(19, 10, many, many); l.Style != "react" || l.Tools != 0 {
		t.Errorf("%+v", l)
	}
	if l := runs(15, 15, many, many); !l.Empty() {
		t.Errorf("the same share: %+v", l)
	}
	if l := runs(19, 10, many[:6], many); l.Tools != 8 {
		t.Errorf("%+v", l)
	}
}

func TestLessonsAreKeptAndForgotten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "toolpost", eval.LessonsFile)
	if l, err := eval.ReadLessons(file); err != nil || len(l) != 0 {
		t.Error(l, err)
	}
	if err := (eval.Lessons{"m": {Model: "m", Tools: 8, Why: []string{"because"}}}).Write(file); err != nil {
		t.Fatal(err)
	}
	if l, err := eval.ReadLessons(file); err != nil || l["m"].Tools != 8 {
		t.Error(l, err)
	}
	if err := (eval.Lessons{}).Write(file); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := eval.ReadLessons(file); err == nil || !strings.Contains(err.Error(), "--reset") {
		t.Error(err)
	}
}
