package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// twoTools are a function and a custom tool.
const twoTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},{"type":"custom","custom":{"name":"patch"}}]`

// Two calls never have one id, of whatever kind they are: the client could not say whose result is whose. In a stream a
// call without an index that has the id of one that is whole is another call.
func TestCallsOfOneIDAreTold(t *testing.T) {
	custom := func(index, id, input string) string {
		return `{` + index + `"id":"` + id + `","type":"custom","custom":{"name":"patch","input":"` + input + `"}}`
	}
	function := func(index, id, city string) string {
		return `{` + index + `"id":"` + id + `","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"` + city + `\"}"}}`
	}
	piece := func(id, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"arguments":"` + args + `"}}`
	}
	begins := func(id, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"get_weather","arguments":"` + args + `"}}`
	}
	document := func(calls ...string) string {
		return `{"id":"a1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"tool_calls"}]}`
	}
	stream := func(chunks ...string) string {
		var out strings.Builder
		for _, calls := range chunks {
			out.WriteString(`data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]},"finish_reason":null}]}` + "\n\n")
		}
		return out.String() + `data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	}
	both := []string{"one", "two"}
	for name, c := range map[string]struct {
		said   string
		want   []string
		passes bool
	}{
		"custom":                   {document(custom("", "c", "one"), custom("", "c", "two")), both, false},
		"custom and function":      {document(custom("", "c", "one"), function("", "c", "Rome")), []string{"one", `{"city":"Rome"}`}, false},
		"function and custom":      {document(function("", "c", "Rome"), custom("", "c", "two")), []string{`{"city":"Rome"}`, "two"}, false},
		"custom of two ids":        {document(custom("", "c", "one"), custom("", "d", "two")), both, true},
		"custom without an id":     {document(custom("", "", "one"), custom("", "", "two")), both, false},
		"streamed":                 {stream(custom(`"index":0,`, "c", "one"), custom(`"index":1,`, "c", "two")), both, false},
		"streamed in one":          {stream(custom(`"index":0,`, "c", "one") + "," + custom(`"index":1,`, "c", "two")), both, false},
		"streamed, two ids":        {stream(custom(`"index":0,`, "c", "one"), custom(`"index":1,`, "d", "two")), both, true},
		"no index, in one":         {stream(custom("", "c", "one") + "," + custom("", "c", "two")), both, false},
		"functions without index":  {stream(function("", "c", "Rome"), function("", "c", "Oslo")), []string{`{"city":"Rome"}`, `{"city":"Oslo"}`}, false},
		"in one, without index":    {stream(function("", "c", "Rome") + "," + function("", "c", "Oslo")), []string{`{"city":"Rome"}`, `{"city":"Oslo"}`}, false},
		"in pieces, without index": {stream(begins("c", `{\"city\":`), piece("c", `\"Rome\"}`), begins("c", `{\"city\":`), piece("c", `\"Oslo\"}`)), []string{`{"city":"Rome"}`, `{"city":"Oslo"}`}, false},
		"all said each time":       {stream(begins("c", `{\"city\":`), begins("c", `\"Rome\"}`), begins("c", "")), []string{`{"city":"Rome"}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			streams := strings.HasPrefix(c.said, "data:")
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[streams])
				io.WriteString(w, c.said)
			}))
			t.Cleanup(up.Close)
			client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{wire.Chat}, Strict: true}}, Route: provider.Native}
			url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/gpt-5")}})
			body := `{"model":"m","messages":[{"role":"user","content":"Go."}],` + twoTools
			if streams {
				body += `,"stream":true`
			}
			status, _, got := allOf(t, url, "/v1/chat/completions", body+"}")
			ids, inputs := callsOf(t, got)
			if status != 200 || !slices.Equal(inputs, c.want) || (got == c.said) != c.passes {
				t.Errorf("status %d, inputs %q of\n%s", status, inputs, got)
			}
			if slices.Sort(ids); len(slices.Compact(ids)) != len(c.want) || slices.Contains(ids, "") {
				t.Errorf("ids %q of\n%s", ids, got)
			}
		})
	}
}

// callsOf adds up the calls of a document or a stream of chat, by their index or their place.
func callsOf(t *testing.T, body string) (ids, inputs []string) {
	t.Helper()
	type call struct {
		Index            *int
		ID               string
		Function, Custom struct{ Arguments, Input string }
	}
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimPrefix(line, "data: ")
		var chunk struct {
			Choices []struct {
				Message, Delta struct {
					Calls []call `json:"tool_calls"`
				}
			}
		}
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			for i, call := range slices.Concat(c.Message.Calls, c.Delta.Calls) {
				at := i
				if call.Index != nil {
					at = *call.Index
				}
				for len(ids) <= at {
					ids, inputs = append(ids, ""), append(inputs, "")
				}
				ids[at] += call.ID
				inputs[at] += call.Function.Arguments + call.Custom.Input
			}
		}
	}
	return ids, inputs
}
