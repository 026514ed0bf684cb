package judge

import (
	"math"
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/llm"
)

// The check finds names of offered tools before possible arguments, also in forms that no reader knows.
func TestCheck(t *testing.T) {
	tools := []llm.ToolDef{{Name: "get_weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
	for text, want := range map[string]int{
		"The weather is fine.":                       0,
		"I use get_weather for that.":                0,
		"get_weather(city: Rome)":                    1,
		"getWeather(city='Rome')":                    1,
		"$ get_weather --city Rome":                  1,
		"POST /get_weather?city=Rome":                1,
		"the function get_weather(x)":                0,
		`{"city": "Rome", "tool": "get_weather"}`:    1,
		"get_weather[] list":                         0,
		"ｇｅｔ_ｗｅａｔｈｅｒ（city: Rome）":                    1,
		"It is called set_weather(city: Rome), see?": 0,
	} {
		e := NewEvidence(builtin, offered.New(tools), lexicon.RowSet{}, false)
		e.Buf, e.Pos, e.Eof = []byte(text), len(text), true
		Check{Evidence: &e, Open: math.MaxInt}.Finish()
		if got := len(e.Lost.Warnings(builtin)); got != want {
			t.Errorf("%q: %d warnings, want %d", text, got, want)
		}
	}
}
