package dialect_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
)

// Wherever a text is broken, all of it before the break is decided then, nothing of it is lost, and reading continues after it:
// what became of each byte is told in order and without gaps. The short run breaks each text at every seventh byte;
// TOOLPOST_LONG breaks it at all.
func TestBreakDecides(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			in := archive.Files[i]
			if text := strings.TrimSuffix(string(in.Data), "\n"); len(text) < 200 {
				breaks(t, file+" "+in.Name, caseParser(in.Name), text)
			}
		}
	}
}

// breaks breaks a text at each of its bytes.
func breaks(t *testing.T, name string, p dialect.Parser, text string) {
	t.Helper()
	step := 7
	if testkit.IsLong() {
		step = 1
	}
	for at := len(name) % step; at <= len(text); at += step {
		end := 0
		p.Trace = func(s dialect.Span) {
			if s.Start != end || s.End < s.Start {
				t.Errorf("%s, broken at %d: the bytes from %d are told behind %d", name, at, s.Start, end)
			}
			end = s.End
		}
		var open, done []string
		f := p.Open(func(ev llm.Event, err error) bool {
			if err != nil {
				t.Errorf("%s, broken at %d: %v", name, at, err)
			}
			switch ev := ev.(type) {
			case llm.CallStart:
				open = append(open, ev.ID)
			case llm.Call:
				done = append(done, ev.ID)
			case llm.InvalidCall:
				done = append(done, ev.ID)
			}
			return true
		})
		if !f.Add(text[:at]) || !f.Break() || end != at {
			t.Errorf("%s, broken at %d: %d bytes are told", name, at, end)
		}
		if slices.ContainsFunc(open, func(id string) bool { return !slices.Contains(done, id) }) {
			t.Errorf("%s, broken at %d: a call is open: %q begun, %q ended", name, at, open, done)
		}
		if !f.Break() || !f.Add(text[at:]) {
			t.Errorf("%s, broken at %d: no more is wanted", name, at)
		}
		if f.End(nil); end != len(text) {
			t.Errorf("%s, broken at %d: %d of %d bytes are told", name, at, end, len(text))
		}
		if slices.Sort(done); len(slices.Compact(done)) != len(done) {
			t.Errorf("%s, broken at %d: two calls have one id: %q", name, at, done)
		}
		f.Stop()
	}
}

// A call that is whole at a break is one, also if its closing marker is missing. One that has begun is cut off, and less is text.
func TestBreakOfCalls(t *testing.T) {
	for _, c := range []struct{ text, means string }{
		{`Look. <tool_call>{"name":"ping","arguments":{}}</tool_call>`, "text Look. \ncall ping {}\n"},
		{`<tool_call>{"name":"ping","arguments":{}}`, "call ping {}\n"},
		{`<tool_call>{"name":"make_note","arguments":{"text":"a`, `invalid make_note "<tool_call>{\"name\":\"make_note\",\"arguments\":{\"text\":\"a"` + "\n"},
		{"I use <tool_call>", "text I use <tool_call>\n"},
		{"ping(", `invalid ping "ping("` + "\n"},
		{"Now I run `ls`", "text Now I run `ls`\n"},
		{"a <|im_", "text a <|im_\n"},
	} {
		var got strings.Builder
		text := ""
		flush := func() {
			if text != "" {
				got.WriteString("text " + text + "\n")
				text = ""
			}
		}
		p := dialect.Parser{Tools: caseTools}
		f := p.Open(func(ev llm.Event, _ error) bool {
			switch ev := ev.(type) {
			case llm.TextDelta:
				text += ev.Text
			case llm.Call:
				flush()
				got.WriteString("call " + ev.Name + " " + string(ev.Args) + "\n")
			case llm.InvalidCall:
				flush()
				got.WriteString("invalid " + ev.Name + " " + strconv.Quote(ev.Raw) + "\n")
			}
			return true
		})
		for i := range len(c.text) {
			f.Add(c.text[i : i+1])
		}
		f.Break()
		if flush(); got.String() != c.means {
			t.Errorf("%q means\n%s\nwant\n%s", c.text, got.String(), c.means)
		}
		f.Stop()
	}
}
