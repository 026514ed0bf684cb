package dialect_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// randomCuts yields text in pieces of random length.
func randomCuts(text string, r *rand.Rand) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		for text != "" {
			n := 1 + r.IntN(min(len(text), 12))
			if !yield(text[:n], nil) {
				return
			}
			text = text[n:]
		}
	}
}

// A text of the corpus means the same however it is cut.
func TestCorpusCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, row := range readLines[row](t, "dialects/public.jsonl") {
		p := row.parser()
		whole := parse(t, p, dialect.Whole(row.Raw))
		for _, chunks := range []func(func(string, error) bool){dialect.Cut(row.Raw, 1), randomCuts(row.Raw, r), randomCuts(row.Raw, r)} {
			if cut := parse(t, p, chunks); !reflect.DeepEqual(cut, whole) {
				t.Errorf("%s %q\ncut   %+v\nwhole %+v", row.Dialect, row.Raw, cut, whole)
				break
			}
		}
	}
}

// An answer cut off at any byte gives no call that the whole does not give,
// and a call that was begun shows that it was cut.
func TestTruncation(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, s := range readLines[sample](t, "dialect_samples.jsonl") {
		p := dialect.Parser{ThinkingOpen: dialect.Builtin().BeginsInThinking(s.Raw), Finish: func() llm.Reason { return llm.Length }}
		for i := range s.Raw {
			attacks++
			got := parse(t, p, dialect.Whole(s.Raw[:i]))
			if len(got.Calls) > len(s.Calls) || !sameCalls(got.Calls, s.Calls[:len(got.Calls)]) {
				t.Errorf("%s cut off at %d: %q\ngot %v", s.Dialect, i, s.Raw[:i], got.Calls)
				break
			}
			for _, bad := range got.Invalid {
				if !strings.HasPrefix(bad, string(llm.CutOff)) {
					t.Errorf("%s cut off at %d: %q\n%s", s.Dialect, i, s.Raw[:i], bad)
				}
			}
		}
	}
}

// uncertain are the dialects whose markers are words, which may be text as long
// as nothing follows them.
var uncertain = map[string]bool{"inkling": true, "hyperclova": true, "gigachat3": true}

// What was begun after a marker and cut off is an invalid call, not text. Short
// beginnings of a marker are excepted: any text may end in them.
func TestTruncationLeavesNoMarkup(t *testing.T) {
	clean, all := 0, 0
	for _, s := range readLines[sample](t, "dialect_samples.jsonl") {
		d, _ := dialect.Builtin().Lookup(s.Dialect)
		if d.Bare && s.Dialect != "hermes_json" || uncertain[s.Dialect] {
			continue
		}
		for _, tools := range [][]llm.ToolDef{nil, offered} {
			p := dialect.Parser{Tools: tools, ThinkingOpen: dialect.Builtin().BeginsInThinking(s.Raw), Finish: func() llm.Reason { return llm.Length }}
			whole := strings.TrimSpace(parse(t, p, dialect.Whole(s.Raw)).Text)
			for i := range s.Raw {
				got := parse(t, p, dialect.Whole(s.Raw[:i]))
				leak := strings.TrimSpace(got.Text)
				for n := min(len(leak), len(whole)); ; n-- {
					if strings.HasPrefix(whole, leak[:n]) {
						leak = leak[n:]
						break
					}
				}
				all++
				if len(leak) > len("]<]minimax[>") {
					t.Errorf("%s cut off at %d: %q\ntext %q invalid %v", s.Dialect, i, s.Raw[:i], got.Text, got.Invalid)
				} else if leak == "" {
					clean++
				}
			}
		}
	}
	t.Logf("%d of %d cut answers leave no markup in the text", clean, all)
}

// A hint never changes what a text calls.
func TestCrossTalk(t *testing.T) {
	samples := readLines[sample](t, "dialect_samples.jsonl")
	for _, s := range samples {
		for _, d := range dialect.Builtin().All() {
			p := dialect.Parser{Dialect: d.Name, ThinkingOpen: dialect.Builtin().BeginsInThinking(s.Raw)}
			got := parse(t, p, dialect.Whole(s.Raw))
			if !sameCalls(got.Calls, s.Calls) {
				t.Errorf("%s read as %s: %v, want %v", s.Dialect, d.Name, got.Calls, s.Calls)
			}
		}
	}
}

