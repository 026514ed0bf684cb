package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// callsOf returns the calls of a stream of pieces, each in a chunk of its own, as they are read and as the client of a relay has them.
func callsOf(t *testing.T, c Codec, chunks ...string) (read, relayed string) {
	t.Helper()
	stream := chunkOf(`{"role":"assistant","content":null}`)
	for _, p := range chunks {
		stream += chunkOf(`{"tool_calls":[` + p + `]}`)
	}
	stream += chunksEnd
	var calls [][3]string
	for _, call := range build(t, c, stream).Message.Calls() {
		calls = append(calls, [3]string{call.ID, call.Name, string(call.Args)})
	}
	var out bytes.Buffer
	if err := c.Relay(&out, strings.NewReader(stream), nil); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(calls), addedUp(out.String())
}

// TestNamesWithLateIDs: an id that comes with a later piece of a name is that of the call, and pieces without an index make one call. Calls that
// are really two stay two.
func TestNamesWithLateIDs(t *testing.T) {
	const args = `{"index":0,"function":{"arguments":"{\"a\":1}"}}`
	both := []string{"get_weather", "get_time"}
	for name, test := range map[string]struct {
		tools, chunks []string
		want          string
	}{
		"the id with the second piece": {both, []string{`{"index":0,"function":{"name":"get_"}}`, `{"index":0,"id":"c1","function":{"name":"weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"the same, tools not known":    {nil, []string{`{"index":0,"function":{"name":"get_"}}`, `{"index":0,"id":"c1","function":{"name":"weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"the same, all so far":         {both, []string{`{"index":0,"function":{"name":"get_"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather"}}`, args}, `[[c1 get_weather {"a":1}]]`},
		"no index, late id":            {both, []string{`{"function":{"name":"get_"}}`, `{"id":"c1","function":{"name":"weather","arguments":"{\"a\":1}"}}`}, `[[c1 get_weather {"a":1}]]`},
		"no index, the id first":       {both, []string{`{"id":"c1","function":{"name":"get_"}}`, `{"function":{"name":"weather"}}`, `{"function":{"arguments":"{\"a\":1}"}}`}, `[[c1 get_weather {"a":1}]]`},
		"the same, not known":          {nil, []string{`{"id":"c1","function":{"name":"get_"}}`, `{"function":{"name":"weather"}}`, `{"function":{"arguments":"{\"a\":1}"}}`}, `[[c1 get_weather {"a":1}]]`},
		"no index, no id":              {both, []string{`{"function":{"name":"get_"}}`, `{"function":{"name":"weather"}}`, `{"function":{"arguments":"{\"a\":1}"}}`}, `[[call_1 get_weather {"a":1}]]`},
		// Two calls.
		"two, neither index nor id":    {both, []string{`{"function":{"name":"get_time"}}`, `{"function":{"name":"get_weather","arguments":"{\"a\":1}"}}`}, `[[call_1 get_time {}] [call_2 get_weather {"a":1}]]`},
		"two, tools not known":         {nil, []string{`{"function":{"name":"a"}}`, `{"function":{"name":"b","arguments":"{\"a\":1}"}}`}, `[[call_1 a {}] [call_2 b {"a":1}]]`},
		"two, of which one is offered": {both, []string{`{"index":0,"function":{"name":"other"}}`, `{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{\"a\":1}"}}`}, `[[call_1 other {}] [c1 get_time {"a":1}]]`},
		"two, of which one has an id":  {both, []string{`{"index":0,"function":{"name":"get_weather"}}`, `{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{\"a\":1}"}}`}, `[[call_1 get_weather {}] [c1 get_time {"a":1}]]`},
		"two in one chunk":             {[]string{"get", "getmore"}, []string{`{"id":"c1","function":{"name":"get"}},{"function":{"name":"more"}}`}, `[[c1 get {}] [call_1 more {}]]`},
		"two in one chunk, not known":  {nil, []string{`{"id":"c1","function":{"name":"get"}},{"function":{"name":"more"}}`}, `[[c1 get {}] [call_1 more {}]]`},
		"one id, two offered names":    {both, []string{`{"index":0,"id":"c1","function":{"name":"get_time"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\":1}"}}`}, `[[c1 get_time {}] [call_1 get_weather {"a":1}]]`},
		"one id, two that may go on":   {[]string{"get", "get_more", "see", "see_more"}, []string{`{"index":0,"id":"c1","function":{"name":"get"}}`, `{"index":0,"id":"c1","function":{"name":"see","arguments":"{\"a\":1}"}}`}, `[[c1 get {}] [call_1 see {"a":1}]]`},
		"one id, the first is whole":   {nil, []string{`{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}`, `{"index":0,"id":"c1","function":{"name":"b","arguments":"{\"a\":1}"}}`}, `[[c1 a {}] [call_1 b {"a":1}]]`},
	} {
		read, relayed := callsOf(t, offering(test.tools...), test.chunks...)
		if read != test.want {
			t.Errorf("%s: the calls are %s, not %s", name, read, test.want)
		}
		if strings.ReplaceAll(relayed, " {}]", " ]") != strings.ReplaceAll(test.want, " {}]", " ]") {
			t.Errorf("%s: the client of a relay has %s, not %s", name, relayed, test.want)
		}
	}
}

// TestLongNamesInPieces: a name that is longer than there is room for makes one call, which is not run and says why.
func TestLongNamesInPieces(t *testing.T) {
	for _, tools := range [][]string{nil, {"get"}} {
		stream := chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"long_","arguments":""}}]}`)
		for range 30 {
			stream += chunkOf(`{"tool_calls":[{"index":0,"function":{"name":"` + strings.Repeat("x", 100) + `y"}}]}`)
		}
		stream += chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`) + chunksEnd
		c := offering(tools...)
		var warned, calls int
		var bad []llm.InvalidCall
		for ev, err := range c.DecodeStream(strings.NewReader(stream)) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case llm.Warning:
				if ev.Feature == "name" {
					warned++
				}
			case llm.Call, llm.CallStart:
				calls++
			case llm.InvalidCall:
				bad = append(bad, ev)
			}
		}
		if calls != 1 || warned != 1 || len(bad) != 1 || bad[0].Reason != llm.UnknownTool || !strings.Contains(bad[0].Problem, "1024 bytes") || bad[0].Raw != `{"a":1}` {
			t.Errorf("%v: %d starts and calls, %d warnings, %+v", tools, calls, warned, bad)
		}
	}
}

// TestOtherNameInside: a piece inside the arguments of a call that has another name goes on with the call, and is named.
func TestOtherNameInside(t *testing.T) {
	stream := chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get","arguments":"{\"a\":"}}]}`) +
		chunkOf(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"see","arguments":"1}"}}]}`) + chunksEnd
	warned := 0
	c := offering("get", "see")
	for ev, err := range c.DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Warning:
			if ev.Feature == "name" && strings.Contains(ev.Detail, `"see"`) {
				warned++
			}
		case llm.Call:
			if ev.Name != "get" || string(ev.Args) != `{"a":1}` {
				t.Errorf("%+v", ev)
			}
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings", warned)
	}
}
