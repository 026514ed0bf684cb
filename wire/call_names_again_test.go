package wire

import (
	"testing"
)

// TestNamesOfUsedIDs: a second call that claims the id of another gets all of its own arguments, an index that comes late is the call's,
// and what comes behind a whole call and is no other tool's name is no call.
func TestNamesOfUsedIDs(t *testing.T) {
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