// Every byte of an answer is accounted for, in order, and those that are text
// or thinking are passed on unchanged.
func TestNothingIsLost(t *testing.T) {
	check := func(name, raw string, p dialect.Parser) {
		var spans []dialect.Span
		p.Trace = func(s dialect.Span) { spans = append(spans, s) }
		got := parse(t, p, dialect.Whole(raw))
		var text, thinking strings.Builder
		at := 0
		for _, s := range spans {
			if s.Start != at || s.End < s.Start {
				t.Fatalf("%s %q: span %+v after byte %d", name, raw, s, at)
			}
			at = s.End
			switch s.Kind {
			case dialect.TextSpan:
				if s.Rule != "escape" {
					text.WriteString(raw[s.Start:s.End])
				}
			case dialect.ThinkingSpan:
				thinking.WriteString(raw[s.Start:s.End])
			}
		}
		if at != len(raw) {
			t.Errorf("%s %q: spans end at %d of %d", name, raw, at, len(raw))
		}
		if text.String() != got.Text && !strings.Contains(raw, `"type"`) || thinking.String() != got.Thinking {
			t.Errorf("%s %q: spans say %q and %q, events %q and %q", name, raw, text.String(), thinking.String(), got.Text, got.Thinking)
		}
	}
	for _, s := range readLines[sample](t, "dialect_samples.jsonl") {
		for i := range s.Raw {
			check(s.Dialect, s.Raw[:i], dialect.Parser{})
		}
	}
	for _, r := range readLines[row](t, "dialects/public.jsonl") {
		check(r.Dialect, r.Raw, r.parser())
	}
}

// mutation changes the shape of a sample, not its meaning.
type mutation struct {
	name   string
	change func(sample) (raw string, ok bool)
}

var mutations = []mutation{
	{"carriage returns", func(s sample) (string, bool) {
		return strings.ReplaceAll(s.Raw, "\n", "\r\n"), strings.Contains(s.Raw, "\n")
	}},
	{"prose before", func(s sample) (string, bool) { return "I will look that up for you.\n" + s.Raw, true }},
	{"prose after", func(s sample) (string, bool) { return s.Raw + "\nThat is all for now.", true }},
	{"closed thinking before", func(s sample) (string, bool) {
		return "<think>Which tool is best?</think>\n" + s.Raw, !dialect.Builtin().BeginsInThinking(s.Raw)
	}},
	{"ASCII bars", func(s sample) (string, bool) {
		return strings.NewReplacer("｜", "|", "▁", "_").Replace(s.Raw), strings.Contains(s.Raw, "｜")
	}},
	{"full-width bars", func(s sample) (string, bool) {
		return strings.NewReplacer("<|", "<｜", "|>", "｜>").Replace(s.Raw), strings.Contains(s.Raw, "<|")
	}},
	{"wrapper dropped", func(s sample) (string, bool) {
		d, _ := dialect.Builtin().Lookup(s.Dialect)
		return without(s.Raw, d.Wrap)
	}},
	{"closer dropped", func(s sample) (string, bool) {
		d, _ := dialect.Builtin().Lookup(s.Dialect)
		for _, p := range append(d.Wrap, d.Call...) {
			if p.Close != "" && strings.HasSuffix(strings.TrimSpace(s.Raw), p.Close) {
				return strings.TrimSuffix(strings.TrimSpace(s.Raw), p.Close), true
			}
		}
		return "", false
	}},
	{"wrong sibling", func(s sample) (string, bool) {
		d, _ := dialect.Builtin().Lookup(s.Dialect)
		for _, p := range append(d.Wrap, d.Call...) {
			if p.Close == "" || !strings.Contains(s.Raw, p.Close) {
				continue
			}
			sibling := spec.Pair{Open: "<tool_calls>", Close: "</tool_calls>"}
			if p.Open == sibling.Open {
				sibling = spec.Pair{Open: "<tool_call>", Close: "</tool_call>"}
			}
			return strings.NewReplacer(p.Open, sibling.Open, p.Close, sibling.Close).Replace(s.Raw), true
		}
		return "", false
	}},
	{"opener doubled", func(s sample) (string, bool) {
		d, _ := dialect.Builtin().Lookup(s.Dialect)
		for _, p := range append(d.Wrap, d.Call...) {
			if p.Open != "" && strings.Contains(s.Raw, p.Open) {
				return strings.Replace(s.Raw, p.Open, p.Open+p.Open, 1), true
			}
		}
		return "", false
	}},
	{"markup in a value", func(s sample) (string, bool) {
		const quoted = "the <tool_call> and </parameter> tags"
		return strings.Replace(s.Raw, "Europe/Paris", quoted, 1), strings.Contains(s.Raw, "Europe/Paris")
	}},
	{"special tokens stripped", func(s sample) (string, bool) {
		raw := stripSpecial(s.Raw)
		return raw, raw != s.Raw
	}},
	{"doubled", func(s sample) (string, bool) {
		return s.Raw + "\n" + s.Raw, s.Kind == "single" && !dialect.Builtin().BeginsInThinking(s.Raw)
	}},
}

