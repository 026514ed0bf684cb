// Package shorten measures the short views of results of real tools: how many tokens
// they save, as o200k_base counts, and whether what is needed from them is still there.
package shorten

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/toolpost/toolpost/internal/shorten"
)

// result is what a tool returned, with what it was called for and the facts that must
// not get lost.
type result struct {
	name, kind string // kind: repository, npm, transcript
	task, text string
	written    []string // facts of facts.txt
	taken      []string // values that a later call took
}

// leastTokens is how many tokens a result must have for its saving to count: shorter
// ones have little to save. Facts must survive from leastFacts on; what happens from
// leastShown on is printed.
const (
	leastTokens = 600
	leastFacts  = 300
	leastShown  = 150
)

// shrink is what concise views save on average.
const shrink = 0.70

func TestConciseViews(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	count := func(s string) int {
		n, err := codec.Count(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	results := read(t)
	groups := make(map[string]*group)
	for _, r := range results {
		before := count(r.text)
		if before < leastShown {
			continue
		}
		v := shorten.Result(r.text, shorten.Options{Mode: shorten.Concise, Task: r.task})
		after := count(v.Text)
		for _, kind := range kindsOf(r.kind, before) {
			if groups[kind] == nil {
				groups[kind] = new(group)
			}
			groups[kind].add(r, v.Text, before, after)
		}
		report := t.Errorf
		if before < leastFacts {
			report = t.Logf
		}
		for _, f := range append(missing(v.Text, r.written), missing(v.Text, r.taken)...) {
			if p := shorten.Page(r.text, shorten.Query{Match: f}); p.Matching == 0 {
				t.Errorf("%s: %q cannot be had back", r.name, f)
			}
			report("%s (%d -> %d tokens) has lost %q", r.name, before, after, f)
		}
		if dir := os.Getenv("TOOLPOST_VIEWS"); dir != "" {
			os.WriteFile(filepath.Join(dir, strings.ReplaceAll(r.name, " ", "-")+".txt"), []byte(r.text+"\n=====\n"+v.Text+"\n"), 0o600)
		}
	}
	t.Logf("%-12s %8s %10s %10s %8s %8s %14s %14s", "", "results", "tokens", "concise", "saved", "mean", "facts written", "values taken")
	for _, kind := range []string{"repository", "npm", "transcript", "all", fromFacts, fromShown} {
		if g := groups[kind]; g != nil {
			t.Logf("%-12s %8d %10d %10d %7.1f%% %7.1f%% %8d of %3d %8d of %3d", kind, g.n, g.before, g.after, 100*(1-float64(g.after)/float64(g.before)), 100*g.saved/float64(g.n), g.written-g.lostWritten, g.written, g.taken-g.lostTaken, g.taken)
		}
	}
	all := groups["all"]
	if all.saved/float64(all.n) < shrink {
		t.Errorf("concise views save %.1f%% on average, less than %.0f%%", 100*all.saved/float64(all.n), 100*shrink)
	}
}

// The groups with shorter results.
const fromFacts, fromShown = "from 300", "from 150"

// kindsOf returns the groups that a result of so many tokens counts in.
func kindsOf(kind string, tokens int) []string {
	out := []string{fromShown}
	if tokens >= leastFacts {
		out = append(out, fromFacts)
	}
	if tokens >= leastTokens {
		out = append(out, kind, "all")
	}
	return out
}

type group struct {
	n, before, after                       int
	saved                                  float64
	written, lostWritten, taken, lostTaken int
}

func (g *group) add(r result, view string, before, after int) {
	g.n++
	g.before += before
	g.after += after
	g.saved += 1 - float64(after)/float64(before)
	g.written += len(r.written)
	g.lostWritten += len(missing(view, r.written))
	g.taken += len(r.taken)
	g.lostTaken += len(missing(view, r.taken))
}

func missing(view string, facts []string) []string {
	var out []string
	for _, f := range facts {
		if !strings.Contains(view, f) {
			out = append(out, f)
		}
	}
	return out
}

// read returns the results that are committed here and those of the transcripts, if
// the corpus is there.
func read(t *testing.T) []result {
	t.Helper()
	written := facts(t)
	var out []result
	files, _ := filepath.Glob("testdata/results/*.txt")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		r := result{name: name, kind: "repository", text: string(b), task: written["result "+name].task, written: written["result "+name].facts}
		if strings.HasPrefix(name, "npm-") {
			r.kind = "npm"
		}
		out = append(out, r)
	}
	for _, r := range transcripts(t) {
		r.written = written[r.name].facts
		out = append(out, r)
	}
	return out
}

type noted struct {
	task  string
	facts []string
}

// facts reads facts.txt.
func facts(t *testing.T) map[string]noted {
	t.Helper()
	b, err := os.ReadFile("testdata/facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]noted)
	name := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "result", "transcript":
			name = line
		case "task", "fact":
			n := out[name]
			if kind == "task" {
				n.task = rest
			} else {
				n.facts = append(n.facts, rest)
			}
			out[name] = n
		}
	}
	return out
}

