package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

var builtin = lexicon.New(spec.Builtin())

// bang is the smallest set of readers: a name follows the marker <tool_call>, and an exclamation mark ends the call.
type bang struct {
	Feed
	refuse bool // every guess fails at its end
}

func (b *bang) Opening() bool                    { b.Started = true; return false }
func (b *bang) Thought(*lexicon.Token, int) bool { return false }
func (b *bang) Plausible(byte) bool              { return false }
func (b *bang) LastBlock()                       {}
func (b *bang) Unread()                          {}
func (b *bang) CutShort(Failure) bool            { return false }

func (b *bang) Special() bool {
	t, n := b.Match(0)
	if !t.Is(lexicon.Opens) || t.Text != "<tool_call>" {
		return false
	}
	start := b.Offset()
	return b.Guess(func() bool {
		b.Marked = true
		b.Skip(n, t.Text)
		i := b.Word(0, "")
		if i == 0 || b.Peek(i) != '!' || b.refuse {
			return false
		}
		if !b.StartCall(string(b.Buf[b.Pos:b.Pos+i]), "", start) {
			return false
		}
		b.Read(NameSpan, i+1, "name")
		b.EndCall()
		return true
	})
}

// read returns the events for a text in chunks of n bytes. It joins adjacent text events.
func read(b *bang, text string, n int) string {
	var out strings.Builder
	yield := func(ev llm.Event, err error) bool {
		switch ev := ev.(type) {
		case llm.TextDelta:
			out.WriteString(ev.Text)
		case llm.Call:
			fmt.Fprintf(&out, "[call %s %s]", ev.Name, ev.Args)
		case llm.InvalidCall:
			fmt.Fprintf(&out, "[invalid %s %s]", ev.Name, ev.Reason)
		}
		return err == nil
	}
	b.Start(builtin, &Options{Tools: []llm.ToolDef{{Name: "ping"}}}, b, yield)
	defer b.Stop()
	for i := 0; i < len(text); i += n {
		b.Add(text[i:min(i+n, len(text))])
	}
	b.End(nil)
	return out.String()
}

// The events do not depend on how the answer is cut into chunks: text is passed on, calls become events, and a failed
// guess is text.
func TestCore(t *testing.T) {
	for _, c := range []struct {
		text, want string
		refuse     bool
	}{
		{text: "Nothing but text, 3 < 4.", want: "Nothing but text, 3 < 4."},
		{text: "Look: <tool_call>ping!", want: "Look: [call ping {}]"},
		{text: "<tool_call>ping! then <tool_call>ping!", want: "[call ping {}] then [call ping {}]"},
		{text: "<tool_call>pong!", want: "[invalid pong unknown_tool]"},
		{text: "a <tool_call>ping? b", want: "a <tool_call>ping? b"},
		{text: "a <tool_call>ping! b", want: "a <tool_call>ping! b", refuse: true},
	} {
		for n := 1; n <= len(c.text); n++ {
			if got := read(&bang{refuse: c.refuse}, c.text, n); got != c.want {
				t.Errorf("%q in chunks of %d: %q, want %q", c.text, n, got, c.want)
				break
			}
		}
	}
}

// A break decides everything that is held, and reading continues after it.
func TestBreak(t *testing.T) {
	var b bang
	text := ""
	b.Start(builtin, &Options{}, &b, func(ev llm.Event, _ error) bool {
		if d, ok := ev.(llm.TextDelta); ok {
			text += d.Text
		}
		return true
	})
	defer b.Stop()
	if b.Add("a <tool_"); text != "a " {
		t.Errorf("before the break %q has left", text)
	}
	if b.Break(); text != "a <tool_" {
		t.Errorf("at the break %q has left", text)
	}
	b.Add("call> b")
	if b.End(nil); text != "a <tool_call> b" {
		t.Errorf("in the end %q has left", text)
	}
}

// A failed guess changes no state that a later reader uses.
func TestGuess(t *testing.T) {
	var b bang
	b.Start(builtin, &Options{}, &b, func(llm.Event, error) bool { return true })
	defer b.Stop()
	b.Buf, b.Eof = []byte("abc"), true
	before := b.Situation
	if b.Guess(func() bool {
		b.Pos, b.Marked, b.Depth, b.Calls = 2, true, 3, 4
		return false
	}) {
		t.Error("the guess holds")
	}
	if b.Pos != 0 || b.Marked != before.Marked || b.Depth != before.Depth || b.Calls != before.Calls || len(b.Tries) != 0 {
		t.Errorf("behind the guess: at %d, %+v", b.Pos, b.Situation)
	}
}
