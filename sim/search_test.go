package sim_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// Requests with a search of the vendor's, an immediate tool and six deferred tools. TURNS is replaced by the messages
// after the question.
var searching = map[string]string{
	wire.Messages: `{"model":"sim/native+strict","max_tokens":500,"messages":[{"role":"user","content":"What is the weather in Rome?"}TURNS],"tools":[` +
		`{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},{"name":"clock","description":"Tells the time.","input_schema":{"type":"object"}}` +
		far(`,{"name":"NAME","description":"ABOUT","defer_loading":true,"input_schema":SCHEMA}`) + `]}`,
	wire.Responses: `{"model":"sim/native+strict","input":[{"role":"user","content":"What is the weather in Rome?"}TURNS],"tools":[` +
		`{"type":"tool_search"},{"type":"function","name":"clock","description":"Tells the time.","parameters":{"type":"object","properties":{}}}` +
		far(`,{"type":"function","name":"NAME","description":"ABOUT","defer_loading":true,"parameters":SCHEMA}`) + `]}`,
}

func far(def string) string {
	var b strings.Builder
	for name, about := range map[string]string{
		"get_weather": "Current weather in a city.", "weather_alerts": "Warnings about the weather in a city.", "send_mail": "Sends a message.",
		"get_stock": "The price of a stock.", "book_flight": "Books a flight.", "play_music": "Plays a song.",
	} {
		b.WriteString(strings.NewReplacer("NAME", name, "ABOUT", about, "SCHEMA", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`).Replace(def))
	}
	return b.String()
}

// TestToolSearch: a call of a deferred tool comes after the vendor's search that found it, in separate blocks. If the
// conversation has these blocks, the server does not search again; without them it does. A tool that no search can find
// is not called.
func TestToolSearch(t *testing.T) {
	server := httptest.NewServer(&sim.Server{})
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	for format, request := range searching {
		t.Run(format, func(t *testing.T) {
			ask := func(request, turns string) (blocks []string) {
				status, answer := post(t, server, format, "sim/native+strict", strings.Replace(request, "TURNS", turns, 1))
				if status != 200 {
					t.Fatalf("%d %s to %s", status, answer, turns)
				}
				for el := range js.Elements(js.Get([]byte(answer), map[string]string{wire.Messages: "content", wire.Responses: "output"}[format])) {
					blocks = append(blocks, string(el))
				}
				if used := js.Get(js.Get(js.Get([]byte(answer), "usage"), "server_tool_use"), "tool_search_requests"); format == wire.Messages && strings.Contains(answer, "server_tool_use\",\"id") && string(used) != "1" {
					t.Errorf("the usage does not count the search: %s", answer)
				}
				return blocks
			}
			first := ask(request, "")
			kinds := map[string][]string{
				wire.Messages:  {"server_tool_use", "tool_search_tool_result", "tool_use"},
				wire.Responses: {"tool_search_call", "tool_search_output", "function_call"},
			}[format]
			if len(first) != len(kinds) {
				t.Fatalf("%q", first)
			}
			for i, kind := range kinds {
				if got := js.Text(js.Get([]byte(first[i]), "type")); got != kind {
					t.Errorf("block %d is %s, not %s: %s", i, got, kind, first[i])
				}
			}
			if !strings.Contains(first[0], "weather") || !strings.Contains(first[1], `"get_weather"`) || strings.Count(first[1], "tool_name")+strings.Count(first[1], "defer_loading") > 5 {
				t.Errorf("searched %s\nfound %s", first[0], first[1])
			}
			if !strings.Contains(first[2], `"get_weather"`) {
				t.Errorf("called %s", first[2])
			}
			if again := ask(request, history(format, first)); len(again) != 1 || !strings.Contains(again[0], "get_weather") {
				t.Errorf("found already, and yet %q", again)
			}
			if again := ask(request, history(format, first[2:])); len(again) != 3 {
				t.Errorf("what was found is not in the conversation, and yet %q", again)
			}
			blind := strings.NewReplacer(`{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},`, "", `{"type":"tool_search"}`, `{"type":"tool_search","execution":"client"}`).Replace(request)
			for _, b := range ask(blind, "") {
				if strings.Contains(b, `"get_weather"`) {
					t.Errorf("called what nobody found: %s", b)
				}
			}
		})
	}
}

// history is the rest of a conversation in which the blocks were sent, answered, and the question asked again.
func history(format string, blocks []string) string {
	said := strings.Join(blocks, ",")
	if format == wire.Messages {
		id := js.Text(js.Get([]byte(blocks[len(blocks)-1]), "id"))
		return `,{"role":"assistant","content":[` + said + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"Sunny."}]},` +
			`{"role":"assistant","content":"It is sunny."},{"role":"user","content":"What is the weather in Paris?"}`
	}
	id := js.Text(js.Get([]byte(blocks[len(blocks)-1]), "call_id"))
	return "," + said + `,{"type":"function_call_output","call_id":"` + id + `","output":"Sunny."},{"role":"assistant","content":"It is sunny."},{"role":"user","content":"What is the weather in Paris?"}`
}
