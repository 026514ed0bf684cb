package dialect_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// baseline is what the decoder of bfcl-eval makes of the same answers; the
// script next to it made it.
//
//go:embed testdata/bfcl/baseline.json
var baseline []byte

type bfclQuestion struct {
	ID       string
	Function []struct {
		Name       string
		Parameters json.RawMessage
	}
	Truth []map[string]map[string]any `json:"ground_truth"`
}

// Real answers to questions of the Berkeley leaderboard: in no file does the
// reader find fewer right calls than the leaderboard's own decoder.
func TestBFCL(t *testing.T) {
	var figures map[string]struct{ Rows, Decoded, Right int }
	if err := json.Unmarshal(baseline, &figures); err != nil {
		t.Fatal(err)
	}
	gold := make(map[string]bfclQuestion)
	for _, q := range readLines[bfclQuestion](t, "bfcl/v4/possible_answer/BFCL_v4_simple_python.json") {
		gold[q.ID] = q
	}
	tools := make(map[string][]llm.ToolDef)
	for _, q := range readLines[bfclQuestion](t, "bfcl/v4/BFCL_v4_simple_python.json") {
		for _, f := range q.Function {
			tools[q.ID] = append(tools[q.ID], llm.ToolDef{Name: f.Name, Schema: f.Parameters})
		}
	}
	var out strings.Builder
	ours, theirs := 0, 0
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		right, read, rows := 0, 0, 0
		for _, row := range readLines[struct{ ID, Raw string }](t, "bfcl/outputs/"+name) {
			rows++
			got := parse(t, dialect.Parser{}, dialect.Whole(row.Raw))
			if len(got.Calls) > 0 {
				read++
			}
			if ok := len(got.Calls) == 1 && rightCall(gold[row.ID].Truth[0], got.Calls[0]); ok {
				right++
			} else if len(got.Calls) == 0 {
				fmt.Fprintf(&out, "%s %s %q %v\n", name, row.ID, row.Raw, got.Invalid)
			}
		}
		f := figures[name]
		ours, theirs = ours+right, theirs+f.Right
		t.Logf("%-75s %d of %d right, decoder %d; read %d, decoder %d", name, right, rows, f.Right, read, f.Decoded)
		if right < f.Right {
			t.Errorf("%s: %d right, the decoder %d", name, right, f.Right)
		}
	}
	if t.Logf("all: %d right, the decoder %d", ours, theirs); ours < 7685 {
		t.Errorf("%d right, earlier 7685", ours)
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		bfclLosses(t, name, figures[name].Right, gold, tools)
	}
	if *showRows != "" {
		os.WriteFile(*showRows+".bfcl", []byte(out.String()), 0o644)
	}
}

// bfclLosses says of the answers in a file, with their tools and without, how
// many were read right, lost with a word about it, and lost in silence:
//
//	go test ./dialect -run BFCL -v
//
// An answer without the name of its tool, or without anything that may be
// arguments, is counted apart.
func bfclLosses(t *testing.T, name string, decoder int, gold map[string]bfclQuestion, tools map[string][]llm.ToolDef) {
	for _, given := range []bool{true, false} {
		right, warned, word, silence, without := 0, 0, 0, 0, 0
		for _, row := range readLines[struct{ ID, Raw string }](t, "bfcl/outputs/"+name) {
			p := dialect.Parser{}
			if given {
				p.Tools = tools[row.ID]
			}
			got := parse(t, p, dialect.Whole(row.Raw))
			switch {
			case len(got.Calls) == 1 && rightCall(gold[row.ID].Truth[0], got.Calls[0]):
				right++
				warned += min(len(got.Warnings), 1)
			case !silent(got):
				word++
			case !strings.Contains(row.Raw, tools[row.ID][0].Name) || !strings.ContainsAny(row.Raw, "={"):
				without++
			default:
				silence++
				t.Logf("%s %s: not a word about %.200q", name, row.ID, row.Raw)
			}
		}
		t.Logf("%-75s tools %-5v right %3d, %d of them with a warning, lost with a word %3d, lost in silence %d, nothing like a call %d", name, given, right, warned, word, silence, without)
		if right < decoder || silence > 0 || warned*100 > right {
			t.Errorf("%s, tools %v: %d right, the decoder %d; %d lost in silence; %d right with a warning", name, given, right, decoder, silence, warned)
		}
	}
}

// rightCall is the rule of the leaderboard: the name is equal, what is
// required is there, and every argument is in the list of allowed values.
func rightCall(gold map[string]map[string]any, call wantCall) bool {
	args, ok := call.Arguments.(map[string]any)
	want, known := gold[call.Name]
	return ok && known && rightArguments(want, args)
}

func rightArguments(gold, got map[string]any) bool {
	for k, v := range got {
		allowed, ok := gold[k].([]any)
		if !ok || !slices.ContainsFunc(allowed, func(a any) bool { return equalValue(a, v) }) {
			return false
		}
	}
	for k, v := range gold {
		allowed, ok := v.([]any)
		if _, there := got[k]; ok && !there && !slices.Contains(allowed, any("")) {
			return false
		}
	}
	return true
}

func equalValue(gold, got any) bool {
	switch gold := plain(gold).(type) {
	case string:
		s, ok := got.(string)
		return ok && foldText(gold) == foldText(s)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(gold) {
			return false
		}
		for i := range gold {
			if !equalValue(gold[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		m, ok := got.(map[string]any)
		return ok && rightArguments(gold, m)
	default:
		return gold == plain(got)
	}
}

// foldText drops what the leaderboard does not compare.
func foldText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(" ,./-_*^", r):
			return -1
		case r == '\'':
			return '"'
		}
		return r
	}, strings.ToLower(s))
}

// A doubtful call costs a question. In real answers fewer than 2 in 100 have one.
func TestQuestionsAboutDoubtfulCallsAreRare(t *testing.T) {
	var figures map[string]struct{ Rows, Decoded, Right int }
	if err := json.Unmarshal(baseline, &figures); err != nil {
		t.Fatal(err)
	}
	answers, doubtful, unmeant := 0, 0, 0
	for name := range figures {
		for _, row := range readLines[struct{ ID, Raw string }](t, "bfcl/outputs/"+name) {
			answers++
			for ev, err := range (&dialect.Parser{}).Parse(dialect.Whole(row.Raw)) {
				if err != nil {
					t.Fatal(err)
				}
				if c, ok := ev.(llm.Call); ok {
					if _, doubts := c.Provenance.Doubt(); doubts {
						doubtful++
						break
					}
				} else if bad, ok := ev.(llm.InvalidCall); ok && bad.Reason == llm.Unconfirmed {
					unmeant++
					break
				}
			}
		}
	}
	if t.Logf("%d answers, %d with a doubtful call, %d with an unconfirmed one", answers, doubtful, unmeant); 50*(doubtful+unmeant) >= answers {
		t.Error("more than 2 % of the answers cost a question")
	}
}
