package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestNamesOfTwoCalls: a server that gives each call the same index and no id makes two calls where both names are tools, or no
// tools are known. Names that come in pieces side by side are each call's own, and calls stay in their order.
func TestNamesOfTwoCalls(t *testing.T) {
	piece := func(index int, id, name, args string) string {
		if id != "" {
			id = `"id":"` + id + `",`
		}
		return fmt.Sprintf(`{"index":%d,%s"function":{"name":%q,"arguments":%q}}`, index, id, name, args)
	}
	for name, test := range map[string]struct {
		tools, pieces []string
		want          string
	}{
		"one begins the other": {[]string{"read", "read_file"}, []string{piece(0, "", "read", ""), piece(0, "", "read_file", `{"a":1}`)}, `[[call_1 read {}] [call_2 read_file {"a":1}]]`},
		"both make a third":    {[]string{"get", "more", "getmore"}, []string{piece(0, "", "get", ""), piece(0, "", "more", `{"a":1}`)}, `[[call_1 get {}] [call_2 more {"a":1}]]`},
		"the same again":       {[]string{"read", "read_file"}, []string{piece(0, "", "read", ""), piece(0, "", "read", `{"a":1}`)}, `[[call_1 read {"a":1}]]`},
		"all so far":           {[]string{"get", "get_weather"}, []string{piece(0, "", "get", ""), piece(0, "", "get_wea", ""), piece(0, "", "get_weather", `{"a":1}`)}, `[[call_1 get_weather {"a":1}]]`},
		"pieces without ids":   {[]string{"get_weather"}, []string{piece(0, "", "get_", ""), piece(0, "", "weather", `{"a":1}`)}, `[[call_1 get_weather {"a":1}]]`},
		"tools not known":      {nil, []string{piece(0, "", "a", ""), piece(0, "", "b", `{"a":1}`)}, `[[call_1 a {}] [call_2 b {"a":1}]]`},
		"side by side": {[]string{"get_weather", "get_time"}, []string{piece(0, "c1", "get_", ""), piece(1, "c2", "get_", ""), piece(0, "", "weather", ""), piece(1, "", "time", ""),
			piece(0, "", "", `{"a":1}`), piece(1, "", "", `{"a":2}`)}, `[[c1 get_weather {"a":1}] [c2 get_time {"a":2}]]`},
		"the order": {[]string{"see", "seen", "get"}, []string{piece(0, "c1", "see", ""), piece(1, "c2", "see", ""), piece(2, "c3", "ge", ""), piece(2, "", "t", `{"a":1}`)}, `[[c1 see {}] [c2 see {}] [c3 get {"a":1}]]`},
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
		if got, want := strings.ReplaceAll(addedUp(out.String()), " {}]", " ]"), strings.ReplaceAll(test.want, " {}]", " ]"); got != want {
			t.Errorf("%s: the client of a relay has %s, not %s, from\n%s", name, got, want, out.String())
		}
	}
}

// TestNamesHoldNothing: calls whose names may go on keep nothing back once another call goes on, whichever that is.
func TestNamesHoldNothing(t *testing.T) {
	begin := func(index int, name string) string {
		return chunkOf(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":""}}]}`, index, index, name))
	}
	for _, at := range []int{0, 1, 2} {
		head := chunkOf(`{"role":"assistant","content":null}`) + begin(0, "get") + begin(1, "see") + begin(2, "see") +
			chunkOf(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"{"}}]}`, at))
		rest := chunkOf(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"}"}}]}`, at)) + chunksEnd
		var out bytes.Buffer
		src := &watched{parts: []string{head, rest}, before: func(n int) {
			if n == 1 && out.Len() < len(head) {
				t.Errorf("arguments of %d: %d of %d bytes are there", at, out.Len(), len(head))
			}
		}}
		c := offering("get", "see", "seen")
		if err := c.Relay(&out, src, nil); err != nil || out.String() != head+rest {
			t.Errorf("arguments of %d: %v, relayed as\n%s", at, err, out.String())
		}
	}
}
