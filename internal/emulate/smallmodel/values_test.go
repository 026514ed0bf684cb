package smallmodel

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// boundFor returns what a property may be after a request, and whether it is
// offered. needed makes it required.
func boundFor(t *testing.T, request, name, property string, needed bool) (string, bool) {
	t.Helper()
	schema := `{"type":"object","properties":{"` + name + `":` + property + `}}`
	if needed {
		schema = strings.TrimSuffix(schema, "}") + `,"required":["` + name + `"]}`
	}
	host := emulate.Host{Schema: func(_ *llm.Request, s json.RawMessage) { schema = string(s) }}
	e := emulate.Emulation{Size: 1, Host: host, Decider: Wording{}}
	_, err := e.Plan(&llm.Request{Messages: []llm.Message{llm.User(request)}, Choice: llm.ToolChoice{Mode: llm.MustCall},
		Tools: []llm.ToolDef{{Name: "the_tool", Schema: json.RawMessage(schema)}}})
	if err != nil {
		t.Fatal(err)
	}
	props := keywordsOf(keywordsOf(json.RawMessage(schema))["properties"])
	return string(props[name]), props.has(name)
}

// What is offered of an optional parameter: nothing where the request gives no
// reason, else the values that it names, in the form that the description wants.
func TestOptionalValues(t *testing.T) {
	const (
		date    = `{"type":"string","description":"The day, in the format YYYY-MM-DD."}`
		usDate  = `{"type":"string","description":"The day (MM/DD/YYYY)."}`
		clock   = `{"type":"string","description":"When, as HH:MM in 24-hour format."}`
		yes     = `{"type":"boolean"}`
		yesWord = `{"type":"string","enum":["True","False","dontcare"]}`
		number  = `{"type":"integer"}`
		text    = `{"type":"string"}`
	)
	for _, c := range []struct{ request, name, property, want string }{
		{"Concerts on the 12th of May 2031", "date", date, `{"enum":["2031-05-12"]}`},
		{"Concerts on May 12th. It is 2031 now.", "date", date, `{"enum":["2031-05-12"]}`},
		{"Concerts on 2031.5.12, please", "date", usDate, `{"enum":["05/12/2031"]}`},
		{"Concerts tomorrow; today is Monday, 12 May 2031", "date", date, `{"enum":["2031-05-13"]}`},
		{"Concerts next Friday, today is 2031-05-12", "date", date, `{"enum":["2031-05-16"]}`},
		{"From May 1 to May 9 2031", "start_date", date, `{"enum":["2031-05-01"]}`},
		{"From May 1 to May 9 2031", "end_date", date, `{"enum":["2031-05-09"]}`},
		{"Free on May 1, 2031", "end_date", date, ""},
		{"Free until May 1, 2031", "end_date", date, `{"enum":["2031-05-01"]}`},
		{"Concerts in Oslo", "date", date, ""},
		{"A table at 7:30 pm", "time", clock, `{"enum":["19:30"]}`},
		{"A table at noon", "time", clock, `{"enum":["12:00"]}`},
		{"A table for 7 people", "time", clock, ""},
		{"Museums that are good for children", "good_for_kids", yes, `{"enum":[true]}`},
		{"Museums that are good for children", "good_for_kids", yesWord, `{"enum":["True"]}`},
		{"Museums in Oslo", "good_for_kids", yes, ""},
		{"Send a private note", "private_visibility", yes, `{"enum":[true]}`},
		{"A house for 3 people", "number_of_adults", number, `{"enum":[3]}`},
		{"A 4-star hotel with 2 rooms", "star_rating", number, `{"enum":[4]}`},
		{"A hotel for 2 nights", "star_rating", number, ""},
		{"Films starring Ada Ash and directed by Bo Birk", "cast", text, `{"enum":["Ada Ash"]}`},
		{"Films starring Ada Ash and directed by Bo Birk", "directed_by", text, `{"enum":["Bo Birk"]}`},
		{"A film with Ada Ash as the director", "directed_by", text, `{"enum":["Ada Ash"]}`},
		{"A film acted by Ada Ash", "directed_by", text, ""},
		{"Play Blue Moon by The Larks", "artist", text, `{"enum":["The Larks"]}`},
		{"Play Blue Moon", "artist", text, ""},
		{"Some parks to visit", "category", `{"type":"string","enum":["Park","Museum"]}`, `{"enum":["Park"]}`},
		{"Which category is best?", "category", `{"type":"string","enum":["Park","Museum"]}`, ""},
		{"Two rooms, please", "number_of_rooms", `{"type":"string","enum":["1","2","3"]}`, `{"enum":["2"]}`},
		{"Grow by 10% within 3 years", "growth_percentage", `{"type":"integer","description":"in percent"}`, `{"enum":[10]}`},
	} {
		got, offered := boundFor(t, c.request, c.name, c.property, false)
		if got != c.want || offered != (c.want != "") {
			t.Errorf("%q, %s: %s, want %s", c.request, c.name, got, c.want)
		}
	}
}

