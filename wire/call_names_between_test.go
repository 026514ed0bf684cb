package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// namePiece is a chunk with a piece of a call; without an id, a name or arguments it says nothing of them.
func namePiece(index int, id, name, args string) string {
	if id != "" {
		id = `"id":"` + id + `","type":"function",`
	}
	if name != "" {
		name = fmt.Sprintf(`"name":%q,`, name)
	}
	return chunkOf(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%q}}]}`, index, id, name, args))
}

// namesBetween are streams in which something comes between the pieces of a name.
func namesBetween() map[string]struct {
	tools, chunks []string
	want, text    string
} {
	const r, s = `{"a":1}`, `{"a":2}`
	two := []string{"get_weather", "read_file"}
	begin := []string{"get", "get_weather", "read", "read_file"}
	hm := chunkOf(`{"content":"hm"}`)
	both := `[[c0 get_weather {"a":1}] [c1 read_file {"a":2}]]`
	type test = struct {
		tools, chunks []string
		want, text    string
	}
	return map[string]test{
		"text":                  {two, []string{namePiece(0, "c0", "get_", ""), hm, namePiece(0, "", "weather", ""), namePiece(0, "", "", r)}, `[[c0 get_weather {"a":1}]]`, "hm"},
		"text twice":            {two, []string{namePiece(0, "c0", "get_", ""), hm, namePiece(0, "", "wea", ""), hm, namePiece(0, "", "ther", r)}, `[[c0 get_weather {"a":1}]]`, "hmhm"},
		"thinking":              {two, []string{namePiece(0, "c0", "get_", ""), chunkOf(`{"reasoning_content":"hm"}`), namePiece(0, "", "weather", r)}, `[[c0 get_weather {"a":1}]]`, ""},
		"text, late id":         {two, []string{namePiece(0, "", "get_", ""), hm, namePiece(0, "c0", "weather", ""), namePiece(0, "", "", r)}, `[[c0 get_weather {"a":1}]]`, "hm"},
		"text, one begins":      {begin, []string{namePiece(0, "c0", "get", ""), hm, namePiece(0, "", "_weather", r)}, `[[c0 get_weather {"a":1}]]`, "hm"},
		"text, two calls":       {begin, []string{namePiece(0, "c0", "get", ""), hm, namePiece(0, "c1", "read", s)}, `[[c0 get {}] [c1 read {"a":2}]]`, "hm"},
		"text, no more":         {begin, []string{namePiece(0, "c0", "get", ""), hm}, `[[c0 get {}]]`, "hm"},
		"text, arguments":       {begin, []string{namePiece(0, "c0", "get", ""), hm, namePiece(0, "", "", r)}, `[[c0 get {"a":1}]]`, "hm"},
		"a call":                {two, []string{namePiece(0, "c0", "get_", ""), namePiece(1, "c1", "read_file", ""), namePiece(0, "", "weather", ""), namePiece(0, "", "", r), namePiece(1, "", "", s)}, both, ""},
		"a call and all of it":  {two, []string{namePiece(0, "c0", "get_", ""), namePiece(1, "c1", "read_file", s), namePiece(0, "", "weather", r)}, both, ""},
		"a call in pieces":      {two, []string{namePiece(0, "c0", "get_", ""), namePiece(1, "c1", "re", ""), namePiece(1, "", "ad_", ""), namePiece(1, "", "file", ""), namePiece(0, "", "weather", ""), namePiece(1, "", "", s), namePiece(0, "", "", r)}, both, ""},
		"a call that was later": {two, []string{namePiece(1, "c1", "read_", ""), namePiece(0, "c0", "get_weather", ""), namePiece(1, "", "file", ""), namePiece(1, "", "", s), namePiece(0, "", "", r)}, `[[c1 read_file {"a":2}] [c0 get_weather {"a":1}]]`, ""},
		"a call and text":       {two, []string{namePiece(0, "c0", "get_", ""), namePiece(1, "c1", "read_file", `{"a"`), hm, namePiece(0, "", "weather", r), hm, namePiece(1, "", "", `:2}`)}, both, "hmhm"},
		"the same id":           {two, []string{namePiece(0, "c0", "get_", ""), namePiece(1, "c1", "read_file", s), hm, namePiece(0, "c0", "weather", ""), namePiece(0, "c0", "", r)}, both, "hm"},
		"one index, two ids":    {two, []string{namePiece(0, "c0", "get_", ""), namePiece(0, "c1", "read_file", ""), namePiece(0, "c0", "weather", r), namePiece(0, "c1", "", s)}, both, ""},
		"names side by side":    {begin, []string{namePiece(0, "c0", "get", ""), namePiece(1, "c1", "read", ""), namePiece(0, "", "_weather", ""), namePiece(1, "", "_file", ""), namePiece(0, "", "", r), namePiece(1, "", "", s)}, both, ""},
		"three, the middle":     {two, []string{namePiece(0, "c0", "get_weather", r), namePiece(1, "c1", "read_", ""), namePiece(2, "c2", "get_weather", r), namePiece(1, "", "file", s)}, `[[c0 get_weather {"a":1}] [c1 read_file {"a":2}] [c2 get_weather {"a":1}]]`, ""},
		"a name that ends":      {two, []string{namePiece(0, "c0", "get_", ""), namePiece(1, "c1", "read_file", s)}, `[[c0 get_ {}] [c1 read_file {"a":2}]]`, ""},
		"known to say pieces":   {begin, []string{namePiece(0, "c0", "get", ""), namePiece(0, "", "_weather", r), namePiece(1, "c1", "read", ""), namePiece(2, "c2", "get_weather", r), namePiece(1, "", "_file", s)}, `[[c0 get_weather {"a":1}] [c1 read_file {"a":2}] [c2 get_weather {"a":1}]]`, ""},
		// A name that begins another's waits for the arguments of its own call, so that nothing is called that nobody asked for.
		"very late":         {begin, []string{namePiece(0, "c0", "get", ""), namePiece(1, "c1", "read_file", s), namePiece(0, "", "_wea", ""), namePiece(0, "", "ther", r)}, both, ""},
		"very late, the id": {begin, []string{namePiece(0, "c0", "get", ""), namePiece(1, "c1", "read_file", s), namePiece(0, "c0", "_weather", r)}, both, ""},
		"very late, all so far": {begin, []string{namePiece(0, "c0", "get", ""), namePiece(1, "c1", "read", `{"a"`), namePiece(0, "", "get_wea", ""), namePiece(1, "", "", ":2}"), namePiece(0, "", "get_weather", r)},
			`[[c0 get_weather {"a":1}] [c1 read {"a":2}]]`, ""},
		"never":            {begin, []string{namePiece(0, "c0", "get", ""), namePiece(1, "c1", "read_file", s)}, `[[c0 get {}] [c1 read_file {"a":2}]]`, ""},
		"never, one index": {begin, []string{namePiece(0, "", "get", ""), namePiece(0, "", "read_file", s)}, `[[call_1 get {}] [call_2 read_file {"a":2}]]`, ""},
		"too late, new id": {begin, []string{namePiece(0, "c0", "get", ""), namePiece(1, "c1", "read_file", s), namePiece(0, "c2", "_weather", r)}, `[[c0 get {}] [c1 read_file {"a":2}] [c2 _weather {"a":1}]]`, ""},
	}
}

// callsIn are the id, name and arguments of the calls of an answer.
func callsIn(r *llm.Response) string {
	var calls [][3]string
	for _, call := range r.Message.Calls() {
		calls = append(calls, [3]string{call.ID, call.Name, string(call.Args)})
	}
	return fmt.Sprint(calls)
}

// TestNamesWithSomethingBetween: text, thinking or another call between the pieces of a name leave it one name, for a client of each
// format, and for that of a relay, wherever it begins to write the answer anew.
func TestNamesWithSomethingBetween(t *testing.T) {
	for name, test := range namesBetween() {
		stream := chunkOf(`{"role":"assistant","content":null}`) + strings.Join(test.chunks, "") + chunksEnd
		c := offering(test.tools...)
		events, err := decodeAll(c, strings.NewReader(stream))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer := build(t, c, stream)
		if got := callsIn(answer); got != test.want || answer.Message.Text() != test.text {
			t.Errorf("%s: the calls are %s, not %s, the text is %q", name, got, test.want, answer.Message.Text())
		}
		for _, format := range Formats() {
			var out bytes.Buffer
			client := Codec{Format: format}
			enc := client.NewStream(&out, Head{ID: "i", Model: "m"})
			for _, ev := range events {
				if err := enc.Write(ev); err != nil {
					t.Errorf("%s: %s: %v", name, format, err)
				}
			}
			got := build(t, client, out.String())
			if callsIn(got) != test.want || got.Message.Text() != test.text {
				t.Errorf("%s: a client of %s has %s, not %s, and the text %q", name, format, callsIn(got), test.want, got.Message.Text())
			}
		}
		for at := -1; at < len(events); at++ {
			out, _, err := relayThrough(t, c, strings.NewReader(stream), func(i int, ev llm.Event) RelayDecision {
				if i == at {
					return Replace(ev)
				}
				return Pass
			})
			got, want := strings.ReplaceAll(addedUp(out), " {}]", " ]"), strings.ReplaceAll(test.want, " {}]", " ]")
			// The index of a call that begins late may be another's, so the order is that of the upstream.
			if err != nil || got != want && name != "a call that was later" {
				t.Errorf("%s: written anew from event %d: %v, the client has %s, not %s, from\n%s", name, at, err, got, want, out)
			}
			if text := build(t, Codec{Format: Chat}, out).Message.Text(); text != test.text {
				t.Errorf("%s: written anew from event %d the text is %q", name, at, text)
			}
		}
	}
}

// TestNamesWithSomethingBetweenCutOff: an answer that is lost in the middle of such a stream has no call but those that are whole, and all of the
// text that was said.
func TestNamesWithSomethingBetweenCutOff(t *testing.T) {
	for name, test := range namesBetween() {
		for n := range test.chunks {
			stream := chunkOf(`{"role":"assistant","content":null}`) + strings.Join(test.chunks[:n+1], "")
			c := offering(test.tools...)
			events, err := decodeAll(c, strings.NewReader(stream))
			if err == nil {
				t.Errorf("%s: cut off after %d: no error", name, n)
			}
			text, open := "", map[string]bool{}
			for _, ev := range events {
				switch ev := ev.(type) {
				case llm.TextDelta:
					text += ev.Text
				case llm.CallStart:
					open[ev.ID] = true
				case llm.Call:
					if delete(open, ev.ID); !slices.Contains(test.tools, ev.Name) && name != "too late, new id" {
						t.Errorf("%s: cut off after %d: a call of %q", name, n, ev.Name)
					}
				case llm.InvalidCall:
					delete(open, ev.ID)
				}
			}
			if want := strings.Repeat("hm", strings.Count(stream, `"content":"hm"`)); text != want || len(open) > 0 {
				t.Errorf("%s: cut off after %d: the text is %q, not %q; open are %v", name, n, text, want, open)
			}
			for _, format := range Formats() {
				var out bytes.Buffer
				enc := Codec{Format: format}.NewStream(&out, Head{ID: "i", Model: "m"})
				for _, ev := range events {
					if err := enc.Write(ev); err != nil {
						t.Errorf("%s: cut off after %d, %s: %v", name, n, format, err)
					}
				}
			}
			if _, _, err := relayThrough(t, c, strings.NewReader(stream), passAll); err == nil {
				t.Errorf("%s: cut off after %d: the relay saw no error", name, n)
			}
		}
	}
}

// TestNamesHoldNoText: text behind the beginning of a name reaches the client of a relay before more is read, and a name that is a tool's
// and begins no other's does as well.
func TestNamesHoldNoText(t *testing.T) {
	for name, test := range map[string]struct{ head, want string }{
		"text":       {namePiece(0, "c0", "get_", "") + chunkOf(`{"content":"hm"}`), `"content":"hm"`},
		"thinking":   {namePiece(0, "c0", "get_", "") + chunkOf(`{"reasoning_content":"hm"}`), `"hm"`},
		"whole name": {namePiece(0, "c0", "get_", "") + chunkOf(`{"content":"hm"}`) + namePiece(0, "", "weather", ""), `"name":"get_weather"`},
		"at once":    {namePiece(0, "c0", "get_weather", ""), `"name":"get_weather"`},
		"in pieces":  {namePiece(0, "c0", "get_", "") + namePiece(1, "c1", "read_file", `{"a`) + namePiece(0, "", "weather", ""), `{\"a`},
	} {
		var out bytes.Buffer
		src := &watched{parts: []string{chunkOf(`{"role":"assistant","content":null}`) + test.head, chunksEnd}, before: func(n int) {
			if n == 1 && !strings.Contains(out.String(), test.want) {
				t.Errorf("%s: before the rest was read the client has\n%s", name, out.String())
			}
		}}
		c := offering("get_weather", "read_file")
		if err := c.Relay(&out, src, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesBetweenOfAlternatives: what comes between the pieces of a name in one answer of several does not touch the others.
func TestNamesBetweenOfAlternatives(t *testing.T) {
	of := func(index int, chunk string) string {
		return strings.Replace(chunk, `"choices":[{"index":0`, fmt.Sprintf(`"choices":[{"index":%d`, index), 1)
	}
	stream := of(0, chunkOf(`{"role":"assistant","content":null}`)) + of(1, chunkOf(`{"role":"assistant","content":null}`)) +
		of(0, namePiece(0, "c0", "get_", "")) + of(1, namePiece(0, "d0", "read_", "")) + of(1, chunkOf(`{"content":"hm"}`)) +
		of(0, namePiece(1, "c1", "read_file", `{"a":2}`)) + of(1, namePiece(0, "", "file", `{"a":3}`)) + of(0, namePiece(0, "", "weather", `{"a":1}`))
	for _, index := range []int{0, 1} {
		stream += of(index, strings.Replace(chunkOf(`{}`), `"finish_reason":null`, `"finish_reason":"tool_calls"`, 1))
	}
	stream += "data: [DONE]\n\n"
	c := offering("get_weather", "read_file")
	out, _, err := relayThrough(t, c, strings.NewReader(stream), passAll)
	if err != nil {
		t.Fatal(err)
	}
	for who, s := range map[string]string{"the upstream": stream, "the client": out} {
		first, other := "", ""
		events, err := decodeAll(c, strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			switch ev := ev.(type) {
			case llm.Call:
				first += fmt.Sprint(ev.ID, ev.Name, string(ev.Args), " ")
			case llm.Alternative:
				switch ev := ev.Event.(type) {
				case llm.Call:
					other += fmt.Sprint(ev.ID, ev.Name, string(ev.Args), " ")
				case llm.TextDelta:
					other += ev.Text + " "
				}
			}
		}
		if first != `c0get_weather{"a":1} c1read_file{"a":2} ` || other != `hm d0read_file{"a":3} ` {
			t.Errorf("%s: %s and %s", who, first, other)
		}
	}
}
