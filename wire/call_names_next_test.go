package wire

import (
	"testing"
)

// TestNamesOfTheNextCall: a tool's name behind whole arguments is the next call's where neither ids nor indexes tell, also if the name before
// it, which no tool has, begins it.
func TestNamesOfTheNextCall(t *testing.T) {
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
