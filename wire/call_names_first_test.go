package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestNamesBehindArguments: arguments that come before the name of their call are its own, and a name that is all there is so far is one, also where
// its beginning is the name of a tool.
func TestNamesBehindArguments(t *testing.T) {
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

// TestNamesThatNeverCome: arguments of which the name never comes are no call that can be run, and do not become part of the next.
func TestNamesThatNeverCome(t *testing.T) {
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

// TestFunctionCallOfOldInPieces: the function_call of old is one call, in whatever pieces its name and arguments come. A relay passes it on as it is.
func TestFunctionCallOfOldInPieces(t *testing.T) {
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