// What a required parameter may be.
func TestRequiredValues(t *testing.T) {
	const city = `{"type":"string","description":"The place, in the format 'City, State'."}`
	for _, c := range []struct{ request, name, property, want string }{
		{"Hotels in Chicago", "city", city, `{"enum":["Chicago, IL"]}`},
		{"Hotels in chicago", "city", city, `{"enum":["Chicago, IL"]}`},
		{"Hotels in Paris", "city", city, `{"enum":["Paris, France"]}`},
		{"Hotels in Paris, TX", "city", city, `{"enum":["Paris, TX"]}`},
		{"Hotels in Paris Texas", "city", city, `{"enum":["Paris, TX"]}`},
		{"Hotels in LA", "city", city, `{"enum":["Los Angeles, CA"]}`},
		{"A bus from Denver to Seattle", "from_city", city, `{"enum":["Denver, CO"]}`},
		{"A bus from Denver to Seattle", "destination", city, `{"enum":["Seattle, WA"]}`},
		{"The tax in Oregon", "state", `{"type":"string","description":"Two-letter code of the state."}`, `{"enum":["OR"]}`},
		{"It is 298 K and 5 m wide", "width", `{"type":"number"}`, `{"enum":[298,298000,5,5000000]}`},
		{"Keep those above 50%, in windows of 3", "share", `{"type":"integer","description":"The percentage to keep"}`, `{"enum":[50]}`},
		{"At a rate of 5%", "rate", `{"type":"number","description":"As a decimal: 5% is 0.05"}`, `{"enum":[0.05]}`},
	} {
		if got, _ := boundFor(t, c.request, c.name, c.property, true); got != c.want {
			t.Errorf("%q, %s: %s, want %s", c.request, c.name, got, c.want)
		}
	}
	got, _ := boundFor(t, "Hotels in Smallville", "city", city, true)
	if !strings.Contains(got, `"Smallville, KS"`) || strings.Contains(got, `"Smallville"`) {
		t.Errorf("a city that nobody knows gets a state that the model chooses, not %s", got)
	}
	got, _ = boundFor(t, "Recipes with eggs and ham", "ingredients", `{"type":"array","items":{"type":"string"}}`, true)
	if !strings.Contains(got, `"maxItems":3`) {
		t.Errorf("a list has no more items than the request can list: %s", got)
	}
}

// Of the fields of an object that may all be left out, those that the request
// speaks of are written; all of them if it speaks of none.
func TestOptionalFieldsOfObjects(t *testing.T) {
	const body = `{"type":"object","properties":{"mode":{"type":"string","enum":["cool","heat"]},"monitoring":{"type":"boolean"}}}`
	if got, _ := boundFor(t, "Set it to cool", "body", body, true); !strings.Contains(got, `"required":["mode"]`) {
		t.Errorf("%s", got)
	}
	if got, _ := boundFor(t, "Change it", "body", body, true); !strings.Contains(got, `"required":["mode","monitoring"]`) {
		t.Errorf("%s", got)
	}
}

