package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
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

// TestCallNamesInPieces: a name that comes in pieces is one, whether a client of another format is answered, or one of the same, and
// whether it adds up the pieces or takes the first. What is said twice is not taken for more of the name, and the next call
// of a server that gives all the same index is another.
func TestCallNamesInPieces(t *testing.T) {
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

// TestCallNamesThatMayContinue: the frame with a name goes out at once if no tool has a longer one, and else with what follows; it
// is relayed byte for byte in either case. An observer may still replace the call.
func TestCallNamesThatMayContinue(t *testing.T) {
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
		replaced := func(ev llm.Event) wireformat.RelayDecision {
			if s, ok := ev.(llm.CallStart); ok {
				s.Name = "mine"
				return wireformat.Replace(s)
			}
			return wireformat.Pass
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

// TestCallNamesWithRepeatedIDs: a second call that claims the id of another gets all of its own arguments, an index that comes late is the call's,
// and what comes behind a whole call and is no other tool's name is no call.
func TestCallNamesWithRepeatedIDs(t *testing.T) {
	both := []string{"get_weather", "get_time"}
	const first, second = `{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{}"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\""}}`
	const two = `[[c1 get_time {}] [call_1 get_weather {"a":1}]]`
	for name, test := range map[string]struct {
		tools, chunks []string
		want          string
	}{
		"rest with the id":          {both, []string{first, second, `{"index":0,"id":"c1","function":{"arguments":":1}"}}`}, two},
		"rest with id and name":     {both, []string{first, second, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":":1}"}}`}, two},
		"the first has no argument": {both, []string{`{"index":0,"id":"c1","function":{"name":"get_time"}}`, second, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":":1}"}}`}, two},
		"two indexes":               {both, []string{first, `{"index":1,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\""}}`, `{"index":1,"id":"c1","function":{"arguments":":1}"}}`}, two},
		"late index": {both, []string{`{"id":"c1","function":{"name":"get_time"}}`, `{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{\"a\""}}`, `{"index":0,"function":{"arguments":":1}"}}`},
			`[[c1 get_time {"a":1}]]`},
		"another spelling": {both, []string{`{"index":0,"id":"c1","function":{"name":"functions.get_time","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"c1","function":{"name":"get_time","arguments":""}}`},
			`[[c1 functions.get_time {"a":1}]]`},
		"some of it again": {both, []string{`{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"c1","function":{"name":"get_","arguments":""}}`}, `[[c1 get_time {"a":1}]]`},
		"null":             {nil, []string{`{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{\"a\":1}"}}`, `{"index":0,"id":"c1","function":{"name":"null","arguments":""}}`}, `[[c1 get_time {"a":1}]]`},
		"another tool's, which the first begins": {[]string{"get", "get_weather"}, []string{`{"index":0,"id":"c1","function":{"name":"get","arguments":"{}"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\":1}"}}`},
			`[[c1 get {}] [call_1 get_weather {"a":1}]]`},
	} {
		if read, relayed := callsOf(t, offering(test.tools...), test.chunks...); read != test.want || relayed != test.want {
			t.Errorf("%s: read %s, relayed %s, want %s", name, read, relayed, test.want)
		}
	}
}

// TestCallNamesOfTheNextCall: a tool's name behind whole arguments is the next call's where neither ids nor indexes tell, also if the name before
// it, which no tool has, begins it.
func TestCallNamesOfTheNextCall(t *testing.T) {
	both := []string{"get_weather", "get_time"}
	const two = `[[call_1 get {}] [call_2 get_weather {"a":1}]]`
	for name, test := range map[string]struct {
		chunks []string
		want   string
	}{
		"the same index": {[]string{`{"index":0,"function":{"name":"get"}}`, `{"index":0,"function":{"arguments":"{}"}}`, `{"index":0,"function":{"name":"get_weather"}}`, `{"index":0,"function":{"arguments":"{\"a\":1}"}}`}, two},
		"no index":       {[]string{`{"function":{"name":"get"}}`, `{"function":{"arguments":"{}"}}`, `{"function":{"name":"get_weather"}}`, `{"function":{"arguments":"{\"a\":1}"}}`}, two},
		"one that counts says all of the name": {[]string{`{"index":0,"function":{"name":"get_time","arguments":"{}"}}`, `{"index":1,"function":{"name":"get","arguments":"{\"a\":1}"}}`, `{"index":1,"function":{"name":"get_weather"}}`},
			`[[call_1 get_time {}] [call_2 get_weather {"a":1}]]`},
		"one that gives ids says all of the name": {[]string{`{"index":0,"id":"c1","function":{"name":"get","arguments":"{\"a\":1}"}}`, `{"index":0,"function":{"name":"get_weather"}}`}, `[[c1 get_weather {"a":1}]]`},
		"with arguments":         {[]string{`{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{}"}}`, `{"index":0,"function":{"name":"get_time","arguments":"{}"}}`}, `[[c1 get_time {}] [call_1 get_time {}]]`},
		"no ids, the same twice": {[]string{`{"index":0,"function":{"name":"get_time","arguments":"{}"}}`, `{"index":0,"function":{"name":"get_time","arguments":""}}`, `{"index":0,"function":{"arguments":"{}"}}`}, `[[call_1 get_time {}] [call_2 get_time {}]]`},
	} {
		if read, relayed := callsOf(t, offering(both...), test.chunks...); read != test.want || relayed != test.want {
			t.Errorf("%s: read %s, relayed %s, want %s", name, read, relayed, test.want)
		}
	}
}

// TestCallNamesOfTwoCalls: a server that gives each call the same index and no id makes two calls where both names are tools, or no
// tools are known. Names that come in pieces side by side are each call's own, and calls stay in their order.
func TestCallNamesOfTwoCalls(t *testing.T) {
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

// TestCallNamesHoldLittle: a call that goes on keeps nothing back, nor do those before it whose names cannot go on. A call with a name that begins
// another tool's waits for its own arguments, and those behind it wait with it: what another call says does not show that the name is
// whole, and what was begun cannot be taken back. Whatever waited, the client has all calls in their order.
func TestCallNamesHoldLittle(t *testing.T) {
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

// TestCallNamesInSequence: calls that a server writes one after the other, as nearly all do, are relayed byte for byte and at once, also where
// the name of a tool begins another's; only the frame with such a name waits for the next.
func TestCallNamesInSequence(t *testing.T) {
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

// TestCallNamesWithLateIDs: an id that comes with a later piece of a name is that of the call, and pieces without an index make one call. Calls that
// are really two stay two.
func TestCallNamesWithLateIDs(t *testing.T) {
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

// TestCallNamesTooLong: a name that is longer than there is room for makes one call, which is not run and says why.
func TestCallNamesTooLong(t *testing.T) {
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

// TestCallNamesOfAnotherTool: a piece inside the arguments of a call that has another name goes on with the call, and is named.
func TestCallNamesOfAnotherTool(t *testing.T) {
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

// TestCallNamesAfterArguments: arguments that come before the name of their call are its own, and a name that is all there is so far is one, also where
// its beginning is the name of a tool.
func TestCallNamesAfterArguments(t *testing.T) {
	both, begin := []string{"get_weather", "get_time"}, []string{"get", "get_weather", "get_time"}
	const one, two = `[[c1 get_weather {"a":1}]]`, `[[c1 get_weather {"a":1}] [c2 get_time {}]]`
	const args = `{"index":0,"id":"c1","function":{"arguments":"{\"a\":1}"}}`
	for name, test := range map[string]struct {
		tools, chunks []string
		want          string
	}{
		"name last":               {both, []string{args, `{"index":0,"function":{"name":"get_weather"}}`}, one},
		"the same, not known":     {nil, []string{args, `{"index":0,"function":{"name":"get_weather"}}`}, one},
		"the same, no index":      {both, []string{`{"id":"c1","function":{"arguments":"{\"a\":1}"}}`, `{"id":"c1","function":{"name":"get_weather"}}`}, one},
		"the same, id last":       {both, []string{`{"index":0,"function":{"arguments":"{\"a\":1}"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":""}}`}, one},
		"the id again":            {both, []string{args, `{"index":0,"id":"c1","function":{"name":"get_weather"}}`}, one},
		"name inside":             {both, []string{`{"index":0,"id":"c1","function":{"arguments":"{\"a\""}}`, `{"index":0,"function":{"name":"get_weather","arguments":":"}}`, `{"index":0,"function":{"arguments":"1}"}}`}, one},
		"name inside, not known":  {nil, []string{`{"index":0,"id":"c1","function":{"arguments":"{\"a\""}}`, `{"index":0,"function":{"name":"get_weather","arguments":":"}}`, `{"index":0,"function":{"arguments":"1}"}}`}, one},
		"name in pieces":          {both, []string{args, `{"index":0,"function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather"}}`}, one},
		"in pieces, one begins":   {begin, []string{args, `{"index":0,"function":{"name":"get"}}`, `{"index":0,"function":{"name":"_weather"}}`}, one},
		"in pieces, not known":    {nil, []string{args, `{"index":0,"function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather"}}`}, one},
		"all so far":              {begin, []string{args, `{"index":0,"function":{"name":"get"}}`, `{"index":0,"function":{"name":"get_weather"}}`}, one},
		"pieces around arguments": {both, []string{`{"index":0,"id":"c1","function":{"name":"get_","arguments":"{\"a\":1}"}}`, `{"index":0,"function":{"name":"weather"}}`}, one},
		"the same, half":          {both, []string{`{"index":0,"id":"c1","function":{"name":"get_","arguments":"{\"a\""}}`, `{"index":0,"function":{"name":"weather","arguments":":1}"}}`}, one},
		"two, names last":         {both, []string{args, `{"index":1,"id":"c2","function":{"arguments":"{}"}}`, `{"index":0,"function":{"name":"get_weather"}}`, `{"index":1,"function":{"name":"get_time"}}`}, two},
		"two, the second first":   {both, []string{args, `{"index":1,"id":"c2","function":{"arguments":"{}"}}`, `{"index":1,"function":{"name":"get_time"}}`, `{"index":0,"function":{"name":"get_weather"}}`}, two},
		"two, one name last":      {both, []string{args, `{"index":1,"id":"c2","function":{"name":"get_time","arguments":"{}"}}`, `{"index":0,"function":{"name":"get_weather"}}`}, two},
		// Names so far, of which one is a tool's.
		"so far":               {begin, []string{`{"index":0,"id":"c1","function":{"name":"get"}}`, `{"index":0,"function":{"name":"get_weather"}}`, `{"index":0,"function":{"arguments":"{\"a\":1}"}}`}, one},
		"so far, no index":     {begin, []string{`{"id":"c1","function":{"name":"get"}}`, `{"function":{"name":"get_weather"}}`, `{"function":{"arguments":"{\"a\":1}"}}`}, one},
		"so far, the id again": {begin, []string{`{"index":0,"id":"c1","function":{"name":"get"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\":1}"}}`}, one},
		"so far, the second": {begin, []string{`{"index":0,"function":{"name":"get_weather","arguments":"{\"a\":1}"}}`, `{"index":1,"function":{"name":"get"}}`, `{"index":1,"function":{"name":"get_time","arguments":"{}"}}`},
			`[[call_1 get_weather {"a":1}] [call_2 get_time {}]]`},
		"a third of both": {[]string{"get", "more", "getmore"}, []string{`{"index":0,"id":"c1","function":{"name":"get"}}`, `{"index":0,"function":{"name":"more","arguments":"{\"a\":1}"}}`}, `[[c1 getmore {"a":1}]]`},
		// An index that comes late.
		"late index":          {both, []string{`{"function":{"name":"get_weather"}}`, `{"index":0,"function":{"name":"get_weather","arguments":"{\"a\":1}"}}`}, `[[call_1 get_weather {"a":1}]]`},
		"late index, pieces":  {both, []string{`{"function":{"name":"get_"}}`, `{"index":0,"function":{"name":"weather","arguments":"{\"a\":1}"}}`}, `[[call_1 get_weather {"a":1}]]`},
		"index 0 is left out": {both, []string{`{"function":{"name":"get_time"}}`, `{"index":1,"function":{"name":"get_time","arguments":"{\"a\":1}"}}`}, `[[call_1 get_time {}] [call_2 get_time {"a":1}]]`},
		// Tools that are not known.
		"a new id, not known":           {nil, []string{`{"function":{"name":"f"}}`, `{"id":"c2","function":{"name":"g","arguments":"{\"a\":1}"}}`}, `[[call_1 f {}] [c2 g {"a":1}]]`},
		"the same with an index":        {nil, []string{`{"index":0,"function":{"name":"f"}}`, `{"index":0,"id":"c2","function":{"name":"g","arguments":"{\"a\":1}"}}`}, `[[call_1 f {}] [c2 g {"a":1}]]`},
		"the same name, not known":      {nil, []string{`{"index":0,"function":{"name":"f"}}`, `{"index":0,"id":"c2","function":{"name":"f","arguments":"{\"a\":1}"}}`}, `[[c2 f {"a":1}]]`},
		"all of it with the id":         {nil, []string{`{"index":0,"function":{"name":"get"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\":1}"}}`}, one},
		"a name behind nameless, whole": {both, []string{`{"index":0,"id":"c0","function":{"name":"get_time","arguments":"{}"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"a\":1}"}}`}, `[[c0 get_time {}] [c1 get_weather {"a":1}]]`},
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

// TestCallNamesMissing: arguments of which the name never comes are no call that can be run, and do not become part of the next.
func TestCallNamesMissing(t *testing.T) {
	stream := chunkOf(`{"role":"assistant","content":null}`) + chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`) +
		chunkOf(`{"tool_calls":[{"index":0,"function":{"name":"get_time","arguments":"{}"}}]}`) + chunksEnd
	var bad []llm.InvalidCall
	var starts []string
	c := offering("get_time")
	for ev, err := range c.DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.InvalidCall:
			bad = append(bad, ev)
		case llm.CallStart:
			starts = append(starts, ev.Name)
		}
	}
	if got := callsIn(build(t, c, stream)); !strings.Contains(got, "get_time {}") || len(bad) != 1 || bad[0].Reason != llm.UnknownTool || bad[0].Raw != `{"a":1}` || len(starts) != 1 {
		t.Errorf("%s, starts %q, %+v", got, starts, bad)
	}
}

// TestLegacyFunctionCallInPieces: the function_call of old is one call, in whatever pieces its name and arguments come. A relay passes it on as it is.
func TestLegacyFunctionCallInPieces(t *testing.T) {
	const want = `get_weather {"a":1}`
	for name, test := range map[string]struct{ tools, pieces []string }{
		"whole":               {nil, []string{`{"name":"get_weather","arguments":"{\"a\":1}"}`}},
		"name, arguments":     {nil, []string{`{"name":"get_weather","arguments":""}`, `{"arguments":"{\"a\""}`, `{"arguments":":1}"}`}},
		"name in pieces":      {nil, []string{`{"name":"get_"}`, `{"name":"wea"}`, `{"name":"ther"}`, `{"arguments":"{\"a\":1}"}`}},
		"the same, offered":   {[]string{"get", "get_weather", "ther"}, []string{`{"name":"get"}`, `{"name":"_wea"}`, `{"name":"ther"}`, `{"arguments":"{\"a\":1}"}`}},
		"with arguments":      {nil, []string{`{"name":"get_","arguments":""}`, `{"name":"weather","arguments":"{\"a\""}`, `{"arguments":":1}"}`}},
		"name late":           {nil, []string{`{"arguments":"{\"a\":1}"}`, `{"name":"get_weather"}`}},
		"name inside":         {nil, []string{`{"arguments":"{\"a\""}`, `{"name":"get_weather","arguments":":1}"}`}},
		"name late in pieces": {nil, []string{`{"arguments":"{\"a\":1}"}`, `{"name":"get_"}`, `{"name":"weather"}`}},
	} {
		stream, end := chunkOf(`{"role":"assistant","content":null}`), strings.Replace(chunksEnd, "tool_calls", "function_call", 1)
		for _, p := range test.pieces {
			stream += chunkOf(`{"function_call":` + p + `}`)
		}
		stream += end
		c := offering(test.tools...)
		calls := build(t, c, stream).Message.Calls()
		if len(calls) != 1 || calls[0].Name+" "+string(calls[0].Args) != want {
			t.Errorf("%s: %+v", name, calls)
		}
		if out, _, err := relayThrough(t, c, strings.NewReader(stream), passAll); err != nil || out != stream {
			t.Errorf("%s: %v, relayed as\n%s", name, err, out)
		}
	}
}

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

// TestCallNamesInterrupted: text, thinking or another call between the pieces of a name leave it one name, for a client of each
// format, and for that of a relay, wherever it begins to write the answer anew.
func TestCallNamesInterrupted(t *testing.T) {
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
			enc := client.NewStream(&out, wireformat.Head{ID: "i", Model: "m"})
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
			out, _, err := relayThrough(t, c, strings.NewReader(stream), func(i int, ev llm.Event) wireformat.RelayDecision {
				if i == at {
					return wireformat.Replace(ev)
				}
				return wireformat.Pass
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

// TestCallNamesInterruptedAndTruncated: an answer that is lost in the middle of such a stream has no call but those that are whole, and all of the
// text that was said.
func TestCallNamesInterruptedAndTruncated(t *testing.T) {
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
				enc := Codec{Format: format}.NewStream(&out, wireformat.Head{ID: "i", Model: "m"})
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

// TestCallNamesHoldNoText: text behind the beginning of a name reaches the client of a relay before more is read, and a name that is a tool's
// and begins no other's does as well.
func TestCallNamesHoldNoText(t *testing.T) {
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

// TestCallNamesInterruptedInAlternatives: what comes between the pieces of a name in one answer of several does not touch the others.
func TestCallNamesInterruptedInAlternatives(t *testing.T) {
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

// The ways in which a server of a plan writes calls.
const (
	idFirst = iota
	idInEach
	idLate
	idNever
	idWays
)

const (
	indexCounted = iota
	indexZero    // of all calls
	indexNever
	indexWays
)

const (
	nameWhole = iota
	nameInPieces
	nameSoFar
	nameInEach
	nameWays
)

// callPlan is how a server writes the calls of an answer. Its calls are the same however it does.
type callPlan struct {
	tools             []string
	calls             [][3]string // id, name and arguments
	ids, index, names int
	argsFirst         bool // the first arguments come before the name
	interleaved       bool
	text              bool // something is said between the pieces
}

func (p *callPlan) String() string {
	return fmt.Sprintf("tools %q, ids %d, index %d, names %d, arguments first %v, interleaved %v, text %v", p.tools, p.ids, p.index, p.names, p.argsFirst, p.interleaved, p.text)
}

// newPlan draws a plan that a client can follow: pieces of calls that are written side by side, or of which the arguments come first, say whose they are,
// and a name so far is told from the name of another call.
func newPlan(r *rand.Rand) *callPlan {
	sets := [][]string{{"get_weather", "get_time", "read_file"}, {"get", "get_weather", "read", "read_file", "get_weather_now"}}
	begins := r.IntN(2)
	p := &callPlan{tools: sets[begins], ids: r.IntN(idWays), index: r.IntN(indexWays), names: r.IntN(nameWays), text: r.IntN(4) == 0}
	for i := range 1 + r.IntN(4) {
		args := []string{`{}`, `{"a":1}`, fmt.Sprintf(`{"city":"Rome","n":[1,%d]}`, i), `{"a":{"b":"}{"}}`}[r.IntN(4)]
		p.calls = append(p.calls, [3]string{fmt.Sprintf("c%d", i), p.tools[r.IntN(len(p.tools))], args})
	}
	if attributed := p.index == indexCounted || p.ids == idInEach; attributed {
		p.argsFirst, p.interleaved = r.IntN(3) == 0, r.IntN(2) == 0
	}
	if !p.argsFirst && (p.index == indexCounted || p.ids == idFirst || p.ids == idInEach) { // so that the next call is known to be one
		for i := range p.calls {
			if r.IntN(8) == 0 {
				p.calls[i][2] = ""
			}
		}
	}
	if p.argsFirst && (p.index == indexZero || p.ids != idFirst && p.ids != idInEach) {
		p.interleaved = false // some servers count badly or make up an id for each piece, so such arguments without a name are the last call's while that is open
	}
	if begins == 1 && p.names == nameSoFar && p.ids != idFirst && p.ids != idInEach {
		p.names = nameInPieces
	}
	return p
}

// cut cuts a string into one to n pieces, none of them empty.
func cut(r *rand.Rand, s string, n int) (out []string) {
	for n > 1 && len(s) > 1 && r.IntN(3) > 0 {
		at := 1 + r.IntN(len(s)-1)
		out, s = append(out, s[:at]), s[at:]
		n--
	}
	return append(out, s)
}

// planPiece is a piece of a call, as far as it says something.
type planPiece struct{ id, name, args string }

// pieces are those of one call, in order.
func (p *callPlan) pieces(r *rand.Rand, call [3]string) []planPiece {
	var names, args []planPiece
	whole := []string{call[1]}
	if p.names == nameInPieces || p.names == nameSoFar {
		whole = cut(r, call[1], 3)
	}
	for i, s := range whole {
		if p.names == nameSoFar {
			s = strings.Join(whole[:i+1], "")
		}
		names = append(names, planPiece{name: s})
	}
	for _, s := range cut(r, call[2], 4) {
		args = append(args, planPiece{args: s})
	}
	out := slices.Concat(names, args)
	switch {
	case p.argsFirst:
		n := 1 + r.IntN(len(args))
		out = slices.Concat(args[:n], names, args[n:])
	case r.IntN(2) == 0: // the last of the name with the first arguments
		out = slices.Delete(out, len(names)-1, len(names))
		out[len(names)-1].name = names[len(names)-1].name
	}
	late := r.IntN(len(out))
	for i := range out {
		if p.ids == idInEach || p.ids == idFirst && i == 0 || p.ids == idLate && i == late {
			out[i].id = call[0]
		}
		if p.names == nameInEach && (!p.argsFirst || out[i].name != "") {
			out[i].name = call[1]
		}
	}
	return out
}

// stream is the answer as the server writes it. Calls begin in their order.
func (p *callPlan) stream(r *rand.Rand) (stream, text string) {
	var left [][]planPiece
	for _, call := range p.calls {
		left = append(left, p.pieces(r, call))
	}
	var out strings.Builder
	out.WriteString(chunkOf(`{"role":"assistant","content":null}`))
	begun := 0
	for {
		var open []int
		for i := range min(begun+1, len(left)) {
			if len(left[i]) > 0 {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			break
		}
		i := open[0]
		if p.interleaved {
			i = open[r.IntN(len(open))]
		}
		begun = max(begun, i+1)
		out.WriteString(p.chunk(i, left[i][0]))
		left[i] = left[i][1:]
		if p.text && r.IntN(4) == 0 {
			out.WriteString(chunkOf(`{"content":"hm"}`))
			text += "hm"
		}
	}
	return out.String() + chunksEnd, text
}

// chunk writes a piece of a call.
func (p *callPlan) chunk(i int, piece planPiece) string {
	members := []string{}
	switch p.index {
	case indexCounted:
		members = append(members, fmt.Sprintf(`"index":%d`, i))
	case indexZero:
		members = append(members, `"index":0`)
	}
	if piece.id != "" {
		members = append(members, fmt.Sprintf(`"id":%q,"type":"function"`, piece.id))
	}
	function := []string{}
	if piece.name != "" {
		function = append(function, fmt.Sprintf(`"name":%q`, piece.name))
	}
	if piece.args != "" || len(piece.name)%2 == 0 {
		function = append(function, fmt.Sprintf(`"arguments":%q`, piece.args))
	}
	members = append(members, `"function":{`+strings.Join(function, ",")+`}`)
	return chunkOf(`{"tool_calls":[{` + strings.Join(members, ",") + `}]}`)
}

// document is the answer in one piece.
func (p *callPlan) document() string {
	var calls []string
	for _, c := range p.calls {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, c[0], c[1], c[2]))
	}
	return `{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"tool_calls"}]}`
}

// plans is how many are tried.
const plans = 4000

// TestCallNamesRandomized: however a server cuts its calls, names and ids, and whatever it leaves out, the calls are those of the answer in one piece, for who reads them and for the
// client of a relay.
func TestCallNamesRandomized(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 2))
	failed := 0
	for range plans {
		p := newPlan(r)
		stream, text := p.stream(r)
		c := offering(p.tools...)
		want := callsIn(build(t, c, p.document()))
		answer := build(t, c, stream)
		var out bytes.Buffer
		if err := c.Relay(&out, iotest.HalfReader(strings.NewReader(stream)), nil); err != nil {
			t.Fatal(err)
		}
		got, relayed := callsIn(answer), strings.ReplaceAll(addedUp(out.String()), " ]", " {}]")
		if p.ids == idLate || p.ids == idNever { // a call that had to begin before its id has another
			want, got, relayed = namesAndArgs(want), namesAndArgs(got), namesAndArgs(relayed)
		}
		if got == want && relayed == want && answer.Message.Text() == text && build(t, Codec{Format: Chat}, out.String()).Message.Text() == text {
			continue
		}
		t.Errorf("%v: the calls are\n%s, the client of a relay has\n%s, not\n%s, the text is %q, not %q, from\n%s", p, got, relayed, want, answer.Message.Text(), text, stream)
		if failed++; failed == 5 {
			t.FailNow()
		}
	}
}

// namesAndArgs leaves the ids out of what callsIn returns.
func namesAndArgs(calls string) string {
	parts := strings.Split(calls, "] [")
	for i, s := range parts {
		_, parts[i], _ = strings.Cut(s, " ")
	}
	return strings.Join(parts, "] [")
}

// addedUp returns the id, name and arguments of each call as clients have them that add up the pieces of every text of a
// call with the same index, as OpenAI's own library for Python does.
func addedUp(stream string) string {
	var calls [][3]string
	for line := range strings.Lines(stream) {
		doc, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || doc == "[DONE]" {
			continue
		}
		for choice := range js.Elements(js.Get([]byte(doc), "choices")) {
			for el := range js.Elements(js.Get(js.Get(choice, "delta"), "tool_calls")) {
				n, _ := js.Int(js.Get(el, "index"))
				for len(calls) <= int(n) {
					calls = append(calls, [3]string{})
				}
				f := js.Get(el, "function")
				for k, v := range [][]byte{js.Get(el, "id"), js.Get(f, "name"), js.Get(f, "arguments")} {
					calls[n][k] += js.Text(v)
				}
			}
		}
	}
	return fmt.Sprint(calls)
}

func chunkOf(delta string) string {
	return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}

const chunksEnd = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"

// TestCallNamesRepeatedInRelay: a server that says the id or the name of a call in each of its pieces is relayed so that clients that add
// up the pieces have each once. One that says them once is relayed byte for byte.
func TestCallNamesRepeatedInRelay(t *testing.T) {
	first := chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`)
	for name, test := range map[string]struct {
		pieces []string
		same   bool
	}{
		"once":             {[]string{`{"index":0,"function":{"arguments":"{\"a\""}}`, `{"index":0,"function":{"arguments":":1}"}}`}, true},
		"empty":            {[]string{`{"index":0,"id":"","function":{"name":"","arguments":"{\"a\""}}`, `{"index":0,"id":null,"function":{"name":null,"arguments":":1}"}}`}, true},
		"both":             {[]string{`{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\""}}`, `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":":1}"}}`}, false},
		"the name":         {[]string{`{"index":0,"function":{"name":"f","arguments":"{\"a\""}}`, `{"index":0,"function":{"name":"f","arguments":":1}"}}`}, false},
		"the id":           {[]string{`{"index":0,"id":"c1","function":{"arguments":"{\"a\""}}`, `{"index":0,"id":"c1","function":{"arguments":":1}"}}`}, false},
		"without a piece":  {[]string{`{"index":0,"id":"c1","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"a\":1}"}}`}, false},
		"with the last":    {[]string{`{"index":0,"function":{"arguments":"{\"a\":1"}}`, `{"index":0,"id":"c1","function":{"name":"f","arguments":"}"}}`}, false},
		"behind arguments": {[]string{`{"index":0,"function":{"arguments":"{\"a\":1}"}}`, `{"index":0,"id":"c1","function":{"name":"f","arguments":""}}`}, false},
	} {
		stream := first
		for _, p := range test.pieces {
			stream += chunkOf(`{"tool_calls":[` + p + `]}`)
		}
		second := strings.NewReplacer(`"index":0,"id":"c1"`, `"index":1,"id":"c2"`, `"tool_calls":[{"index":0`, `"tool_calls":[{"index":1`, `"id":"c1"`, `"id":"c2"`)
		stream += second.Replace(stream) + chunksEnd
		var out bytes.Buffer
		c := Codec{Format: Chat}
		if err := c.Relay(&out, strings.NewReader(stream), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := addedUp(out.String()), `[[c1 f {"a":1}] [c2 f {"a":1}]]`; got != want {
			t.Errorf("%s: the client has %s, not %s, from\n%s", name, got, want, out.String())
		}
		if same := out.String() == stream; same != test.same {
			t.Errorf("%s: relayed byte for byte: %t", name, same)
		}
		if r := build(t, c, stream); fmt.Sprint(len(r.Message.Calls())) != "2" {
			t.Errorf("%s: %d calls", name, len(r.Message.Calls()))
		}
	}
}

// TestThinkingDetailsOfOneTurn: the details of what a model thought in several places of a turn are one list; a member that is
// there twice is read once, so half of the signatures would be lost.
func TestThinkingDetailsOfOneTurn(t *testing.T) {
	c := Codec{Format: Chat, Vendor: "openrouter/chat"}
	detail := func(text string, n int) llm.State {
		return llm.State{Vendor: c.Vendor, Data: json.RawMessage(fmt.Sprintf(`{"reasoning_details":[{"type":"reasoning.text","text":%q,"index":%d}]}`, text, n))}
	}
	turn := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "one", State: detail("one", 0)}, llm.Text{Text: "A"}, llm.Thinking{Text: "two", State: detail("two", 1)}, llm.Text{Text: "B"},
	}}
	request, _, err := c.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi"), turn}}, false)
	if err != nil {
		t.Fatal(err)
	}
	answer, _, err := c.EncodeResponse(&llm.Response{Message: turn, Finish: llm.Finish{Reason: llm.Stop}})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"index":0,"text":"one","type":"reasoning.text"},{"index":1,"text":"two","type":"reasoning.text"}]`
	for path, body := range map[string][]byte{"messages.1.reasoning_details": request, "choices.0.message.reasoning_details": answer} {
		if got := string(at(body, path)); got != want || strings.Count(string(body), `"reasoning_details"`) != 1 {
			t.Errorf("%s of %s is %s", path, body, got)
		}
	}
}
