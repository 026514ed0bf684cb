package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// In a chat stream pieces of one index are one call, also where its id comes after its name, unless a new name comes with a
// new id, as on servers that give all calls the index 0. No call is told with other arguments than its own.
func TestCallsWhoseIDComesLate(t *testing.T) {
	piece := func(index int, id, name, args string) string {
		p := ""
		if index >= 0 {
			p = fmt.Sprintf(`"index":%d,`, index)
		}
		if id != "" {
			p += `"id":"` + id + `",`
		}
		if name != "" {
			name = `"name":"` + name + `",`
		}
		return `{` + p + `"type":"function","function":{` + name + `"arguments":"` + strings.ReplaceAll(args, `"`, `\"`) + `"}}`
	}
	rome, oslo := `get_weather {"city":"Rome"}`, `get_weather {"city":"Oslo"}`
	for name, c := range map[string]struct {
		chunks []string
		want   []string
	}{
		"with the arguments":    {[]string{piece(0, "", "get_weather", ""), piece(0, "late", "", `{"city":`), piece(0, "", "", `"Rome"}`)}, []string{rome}},
		"in each piece":         {[]string{piece(0, "", "get_weather", ""), piece(0, "late", "", `{"city":`), piece(0, "late", "", `"Rome"}`), piece(0, "late", "", "")}, []string{rome}},
		"in the middle":         {[]string{piece(0, "", "get_weather", `{"ci`), piece(0, "late", "", `ty":"Rome"}`)}, []string{rome}},
		"behind the arguments":  {[]string{piece(0, "", "get_weather", `{"city":"Rome"}`), piece(0, "late", "", "")}, []string{rome}},
		"with the name again":   {[]string{piece(0, "", "get_weather", ""), piece(0, "late", "get_weather", `{"city":"Rome"}`)}, []string{rome}},
		"before the name":       {[]string{piece(0, "", "", ""), piece(0, "late", "", ""), piece(0, "", "get_weather", `{"city":"Rome"}`)}, []string{rome}},
		"another in each piece": {[]string{piece(0, "c1", "get_weather", ""), piece(0, "c2", "", `{"city":`), piece(0, "c3", "", `"Rome"}`)}, []string{rome}},
		"without an index":      {[]string{piece(-1, "", "get_weather", ""), piece(-1, "late", "", `{"city":"Rome"}`)}, []string{rome}},
		"of two": {[]string{piece(0, "", "get_weather", ""), piece(1, "", "get_weather", ""), piece(1, "two", "", `{"city":"Oslo"}`),
			piece(0, "one", "", `{"city":"Rome"}`)}, []string{rome, oslo}},
		"of one after the other": {[]string{piece(0, "", "get_weather", ""), piece(0, "one", "", `{"city":"Rome"}`), piece(1, "", "get_weather", ""), piece(1, "two", "", `{"city":"Oslo"}`)}, []string{rome, oslo}},
		"all of index 0":         {[]string{piece(0, "one", "get_weather", `{"city":"Rome"}`), piece(0, "two", "get_weather", `{"city":"Oslo"}`)}, []string{rome, oslo}},
		"all of index 0, in pieces": {[]string{piece(0, "one", "get_weather", ""), piece(0, "", "", `{"city":"Rome"}`), piece(0, "two", "get_weather", ""),
			piece(0, "", "", `{"city":"Oslo"}`)}, []string{rome, oslo}},
	} {
		t.Run(name, func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				const head = `data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":`
				for _, calls := range c.chunks {
					io.WriteString(w, head+`{"tool_calls":[`+calls+`]},"finish_reason":null}]}`+"\n\n")
				}
				io.WriteString(w, head+`{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
			}))
			t.Cleanup(up.Close)
			client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{wire.Chat}}}, Route: provider.Native}
			url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/gpt-5")}})
			for format := range roots {
				got := ask(t, url, format, question("m"), true)
				if got.err != nil {
					t.Errorf("%s: %v", format, got.err)
					continue
				}
				var calls, ids []string
				for _, call := range got.Message.Calls() {
					calls, ids = append(calls, call.Name+" "+string(call.Args)), append(ids, call.ID)
				}
				if !slices.Equal(calls, c.want) || got.Message.Text() != "" || got.Finish.Reason != llm.ToolCalls {
					t.Errorf("%s: calls %q, text %q, %s; want %q", format, calls, got.Message.Text(), got.Finish.Reason, c.want)
				}
				if slices.Sort(ids); len(slices.Compact(ids)) != len(c.want) {
					t.Errorf("%s: ids %q", format, ids)
				}
			}
			_, _, body := allOf(t, url, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Go."}],`+twoTools+`}`)
			ids, inputs := callsOf(t, body)
			if len(ids) != len(c.want) || slices.Contains(ids, "") || len(inputs) != len(c.want) || strings.Contains(body, `"late"`) && strings.Contains(body, `"call_1"`) {
				t.Errorf("ids %q, inputs %q of\n%s", ids, inputs, body)
			}
		})
	}
}