// Copied runs of words neither begin nor end with stop words.
func TestCopiedRunsSkipStopWords(t *testing.T) {
	words := copyWords(strings.Fields("Find rain in Lang Son in the winter"))
	for i, want := range []emulate.CopyWord{{Text: "Find", Ends: true}, {Text: "rain", Begins: true, Ends: true}, {Text: "in"}, {Text: "Lang", Begins: true, Ends: true}, {Text: "Son", Begins: true, Ends: true}, {Text: "in"}, {Text: "the"}, {Text: "winter", Begins: true, Ends: true}} {
		if words[i] != want {
			t.Errorf("%+v, want %+v", words[i], want)
		}
	}
}

// Whether a tool can be called at all, and which of two.
func TestGateNeedsValues(t *testing.T) {
	tools := []llm.ToolDef{
		{Name: "find_bus", Description: "Find a bus between cities.", Schema: []byte(`{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}},"required":["from","to"]}`)},
		{Name: "buy_bus_ticket", Description: "Buy a ticket for a bus between cities.", Schema: []byte(`{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"seats":{"type":"integer"}},"required":["from","to","seats"]}`)},
		{Name: "http_get", Description: "Send a GET request to an API and return data.", Schema: []byte(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`)},
		{Name: "list_plays", Description: "List plays of a theater.", Schema: []byte(`{"type":"object","properties":{"kind":{"type":"string","enum":["tragedy","comedy"]}},"required":["kind"]}`)},
	}
	for request, want := range map[string]string{
		"Can you help me find a bus?":                              "",
		"Find a bus from Oslo to Bergen":                           "find_bus",
		"I need a bus ticket from Oslo to Bergen for 2":            "buy_bus_ticket",
		"Send a GET request to the weather API":                    "",
		"Send a GET request to https://example.com/a":              "http_get",
		"I want a tragedy":                                         "list_plays",
		"Find a bus from Oslo to Bergen, and make sure it is safe": "find_bus",
	} {
		got := ""
		chosen, _ := conversationOf([]llm.Message{llm.User(request)}).Choose(tools, llm.ToolChoice{}, false)
		for _, d := range chosen {
			got = strings.TrimSpace(got + " " + d.Name)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", request, got, want)
		}
	}
}

func FuzzMoments(f *testing.F) {
	f.Add("tomorrow at 5:30pm, today is Monday, 12 May 2031, or 31/12/1999", "in the format YYYY-MM-DD")
	f.Fuzz(func(t *testing.T, text, about string) {
		e := (&conversation{text: text, known: text}).evidence(llm.ToolDef{Name: "tool"})
		property := js.Marshal(map[string]string{"type": "string", "description": about})
		for _, name := range []string{"date", "start_time", "city", "artist"} {
			e.Offers(name, property)
			if out := e.Text(name, property); out != nil && !json.Valid(out) {
				t.Errorf("%q gives %s", text, out)
			}
		}
	})
}

// The gate finds both tools of each of the questions that the real model is
// asked in conformance/realmodel, and none where none is wanted.
func TestGateFindsEveryTool(t *testing.T) {
	const dir = "../../../conformance/realmodel/testdata/"
	var tools []llm.ToolDef
	raw, err := os.ReadFile(dir + "tools.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range js.Decode[[]struct {
		Name, Description string
		Parameters        json.RawMessage
	}](raw) {
		tools = append(tools, llm.ToolDef{Name: row.Name, Description: row.Description, Schema: row.Parameters})
	}
	for _, name := range []string{"two_tools.jsonl", "ten.jsonl"} {
		raw, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(bytes.TrimSpace(raw)) {
			row := js.Decode[struct {
				Text string
				Want []string
			}](line)
			chosen, reason := conversationOf([]llm.Message{llm.User(row.Text)}).Choose(tools, llm.ToolChoice{}, false)
			var got []string
			for _, d := range chosen {
				got = append(got, d.Name)
			}
			slices.Sort(got)
			slices.Sort(row.Want)
			if !slices.Equal(got, row.Want) {
				t.Errorf("%q: %v, want %v: %s", row.Text, got, row.Want, reason)
			}
		}
	}
}
