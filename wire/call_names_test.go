package wire

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// offering returns a codec that answers a request with those tools; without any it knows no request.
func offering(tools ...string) Codec {
	c := Codec{Format: Chat}
	if len(tools) == 0 {
		return c
	}
	var req llm.Request
	for _, name := range tools {
		req.Tools = append(req.Tools, llm.ToolDef{Name: name})
	}
	return c.Answering(&req)
}

// TestNamesInPieces: a name that comes in pieces is one, whether a client of another format is answered, or one of the same, and
// whether it adds up the pieces or takes the first. What is said twice is not taken for more of the name, and the next call
// of a server that gives all the same index is another.
func TestNamesInPieces(t *testing.T) {
	const args = `{"index":0,"function":{"arguments":"{\"a\":1}"}}`
	for name, test := range map[string]struct {
		tools, pieces []string
		want          string
	}{
		"two pieces":        {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_","arguments":""}}`, `{"index":0,"function":{"name":"weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"offered":           {[]string{"get_weather"}, []string{`{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"wea"}}`, `{"index":0,"function":{"name":"ther"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"the same id":       {[]string{"get_weather"}, []string{`{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"id":"c1","function":{"name":"weather","arguments":"{\"a\""}}`, `{"index":0,"id":"c1","function":{"arguments":":1}"}}`}, `[[c1 get_weather {"a":1}]]`},
		"only the id":       {nil, []string{`{"id":"c1","function":{"name":"get_"}}`, `{"id":"c1","function":{"name":"weather","arguments":"{\"a\":1}"}}`}, `[[c1 get_weather {"a":1}]]`},
		"all so far":        {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"get_weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"said twice":        {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_weather"}}`, `{"index":0,"function":{"name":"get_weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"offered twice":     {[]string{"tam", "tamtam"}, []string{`{"index":0,"id":"c1","function":{"name":"tam"}}`, `{"index":0,"function":{"name":"tam"}}`, args}, `[[c1 tam {"a":1}]]`},
		"twice makes it":    {[]string{"tamtam"}, []string{`{"index":0,"id":"c1","function":{"name":"tam"}}`, `{"index":0,"function":{"name":"tam"}}`, args}, `[[c1 tamtam {"a":1}]]`},
		"one is another's":  {[]string{"get", "get_weather"}, []string{`{"index":0,"id":"c1","function":{"name":"get"}}`, `{"index":0,"function":{"name":"_weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"the shorter":       {[]string{"get", "get_weather"}, []string{`{"index":0,"id":"c1","function":{"name":"get"}}`, args}, `[[c1 get {"a":1}]]`},
		"a new id":          {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"id":"c2","function":{"name":"weather","arguments":"{\"a\":1}"}}`}, `[[c1 get_ {}] [c2 weather {"a":1}]]`},
		"two, without ids":  {[]string{"get", "get_more", "see"}, []string{`{"index":0,"function":{"name":"get"}}`, `{"index":0,"function":{"name":"see","arguments":"{\"a\":1}"}}`}, `[[call_1 get {}] [call_2 see {"a":1}]]`},
		"behind arguments":  {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_","arguments":"{}"}}`, `{"index":0,"function":{"name":"weather","arguments":"{\"a\":1}"}}`}, `[[c1 get_ {}] [call_1 weather {"a":1}]]`},
		"never arguments":   {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather"}}`}, `[[c1 get_weather {}]]`},
		"two, next to each": {[]string{"get_weather", "get_time"}, []string{`{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":1,"id":"c2","function":{"name":"get_"}}`, `{"index":1,"function":{"name":"time","arguments":"{}"}}`}, `[[c1 get_ {}] [c2 get_time {}]]`},
	} {
		stream := chunkOf(`{"role":"assistant","content":null}`)
		for _, p := range test.pieces {
			stream += chunkOf(`{"tool_calls":[` + p + `]}`)
		}
		stream += chunksEnd
		c := offering(test.tools...)
		var calls [][3]string
		for _, call := range build(t, c, stream).Message.Calls() {
			calls = append(calls, [3]string{call.ID, call.Name, string(call.Args)})
		}
		if got := fmt.Sprint(calls); got != test.want {
			t.Errorf("%s: the calls are %s, not %s", name, got, test.want)
		}
		var out bytes.Buffer
		if err := c.Relay(&out, strings.NewReader(stream), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := addedUp(out.String()), strings.ReplaceAll(test.want, " {}]", " ]"); strings.ReplaceAll(got, " {}]", " ]") != want {
			t.Errorf("%s: the client of a relay has %s, not %s, from\n%s", name, got, want, out.String())
		}
		for _, call := range calls {
			if n := strings.Count(out.String(), `"name":"`+call[1]+`"`); n != 1 {
				t.Errorf("%s: the name %s is there %d times in\n%s", name, call[1], n, out.String())
			}
		}
	}
}

// TestNamesThatMayGoOn: the frame with a name goes out at once if no tool has a longer one, and else with what follows; it
// is relayed byte for byte in either case. An observer may still replace the call.
func TestNamesThatMayGoOn(t *testing.T) {
	first := chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get","arguments":""}}]}`)
	rest := chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`) + chunksEnd
	for _, tools := range [][]string{{"get"}, {"get", "get_weather"}} {
		var out bytes.Buffer
		src := &watched{parts: []string{first, rest}, before: func(n int) {
			if n == 1 && (out.String() == first) != (len(tools) == 1) {
				t.Errorf("%v: before the second chunk was read the client has\n%s", tools, out.String())
			}
		}}
		c := offering(tools...)
		if err := c.Relay(&out, src, nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != first+rest {
			t.Errorf("%v: relayed as\n%s", tools, out.String())
		}
		out.Reset()
		replaced := func(ev llm.Event) RelayDecision {
			if s, ok := ev.(llm.CallStart); ok {
				s.Name = "mine"
				return Replace(s)
			}
			return Pass
		}
		if err := c.Relay(&out, strings.NewReader(first+rest), replaced); err != nil {
			t.Fatal(err)
		}
		if got, want := addedUp(out.String()), `[[c1 mine {}]]`; got != want {
			t.Errorf("%v: the client has %s, not %s, from\n%s", tools, got, want, out.String())
		}
	}
}

// watched is a reader that returns a part at each read, and says which before it does.
type watched struct {
	parts  []string
	before func(n int)
	n      int
}

func (w *watched) Read(p []byte) (int, error) {
	w.before(w.n)
	if w.n == len(w.parts) {
		return 0, io.EOF
	}
	n := copy(p, w.parts[w.n])
	if w.parts[w.n] = w.parts[w.n][n:]; w.parts[w.n] == "" {
		w.n++
	}
	return n, nil
}
