package judge

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

var builtin = lexicon.New(spec.Builtin())

// judged returns the evidence about a text with two bars: the candidate begins at the first and ends at the second.
func judged(text string) (*Evidence, Candidate) {
	before, rest, _ := strings.Cut(text, "¦")
	call, after, _ := strings.Cut(rest, "¦")
	e := NewEvidence(builtin, offered.New([]llm.ToolDef{{Name: "get_weather"}, {Name: "ping"}}), lexicon.RowSet{}, false)
	e.Buf, e.Pos, e.Eof = []byte(before+call+after), len(before)+len(call), true
	e.Started, e.Calls = strings.TrimSpace(before) != "", 1
	return &e, Candidate{From: len(before), Held: true}
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		text    string
		marked  bool
		special bool
		want    Result
	}{
		// Without a marker: a separate block, or the end of the answer.
		{text: "I look it up.\n¦get_weather()¦", want: IsCall},
		{text: "I look it up.\n¦get_weather()¦\nThen I tell you.", want: IsCall},
		{text: "I would call ¦get_weather()¦ now.", want: IsText},
		{text: "For example:\n¦get_weather()¦\nIt shows the weather.", want: IsText},
		{text: "This is the call:\n¦get_weather()¦\nIt shows the weather.", want: IsDoubtful},
		{text: "```diff\n- x\n+¦get_weather()¦\n-ping()", want: IsText},
		{text: "“¦get_weather()¦” is what I would say.", want: IsText},
		// With an ordinary marker: only a surrounding sentence or a heading above it counts.
		{text: "Look.\n¦<tool_call>{}</tool_call>¦", marked: true, want: IsCall},
		{text: "Write ¦<tool_call>{}</tool_call>¦ to call it.", marked: true, want: IsText},
		{text: "# Calls\n¦<tool_call>{}</tool_call>¦\nThis is a call.", marked: true, want: IsDoubtful},
		// After a special token it is a call even in a sentence, but doubtful.
		{text: "Write ¦<|tool_call|>{}¦ to call it.", marked: true, special: true, want: IsDoubtful},
	} {
		e, candidate := judged(c.text)
		candidate.Marked, candidate.Special = c.marked, c.special
		if got := Decide(e, candidate); got.Result != c.want {
			t.Errorf("%q is %d, want %d", c.text, got.Result, c.want)
		}
	}
}

// Prose after a fence makes the fence a document.
func TestDecideInFence(t *testing.T) {
	for text, want := range map[string]Result{
		"```json\n¦{}¦\n```":                  IsCall,
		"```json\n¦{}¦\n```\nThis is a call.": IsText,
	} {
		e, c := judged(text)
		c.Fenced, e.Block = true, CodeFence{Open: true}
		if got := Decide(e, c); got.Result != want {
			t.Errorf("%q is %d, want %d", text, got.Result, want)
		}
	}
}

// A call that was not held can only become doubtful or invalid.
func TestDecideAfterTheCall(t *testing.T) {
	for text, want := range map[string]Result{
		"¦ping()¦":                             IsCall,
		"¦ping()¦\nI call it.":                 IsCall,
		"¦ping()¦ is what I would call.":       IsInvalid,
		"¦ping()¦ and then I tell you.":        IsDoubtful,
		"¦ping()¦\n      Asks whether it runs": IsInvalid,
	} {
		e, c := judged(text)
		c.Held = false
		if got := Decide(e, c); got.Result != want || (got.Problem != "") != (want == IsInvalid) {
			t.Errorf("%q is %d (%s), want %d", text, got.Result, got.Problem, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for text, want := range map[string]bool{
		"":                             false,
		"I call ":                      false,
		"I call `":                     true,
		"I call `a` ":                  false,
		"> ":                           true,
		"<!-- a comment ":              true,
		"<!-- a comment --> ":          false,
		"<pre>\n":                      true,
		"<pre>x</pre>\n":               false,
		"<blockquote><code>a</code>\n": true,
	} {
		e, _ := judged(text + "¦¦ping()")
		if got := e.quoted(); got != want {
			t.Errorf("behind %q: quoted %v, want %v", text, got, want)
		}
	}
}

func TestDescribesTool(t *testing.T) {
	for args, want := range map[string]bool{
		`{"city":"string","days":"integer"}`: true,
		`{"city":"string"}`:                  false,
		`{"city":"Rome","days":"integer"}`:   false,
		`{"city":1,"days":2}`:                false,
	} {
		if got := DescribesTool([]byte(args)); got != want {
			t.Errorf("%s describes a tool: %v, want %v", args, got, want)
		}
	}
}
