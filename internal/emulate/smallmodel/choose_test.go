package smallmodel

import (
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate/internal/questions"
	"github.com/toolpost/toolpost/llm"
)

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
		all := questions.BFCL(t, set.name)
		for _, q := range all {
			chosen, _ := conversationOf([]llm.Message{llm.User(q.Text)}).Choose(q.Tools, llm.ToolChoice{}, false)
			if len(chosen) > 0 {
				calls++
			}
			if len(chosen) > 1 {
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
		chosen, reason := conversationOf(c.messages).Choose(questions.Tools, c.choice, c.one)
		got := ""
		for i, d := range chosen {
			if i > 0 {
				got += " "
			}
			got += d.Name
		}
		if got != c.want || reason == "" {
			t.Errorf("%s: %q, want %q: %s", c.name, got, c.want, reason)
		}
	}
}

func TestEvidence(t *testing.T) {
	e := (&conversation{text: "Find the fastest route to Rome in 2020, in metric units, with toll roads avoided."}).evidence(llm.ToolDef{Name: "find_route"})
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
		if got := e.Offers(c.name, json.RawMessage(c.schema)); got != c.offers {
			t.Errorf("%s %s: offered %v", c.name, c.schema, got)
		}
		if got := e.affirms(c.name, json.RawMessage(c.schema)) != nil; got != c.affirms {
			t.Errorf("%s: affirmed %v", c.name, got)
		}
	}
	if (&conversation{text: "Do not avoid tolls"}).evidence(llm.ToolDef{Name: ""}).affirms("avoid_tolls", json.RawMessage(`{"type":"boolean"}`)) != nil {
		t.Error("what is refused is not affirmed")
	}
	if got := choicesIn("Can be 'melting', 'freezing' or \"boiling\"."); len(got) != 3 {
		t.Errorf("choices %v", got)
	}
	if got := choicesIn("A city, for instance 'Rome'."); got != nil {
		t.Errorf("choices %v", got)
	}
}
