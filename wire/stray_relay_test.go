package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// built is what a stream says: its parts, without the state that only the vendor reads.
func built(t *testing.T, c wire.Codec, stream []byte) string {
	t.Helper()
	var b llm.Builder
	for ev, err := range c.DecodeStream(bytes.NewReader(stream)) {
		if err != nil {
			t.Fatalf("%v: %s", err, stream)
		}
		b.Add(ev)
	}
	var out strings.Builder
	for _, p := range b.Response().Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(&out, "text %q\n", p.Text)
		case llm.Thinking:
			fmt.Fprintf(&out, "thinking %q\n", p.Text)
		case llm.Call:
			fmt.Fprintf(&out, "call %s %s\n", p.Name, p.Args)
		}
	}
	return out.String()
}

// A relay of a stream with members that nobody knows can become a translation at any event: the client has every text and
// every call once, and the stream is well formed.
func TestRelaysWithStraysBecomeTranslations(t *testing.T) {
	checked := map[string]int{}
	for _, s := range goldenStreams(t) {
		stream := framed(t, s.codec.Format, marked(s.lines))
		if failed(s.codec, stream) {
			continue
		}
		plain := framed(t, s.codec.Format, s.lines)
		if again, _ := rewritten(t, s.codec.Format, string(s.lines)); built(t, s.codec, again) != built(t, s.codec, plain) {
			continue // calls that are shown as text, and thinking that chat tells in two ways
		}
		checked[s.codec.Format]++
		want := built(t, s.codec, stream)
		for at, more := 0, true; more; at++ {
			var out bytes.Buffer
			n := 0
			err := s.codec.Relay(&out, bytes.NewReader(stream), func(ev llm.Event) wire.RelayDecision {
				if n++; n <= at {
					return wire.Pass
				}
				return wire.Replace(ev)
			})
			if more = n > at; err != nil {
				t.Fatalf("%s, event %d: %v", s.name, at, err)
			}
			if got := built(t, s.codec, out.Bytes()); got != want {
				t.Errorf("%s, event %d:\n%s\nwant\n%s\nin %s", s.name, at, got, want, out.Bytes())
				break
			}
		}
	}
	for _, format := range wire.Formats() {
		if checked[format] == 0 {
			t.Errorf("no stream of %s is looked at", format)
		}
	}
}

// marked adds a member to the beginning of every object of lines.
func marked(lines []byte) []byte {
	var out bytes.Buffer
	quoted := false
	for i, c := range lines {
		if c == '"' && (i == 0 || lines[i-1] != '\\') {
			quoted = !quoted
		}
		out.WriteByte(c)
		if c != '{' || quoted {
			continue
		}
		out.WriteString(`"zq":1`)
		if lines[i+1] != '}' {
			out.WriteByte(',')
		}
	}
	return out.Bytes()
}
