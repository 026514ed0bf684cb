package emulate

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// question is one of the Berkeley Function Calling Leaderboard.
type question struct {
	id, text string
	tools    []llm.ToolDef
}

// questions reads a set of them, or skips the test.
func questions(t *testing.T, set string) []question {
	t.Helper()
	f, err := os.Open(corpus.Path(t, "bfcl/v4/BFCL_v4_"+set+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []question
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		var row struct {
			ID       string
			Question [][]struct{ Role, Content string }
			Function []struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		if err := json.Unmarshal(scan.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		q := question{id: row.ID}
		for _, m := range row.Question[0] {
			if m.Role == "user" {
				q.text = m.Content
			}
		}
		for _, d := range row.Function {
			q.tools = append(q.tools, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: schema.Normalize(d.Parameters)})
		}
		out = append(out, q)
	}
	return out
}

// The figures of the gate: what it keeps of the questions that want a call and
// turns away of those that want none. No model is asked.
func TestGateFigures(t *testing.T) {
	for _, set := range []struct {
		name        string
		least, most float64 // share of the questions that are let through
	}{
		{"simple_python", 0.9, 1}, {"multiple", 0.9, 1}, {"irrelevance", 0, 0.28}, {"live_simple", 0.7, 1}, {"live_multiple", 0.9, 1}, {"live_irrelevance", 0, 0.25},
	} {
		var calls, several int
		all := questions(t, set.name)
		for _, q := range all {
			v := decide(q.tools, llm.ToolChoice{}, false, lastTurn([]llm.Message{llm.User(q.text)}))
			if len(v.tools) > 0 {
				calls++
			}
			if len(v.tools) > 1 {
				several++
			}
		}
		share := float64(calls) / float64(len(all))
		t.Logf("%-18s %4d questions: a call for %.3f, several for %.3f", set.name, len(all), share, float64(several)/float64(len(all)))
		if share < set.least || share > set.most {
			t.Errorf("%s: %.3f, want between %.2f and %.2f", set.name, share, set.least, set.most)
		}
	}
}

var gateTools = []llm.ToolDef{
	{Name: "get_weather", Description: "Get the weather forecast for a city.", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)},
	{Name: "convert_currency", Description: "Convert an amount of money between currencies.", Schema: []byte(`{"type":"object","properties":{"amount":{"type":"number"},"from":{"type":"string"},"to":{"type":"string"}},"required":["amount","from","to"]}`)},
	{Name: "set_timer", Description: "Set a kitchen timer.", Schema: []byte(`{"type":"object","properties":{"minutes":{"type":"integer"}},"required":["minutes"]}`)},
}

// Decisions by reason: each case is a conversation and the tools it comes to.
func TestDecide(t *testing.T) {
	call := func(name string) llm.Message {
		return llm.Assistant(llm.Call{ID: "c_" + name, Name: name, Args: json.RawMessage(`{}`)})
	}
	result := func(name string) llm.Message {
		return llm.Results(llm.Result{CallID: "c_" + name, Name: name, Parts: []llm.Part{llm.Text{Text: "done"}}})
	}
	for _, c := range []struct {
		name     string
		messages []llm.Message
		choice   llm.ToolChoice
		one      bool
		want     string
	}{
		{name: "one fits", messages: []llm.Message{llm.User("What is the weather in Rome?")}, want: "get_weather"},
		{name: "none fits", messages: []llm.Message{llm.User("Why is the sky blue?")}},
		{name: "none fits, but a call is demanded", messages: []llm.Message{llm.User("Why is the sky blue?")}, choice: llm.ToolChoice{Mode: llm.MustCall}, want: "get_weather"},
		{name: "two things", messages: []llm.Message{llm.User("Get the weather in Rome and set a timer for 5 minutes.")}, want: "get_weather set_timer"},
		{name: "two things, one at a time", messages: []llm.Message{llm.User("Get the weather in Rome and set a timer for 5 minutes.")}, one: true, want: "get_weather"},
		{name: "the first is done", messages: []llm.Message{llm.User("Get the weather in Rome and set a timer for 5 minutes."), call("get_weather"), result("get_weather")}, want: "set_timer"},
		{name: "all is done", messages: []llm.Message{llm.User("What is the weather in Rome?"), call("get_weather"), result("get_weather")}},
		{name: "a new request", messages: []llm.Message{llm.User("What is the weather in Rome?"), call("get_weather"), result("get_weather"), llm.Assistant(llm.Text{Text: "Sunny."}), llm.User("Set a timer for 3 minutes.")}, want: "set_timer"},
		{name: "the request goes on", messages: []llm.Message{llm.User("What is the weather in Rome?"), call("get_weather"), result("get_weather"), llm.Assistant(llm.Text{Text: "Sunny."}), llm.User("And in Paris?")}, want: "get_weather"},
		{name: "thanks are no request", messages: []llm.Message{llm.User("What is the weather in Rome?"), llm.Assistant(llm.Text{Text: "Sunny."}), llm.User("Thank you very much!")}},
		{name: "numbers are missing", messages: []llm.Message{llm.User("Convert my currency")}},
		{name: "named", messages: []llm.Message{llm.User("Use set_timer, then get_weather.")}, want: "set_timer get_weather"},
	} {
		v := decide(gateTools, c.choice, c.one, lastTurn(c.messages))
		got := ""
		for i, d := range v.tools {
			if i > 0 {
				got += " "
			}
			got += d.Name
		}
		if got != c.want || v.why == "" {
			t.Errorf("%s: %q, want %q: %s", c.name, got, c.want, v.why)
		}
	}
}

func TestNumbersIn(t *testing.T) {
	for text, want := range map[string]string{
		"a=3, b = -11 and c=-4.":            "3 -11 -4",
		"$1,234.50 and 10,000":              "1234.5 10000",
		"213 million in 2022":               "213000000 2022",
		"8.5 million km":                    "8500000",
		"a rate of 5%":                      "5 0.05",
		"twenty minutes, two thousand feet": "20 2000",
		"1-10, H2O, 2023-05-01":             "1 10 2023 5",
		"next week":                         "1 7",
		"in 3 weeks":                        "3",
		"5 percent":                         "5 0.05",
		"no number":                         "",
		"10k run":                           "10000",
	} {
		got := ""
		for i, n := range numbersIn(text) {
			if i > 0 {
				got += " "
			}
			got += n.text
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzNumbersIn(f *testing.F) {
	f.Add("a=-3, 10,000 and 5% of 2 million in H2O")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range numbersIn(text) {
			if !json.Valid([]byte(n.text)) {
				t.Errorf("%q gives %q, which is no JSON number", text, n.text)
			}
		}
	})
}

func TestEvidence(t *testing.T) {
	e := evidenceFor(turn{text: "Find the fastest route to Rome in 2020, in metric units, with toll roads avoided."}, "find_route")
	property := func(s string) object { o, _ := readObject(json.RawMessage(s)); return o }
	for _, c := range []struct {
		name, schema string
		offers       bool
		affirms      bool
	}{
		{"avoid_tolls", `{"type":"boolean"}`, true, true},
		{"avoid_ferries", `{"type":"boolean"}`, false, false},
		{"units", `{"type":"string","enum":["metric","imperial"]}`, true, false},
		{"units", `{"type":"string","enum":["metric","imperial"],"default":"metric"}`, false, false},
		{"route", `{"type":"string"}`, false, false},
		{"language", `{"type":"string"}`, false, false},
	} {
		if got := e.offers(c.name, property(c.schema)); got != c.offers {
			t.Errorf("%s %s: offered %v", c.name, c.schema, got)
		}
		if got := e.affirms(c.name); got != c.affirms {
			t.Errorf("%s: affirmed %v", c.name, got)
		}
	}
	if evidenceFor(turn{text: "Do not avoid tolls"}, "").affirms("avoid_tolls") {
		t.Error("what is refused is not affirmed")
	}
	if got := choicesIn("Can be 'melting', 'freezing' or \"boiling\"."); len(got) != 3 {
		t.Errorf("choices %v", got)
	}
	if got := choicesIn("A city, for instance 'Rome'."); got != nil {
		t.Errorf("choices %v", got)
	}
}