// without removes the first pair of markers that is there.
func without(raw string, pairs []spec.Pair) (string, bool) {
	for _, p := range pairs {
		if p.Open != "" && strings.Contains(raw, p.Open) {
			return strings.NewReplacer(p.Open, "", p.Close, "").Replace(raw), true
		}
	}
	return raw, false
}

// stripSpecial removes <|…|> and [WORDS], as hosts do that skip special
// tokens.
func stripSpecial(raw string) string {
	for _, pair := range [][2]string{{"<|", "|>"}, {"<｜", "｜>"}} {
		for {
			i := strings.Index(raw, pair[0])
			if i < 0 {
				break
			}
			j := strings.Index(raw[i:], pair[1])
			if j < 0 || j > 40 {
				break
			}
			raw = raw[:i] + raw[i+j+len(pair[1]):]
		}
	}
	return strings.NewReplacer("[TOOL_CALLS]", "", "[ARGS]", "").Replace(raw)
}

// want is what a mutated sample must give.
func (m mutation) want(s sample) []wantCall {
	switch m.name {
	case "doubled":
		return append(append([]wantCall{}, s.Calls...), s.Calls...)
	case "markup in a value":
		return replaceIn(s.Calls, "Europe/Paris", "the <tool_call> and </parameter> tags")
	}
	return s.Calls
}

func replaceIn(calls []wantCall, old, new string) []wantCall {
	var out []wantCall
	for _, c := range calls {
		args := make(map[string]any)
		for k, v := range c.Arguments.(map[string]any) {
			if v == old {
				v = new
			}
			args[k] = v
		}
		out = append(out, wantCall{c.Name, args})
	}
	return out
}

var offered = []llm.ToolDef{
	{Name: "get_weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`)},
	{Name: "get_time", Schema: []byte(`{"type":"object","properties":{"tz":{"type":"string"}}}`)},
	{Name: "brave_search", Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"}}}`)},
	{Name: "create_order"}, {Name: "configure"},
}

// Samples in a slightly wrong shape still give their calls, and never others.
func TestMutations(t *testing.T) {
	samples := readLines[sample](t, "dialect_samples.jsonl")
	var all score
	wrong := 0
	for _, m := range mutations {
		var one score
		for _, s := range samples {
			raw, ok := m.change(s)
			if !ok {
				continue
			}
			p := dialect.Parser{Tools: offered, ThinkingOpen: dialect.Builtin().BeginsInThinking(raw)}
			got, want := parse(t, p, dialect.Whole(raw)), m.want(s)
			right := sameCalls(got.Calls, want)
			one.add(s.Dialect, right)
			all.add(m.name, right)
			if !right {
				verdict := "missing"
				if !subset(got.Calls, want) {
					wrong++
					verdict = "WRONG"
				}
				t.Logf("%s: %s, %s: %q\n got %v %v\nwant %v", verdict, m.name, s.Dialect, raw, got.Calls, got.Invalid, want)
			}
		}
		t.Logf("%-24s %v", m.name, &one)
	}
	t.Logf("all: %v; %d wrong", &all, wrong)
	if wrong > 0 || float64(all.right) < 0.95*float64(all.all) {
		t.Errorf("%d wrong, %d of %d right", wrong, all.right, all.all)
	}
}

// subset reports whether every call of a is one of b.
func subset(a, b []wantCall) bool {
	for _, c := range a {
		found := false
		for _, d := range b {
			found = found || sameCalls([]wantCall{c}, []wantCall{d})
		}
		if !found {
			return false
		}
	}
	return true
}

var _ = fmt.Sprint