type message struct {
	Role    string
	Content any
	Calls   []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// transcripts returns the results of the transcripts, with the values that later calls
// took from them.
func transcripts(t *testing.T) []result {
	dir := os.Getenv("TOOLPOST_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	b, err := os.ReadFile(filepath.Join(dir, "transcripts", "livemcp_claude-sonnet-4.json"))
	if err != nil {
		t.Log("no transcripts: set TOOLPOST_CORPUS")
		return nil
	}
	var runs []struct {
		Question string
		Messages []message
	}
	if err := json.Unmarshal(b, &runs); err != nil {
		t.Fatal(err)
	}
	var out []result
	for i, run := range runs {
		out = append(out, resultsOf(i, run.Question, run.Messages)...)
	}
	return out
}

// resultsOf returns the results of one run.
func resultsOf(run int, question string, msgs []message) []result {
	var out []result
	var at []int // the places of the results
	var said []string
	args := make(map[string]string)
	for i, m := range msgs {
		text, _ := m.Content.(string)
		if m.Role == "tool" {
			out = append(out, result{name: fmt.Sprintf("transcript %d %d", run, i), kind: "transcript", task: question + "\n" + args[m.CallID], text: content(text)})
			at = append(at, i)
			said = append(said, "")
			continue
		}
		said = append(said, text)
		for _, c := range m.Calls {
			args[c.ID] = c.Function.Arguments
			var v any
			if json.Unmarshal([]byte(c.Function.Arguments), &v) == nil {
				for _, leaf := range leaves(v, nil) {
					take(out, at, said, leaf)
				}
			}
			said[len(said)-1] += "\n" + c.Function.Arguments
		}
	}
	return out
}

// plain are values that may be words of a sentence. They count where they stand for
// themselves: quoted, or as the whole value of a field.
var plain = regexp.MustCompile(`^[a-z]+$`)

// take notes a value of a call in the results that it can come from: those before it
// that have it as a word, if neither the user nor the model said it before the first
// of them.
func take(results []result, at []int, said []string, value string) {
	value = strings.TrimSpace(value)
	if len(value) < 3 || len(value) > 300 {
		return
	}
	word := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(value) + `(\W|$)`)
	if plain.MatchString(value) {
		word = regexp.MustCompile(`(?m)(["'` + "`" + `>|]|: |^\s*- )` + value + `(["'` + "`" + `<|,\\]|\s*$)`)
	}
	first := -1
	for i := range results {
		if !word.MatchString(results[i].text) {
			continue
		}
		if first < 0 {
			first = at[i]
			for _, s := range said[:first] {
				if strings.Contains(s, value) {
					return
				}
			}
		}
		if !slices.Contains(results[i].taken, value) {
			results[i].taken = append(results[i].taken, value)
		}
	}
}

// leaves returns the texts and numbers of a value.
func leaves(v any, out []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range v {
			out = leaves(k, out)
		}
	case []any:
		for _, k := range v {
			out = leaves(k, out)
		}
	case string:
		out = append(out, v)
	case float64:
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return out
}

// content returns what a tool of a transcript said. The transcripts have it as Python
// prints it, and cut after 10,000 characters.
func content(s string) string {
	const before = "meta=None content=[TextContent(type='text', text="
	rest, ok := strings.CutPrefix(s, before)
	if !ok || rest == "" {
		return s
	}
	quote := rest[0]
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		c := rest[i]
		if c == quote {
			break
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		if i++; i >= len(rest) {
			break
		}
		size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[i]]
		switch {
		case rest[i] == 'n':
			b.WriteByte('\n')
		case rest[i] == 't':
			b.WriteByte('\t')
		case rest[i] == 'r':
			b.WriteByte('\r')
		case size > 0 && i+size < len(rest):
			n, _ := strconv.ParseUint(rest[i+1:i+1+size], 16, 32)
			b.WriteRune(rune(n))
			i += size
		default:
			b.WriteByte(rest[i])
		}
	}
	return b.String()
}
