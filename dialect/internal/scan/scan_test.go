package scan

import (
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
)

var builtin = lexicon.New(spec.Builtin())

// arriving returns an input whose text arrives byte by byte, and the number of waits so far.
func arriving(text string) (*Input, *int) {
	in, waits := &Input{Lex: builtin}, new(int)
	in.LetGo = func() {}
	in.Wait = func(struct{}) bool {
		if *waits++; len(in.Buf) < len(text) {
			in.Buf = append(in.Buf, text[len(in.Buf)])
		} else {
			in.Eof = true
		}
		return true
	}
	return in, waits
}

// Match finds a marker in any spelling and waits only while the text may be a marker.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		text, marker string
		n, waits     int
	}{
		{"<tool_call>{", "<tool_call>", 11, 12},
		{"<tool_call >x", "<tool_call>", 12, 13},
		{"<｜tool▁calls▁begin｜>", "<|tool_calls_begin|>", 28, 28},
		{"plain text", "", 0, 2},
		{"<b>bold</b>", "", 0, 3},
	} {
		in, waits := arriving(c.text)
		t1, n := in.Match(0)
		text := ""
		if t1 != nil {
			text = t1.Text
		}
		if text != c.marker || n != c.n {
			t.Errorf("Match in %q: %q of %d bytes, want %q of %d", c.text, text, n, c.marker, c.n)
		}
		if *waits > c.waits+1 {
			t.Errorf("Match in %q waits for %d bytes, want at most %d", c.text, *waits, c.waits+1)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"get_weather(": "get_weather", `get\_weather(`: `get\_weather`, "": "", "(a": "", "größe x": "größe", "名前(": "名前",
	} {
		in, _ := arriving(text)
		if n := in.Word(0, ""); string(in.Buf[:n]) != want {
			t.Errorf("Word in %q is %q, want %q", text, in.Buf[:n], want)
		}
	}
	in, _ := arriving(`"city" : "Rome"`)
	if key, at := in.KeyAt(0); key != "city" || at != 9 {
		t.Errorf("KeyAt: %q and %d, want city and 9", key, at)
	}
	in, _ = arriving(`get\_weather(`)
	if name, at := in.EscapedWord(0); name != "get_weather" && name != `get\_weather` || at != 12 {
		t.Errorf("EscapedWord: %q and %d", name, at)
	}
}

// After the end, every request reports that there is no input.
func TestEnd(t *testing.T) {
	in, _ := arriving("a")
	if !in.At(0) || in.At(1) || in.Peek(1) != 0 || in.Peek(0) != 'a' || !in.Starved {
		t.Errorf("the input ends wrongly: %+v", in)
	}
}
