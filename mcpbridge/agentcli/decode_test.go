package agentcli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
)

// decode reads a stream of a format and writes each event in a line. Errors are a line,
// too.
func decode(f *format, r io.Reader) []string {
	d := f.decoder(&bridge.Bridge{Others: []llm.ToolDef{{Name: "weather"}}})
	lines := make(chan rawLine)
	go readLines(context.Background(), r, lines)
	var out []string
	say := func(events []llm.Event) {
		for _, ev := range events {
			b, err := json.Marshal(ev)
			out = append(out, fmt.Sprintf("%s %s %v", ev.EventType(), b, err))
		}
	}
	for l := range lines {
		if isBlank(l.text) {
			continue
		}
		events, err := d.line(l.text)
		if err != nil && !l.part {
			out = append(out, "error")
			for range lines {
			}
			return out
		}
		say(events)
	}
	say(d.cut())
	return out
}

// streams are what the programs wrote when they were asked for the weather, with a
// simulator as their model.
func streams(t testing.TB) map[string]*format {
	out := make(map[string]*format)
	for file, name := range map[string]string{"testdata/claude.jsonl": "claude", "testdata/claude-one-turn.jsonl": "claude", "testdata/codex.jsonl": "codex"} {
		f, ok := formatNamed(name)
		if !ok {
			t.Fatal(name)
		}
		out[file] = f
	}
	return out
}

// What real programs wrote is read.
func TestStreamsOfRealPrograms(t *testing.T) {
	want := map[string][]string{
		"testdata/claude.jsonl":          {`start `, `inventory {"Tools":["mcp__toolpost__weather"],"Servers":{"toolpost":"connected"}}`, `call_start {"id":"call_1","name":"mcp__toolpost__weather"}`, `hosted_result`, `sunny in Rome`, `ending {"Failed":false,"Subtype":"success","Stop":"end_turn","Text":"It is sunny."`},
		"testdata/claude-one-turn.jsonl": {`call_start {"id":"call_1","name":"mcp__toolpost__weather"}`, `ending {"Failed":true,"Subtype":"error_max_turns","Stop":"tool_use"`},
		"testdata/codex.jsonl":           {`start `, `warning `, `call_start {"id":"codex_8d31ce8a_item_3","name":"mcp__toolpost__weather"}`, `hosted_result`, `sunny in Rome`, `ending {"Failed":false,"Subtype":"success"`, `"Usage":{"input":10714,"output":44}`},
	}
	for file, f := range streams(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events := decode(f, bytes.NewReader(text))
		all := strings.Join(events, "\n")
		for _, w := range want[file] {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %s in\n%s", file, w, all)
			}
		}
		if n := strings.Count(all, "\ncall {"); n != 1 {
			t.Errorf("%s: %d calls", file, n)
		}
		said := ""
		for _, e := range events {
			if rest, ok := strings.CutPrefix(e, "text_delta "); ok {
				var d llm.TextDelta
				if err := json.NewDecoder(strings.NewReader(rest)).Decode(&d); err != nil {
					t.Fatal(err)
				}
				said += d.Text
			}
		}
		if !strings.HasPrefix(said, "Let me look.") || strings.Count(said, "Let me look.") != 1 {
			t.Errorf("%s: it said %q", file, said)
		}
	}
}

// A stream says the same wherever it is cut into pieces.
func TestStreamsCutAtEveryByte(t *testing.T) {
	for file, f := range streams(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(decode(f, bytes.NewReader(text)), "\n")
		if one := strings.Join(decode(f, iotest.OneByteReader(bytes.NewReader(text))), "\n"); one != whole {
			t.Errorf("%s: a byte at a time says something else", file)
		}
		step := 1
		if testing.Short() || len(text) > 8<<10 {
			step = 97
		}
		for n := 0; n < len(text); n += step {
			r := io.MultiReader(bytes.NewReader(text[:n]), bytes.NewReader(text[n:]))
			if got := strings.Join(decode(f, r), "\n"); got != whole {
				t.Fatalf("%s: cut at %d it says something else", file, n)
			}
			// What ends there is a beginning of the whole, but for calls that were cut off.
			decode(f, bytes.NewReader(text[:n]))
		}
	}
}

// FuzzStreams looks for streams that a decoder reads differently when they come in other
// pieces, that make it panic, or whose calls are not what their pieces say.
func FuzzStreams(f *testing.F) {
	for file := range streams(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 100)
		for line := range bytes.Lines(text) {
			f.Add(line, 7)
		}
	}
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"","name":"","input":null}]}}`), 3)
	f.Add([]byte(`{"type":"item.completed","item":{"type":"mcp_tool_call","server":"toolpost"}}`), 3)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		n = max(0, min(n, len(text)))
		for _, format := range formats {
			whole := decode(format, bytes.NewReader(text))
			cut := decode(format, io.MultiReader(bytes.NewReader(text[:n]), bytes.NewReader(text[n:])))
			if strings.Join(whole, "\n") != strings.Join(cut, "\n") {
				t.Fatalf("%s: cut at %d:\n%s\nwhole:\n%s", format.name, n, cut, whole)
			}
			for _, e := range whole {
				if strings.HasPrefix(e, "call {") && strings.Contains(e, `"args":""`) {
					t.Fatalf("%s: a call without arguments: %s", format.name, e)
				}
			}
		}
	})
}
