package wire

import (
	"bytes"
	"fmt"
	"slices"
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

// TestNamesHoldLittle: a call that goes on keeps nothing back, nor do those before it whose names cannot go on. A call with a name that begins
// another tool's waits for its own arguments, and those behind it wait with it: what another call says does not show that the name is
// whole, and what was begun cannot be taken back. Whatever waited, the client has all calls in their order.
func TestNamesHoldLittle(t *testing.T) {
	begin := func(index int, name string) string {
		return chunkOf(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":""}}]}`, index, index, name))
	}
	args := func(index int, args string) string {
		return chunkOf(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, index, args))
	}
	head := chunkOf(`{"role":"assistant","content":null}`) + begin(0, "get") + begin(1, "see") + begin(2, "see")
	for _, test := range []struct {
		said   string // behind the names
		there  string // what the client has then
		behind string
	}{
		{args(0, `{"a`), `[[c0 get {"a]]`, args(0, `":1}`)},
		{args(1, `{"a`), `[[c0 get ] [c1 see {"a]]`, args(1, `":1}`)},
		{args(2, `{"a`), `[[c0 get ]]`, args(2, `":1}`)},
		{args(2, `{"a`) + args(1, `{"b`), `[[c0 get ] [c1 see {"b] [c2 see {"a]]`, args(2, `":1}`) + args(1, `":1}`)},
	} {
		var out bytes.Buffer
		src := &watched{parts: []string{head + test.said, test.behind + chunksEnd}, before: func(n int) {
			if n == 1 && addedUp(out.String()) != test.there {
				t.Errorf("%s: the client has %s, not %s", test.said, addedUp(out.String()), test.there)
			}
		}}
		c := offering("get", "see", "seen")
		err := c.Relay(&out, src, nil)
		want := callsIn(build(t, c, head+test.said+test.behind+chunksEnd))
		if got := strings.ReplaceAll(addedUp(out.String()), " ]", " {}]"); err != nil || got != want {
			t.Errorf("%s: %v, the client has %s, not %s", test.said, err, got, want)
		}
	}
}

// TestNamesOfOneAfterTheOther: calls that a server writes one after the other, as nearly all do, are relayed byte for byte and at once, also where
// the name of a tool begins another's; only the frame with such a name waits for the next.
func TestNamesOfOneAfterTheOther(t *testing.T) {
	var frames []string
	for i, name := range []string{"see", "get", "see", "seen"} {
		frames = append(frames, namePiece(i, fmt.Sprintf("c%d", i), name, ""), namePiece(i, "", "", `{"a`), namePiece(i, "", "", `":1}`))
	}
	frames = append([]string{chunkOf(`{"role":"assistant","content":null}`)}, append(frames, chunksEnd)...)
	var out bytes.Buffer
	src := &watched{parts: slices.Clone(frames), before: func(n int) {
		if want := strings.Join(frames[:n], ""); out.String() != want && (n < 2 || !strings.Contains(frames[n-1], `"name":"see"`) || out.String() != strings.Join(frames[:n-1], "")) {
			t.Errorf("before frame %d the client has\n%s", n, out.String())
		}
	}}
	c := offering("get", "see", "seen")
	if err := c.Relay(&out, src, nil); err != nil || out.String() != strings.Join(frames, "") {
		t.Errorf("%v, relayed as\n%s", err, out.String())
	}
}
