// Package jsonfix measures our repair of JSON against another library. It has
// its own module so that the library does not depend on it.
//
//	cd bench/jsonfix && go test -bench . -benchmem
package jsonfix

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kaptinlin/jsonrepair"
	"github.com/toolpost/toolpost/internal/jsonfix"
)

var cases = []struct{ name, in, want string }{
	{"trailing-comma", `{"name": "get_weather", "arguments": {"city": "Paris", "days": 3,},}`, `{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}`},
	{"single-quotes-python", `{'name': 'get_weather', 'arguments': {'city': 'Paris', 'metric': True, 'zip': None}}`, `{"name": "get_weather", "arguments": {"city": "Paris", "metric": true, "zip": null}}`},
	{"truncated", `{"name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2`, `{"name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}`},
	{"unquoted-keys", `{name: "get_weather", arguments: {city: "Paris"}}`, `{"name": "get_weather", "arguments": {"city": "Paris"}}`},
	{"raw-newline", "{\"text\": \"line one\nline two\"}", `{"text": "line one\nline two"}`},
	{"inner-quotes", `{"text": "he said "hello" to me", "n": 1}`, `{"text": "he said \"hello\" to me", "n": 1}`},
	{"missing-comma", `{"city": "Paris" "days": 3}`, `{"city": "Paris", "days": 3}`},
	{"comments", "{\"city\": \"Paris\", // the capital\n \"days\": 3 /* at most */}", `{"city": "Paris", "days": 3}`},
	{"prose-and-fence", "Here is the call:\n```json\n{\"city\": \"Paris\"}\n```\nDone.", `{"city": "Paris"}`},
	{"concatenated", `{"city": "Paris"}{"city": "Rome"}`, `[{"city": "Paris"}, {"city": "Rome"}]`},
	{"valid", `{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}`, `{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}`},
}

var libraries = []struct {
	name   string
	repair func(string) (string, error)
}{
	{"toolpost", func(s string) (string, error) {
		v, _, err := jsonfix.Fix(s)
		return string(v), err
	}},
	{"kaptinlin", jsonrepair.Repair},
}

// right reports whether a library gives the value that was meant.
func right(repair func(string) (string, error), in, want string) bool {
	got, err := repair(in)
	var x, y any
	return err == nil && json.Unmarshal([]byte(got), &x) == nil && json.Unmarshal([]byte(want), &y) == nil && reflect.DeepEqual(x, y)
}

func TestRight(t *testing.T) {
	for _, lib := range libraries {
		n := 0
		for _, c := range cases {
			if right(lib.repair, c.in, c.want) {
				n++
			} else if got, err := lib.repair(c.in); lib.name == "toolpost" {
				t.Errorf("%s: %s %v", c.name, got, err)
			} else {
				t.Logf("%s gets %s wrong: %.60s %v", lib.name, c.name, got, err)
			}
		}
		t.Logf("%s: %d of %d right", lib.name, n, len(cases))
	}
}

func BenchmarkRepair(b *testing.B) {
	for _, c := range cases {
		for _, lib := range libraries {
			b.Run(c.name+"/"+lib.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					lib.repair(c.in)
				}
			})
		}
	}
}
