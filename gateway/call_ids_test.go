package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// twoTools are a function and a custom tool.
const twoTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},{"type":"custom","custom":{"name":"patch"}}]`

// Calls of any kind never share an id, because the client could not assign results. In a stream, a call without an
// index that repeats the id of a complete call is a separate call.
func TestDuplicateCallIDs(t *testing.T) {
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

// callsOf merges the calls of a Chat document or stream, by index or position.
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

// In a Chat stream, chunks with the same index are one call, even if the id comes after the name. A new name with a new
// id begins another call, as on servers that give all calls the index 0. No call gets the arguments of another.
func TestLateCallIDs(t *testing.T) {
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

// A call without an id gets one, also in an answer in the client's own format, if results need ids. This holds for
// documents and streams, and for missing and empty ids.
func TestCallsWithoutIDs(t *testing.T) {
	frames := func(events ...string) string {
		var b strings.Builder
		for _, ev := range events {
			kind, data, _ := strings.Cut(ev, " ")
			b.WriteString("event: " + kind + "\ndata: " + data + "\n\n")
		}
		return b.String()
	}
	messages := func(ids [2]string) (whole, stream string) {
		use := func(i int, input string) string {
			return `{"type":"tool_use",` + strings.Replace(ids[i], "ID", "id", 1) + `"name":"get_weather","input":` + input + `}`
		}
		head := `{"id":"m1","type":"message","role":"assistant","model":"m","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1},`
		whole = head + `"content":[` + use(0, `{"city":"Rome"}`) + `,` + use(1, `{"city":"Oslo"}`) + `],"stop_reason":"tool_use"}`
		events := []string{`message_start {"type":"message_start","message":` + head + `"content":[],"stop_reason":null}}`}
		for i, city := range []string{"Rome", "Oslo"} {
			events = append(events, fmt.Sprintf(`content_block_start {"type":"content_block_start","index":%d,"content_block":%s}`, i, use(i, "{}")),
				fmt.Sprintf(`content_block_delta {"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"%s\"}"}}`, i, city),
				fmt.Sprintf(`content_block_stop {"type":"content_block_stop","index":%d}`, i))
		}
		return whole, frames(append(events, `message_delta {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}`, `message_stop {"type":"message_stop"}`)...)
	}
	responses := func(ids [2]string) (whole, stream string) {
		item := func(i int, args string) string {
			return fmt.Sprintf(`{"type":"function_call","id":"fc_%d",%s"name":"get_weather","arguments":"%s","status":"completed"}`, i, strings.Replace(ids[i], "ID", "call_id", 1), args)
		}
		head := `{"id":"r1","object":"response","created_at":1,"model":"m","tools":[],"usage":null,`
		whole = head + `"status":"completed","output":[` + item(0, `{\"city\":\"Rome\"}`) + `,` + item(1, `{\"city\":\"Oslo\"}`) + `]}`
		events := []string{`response.created {"type":"response.created","sequence_number":0,"response":` + head + `"status":"in_progress","output":[]}}`}
		for i, city := range []string{"Rome", "Oslo"} {
			args := `{\"city\":\"` + city + `\"}`
			events = append(events, fmt.Sprintf(`response.output_item.added {"type":"response.output_item.added","sequence_number":1,"output_index":%d,"item":%s}`, i, item(i, "")),
				fmt.Sprintf(`response.function_call_arguments.delta {"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_%d","output_index":%d,"delta":"%s"}`, i, i, args),
				fmt.Sprintf(`response.function_call_arguments.done {"type":"response.function_call_arguments.done","sequence_number":3,"item_id":"fc_%d","output_index":%d,"arguments":"%s"}`, i, i, args),
				fmt.Sprintf(`response.output_item.done {"type":"response.output_item.done","sequence_number":4,"output_index":%d,"item":%s}`, i, item(i, args)))
		}
		return whole, frames(append(events, `response.completed {"type":"response.completed","sequence_number":5,"response":`+whole+`}`)...)
	}
	converse := func(ids [2]string) (whole, _ string) {
		use := func(i int, city string) string {
			return `{"toolUse":{` + strings.Replace(ids[i], "ID", "toolUseId", 1) + `"name":"get_weather","input":{"city":"` + city + `"}}}`
		}
		return `{"output":{"message":{"role":"assistant","content":[` + use(0, "Rome") + `,` + use(1, "Oslo") + `]}},"stopReason":"tool_use","usage":{"inputTokens":5,"outputTokens":5,"totalTokens":10},"metrics":{"latencyMs":1}}`, ""
	}
	for _, ids := range [][2]string{{"", ""}, {`"ID":"",`, `"ID":"",`}, {"", `"ID":"call_1",`}, {`"ID":"one",`, `"ID":"one",`}} {
		for format, says := range map[string]func([2]string) (string, string){wire.Messages: messages, wire.Responses: responses, wire.Converse: converse} {
			whole, stream := says(ids)
			url := serve(t, gateway.Setup{Open: opening(bodyOf(t, format, stream, whole)), Routes: []gateway.ModelRoute{to("m", "up/m")}})
			for _, streams := range []bool{false, true} {
				if streams && stream == "" {
					continue
				}
				got := ask(t, url, format, question("m"), streams)
				codec, _ := wire.For(format)
				body, _, _ := codec.EncodeRequest(question("m"), streams)
				bytes := string(raw(t, url, format, "m", body, streams))
				var had []string
				for _, c := range got.Message.Calls() {
					had = append(had, c.ID+string(c.Args))
					if c.ID == "" || !strings.Contains(bytes, `"`+c.ID+`"`) {
						t.Errorf("%s, stream=%t, %q: the id %q is not in %s", format, streams, ids, c.ID, bytes)
					}
				}
				if len(had) != 2 || got.Message.Calls()[0].ID == got.Message.Calls()[1].ID || strings.Contains(bytes, `id":""`) {
					t.Errorf("%s, stream=%t, %q: %q %v in %s", format, streams, ids, had, got.err, bytes)
				}
			}
		}
	}
}

// The ids of calls in a Chat stream may come after all calls. Both calls are complete for clients of every format.
func TestCallIDsAfterAllCalls(t *testing.T) {
	chunk := func(delta, reason string) string {
		return `data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}` + "\n\n"
	}
	call := func(index int, members string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s}]}`, index, members), "null")
	}
	said := func(city string) string {
		return `"type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"` + city + `\"}"}`
	}
	late := call(0, said("Rome")) + call(1, said("Oslo")) + call(0, `"id":"idA"`) + call(1, `"id":"idB"`)
	again := late + call(0, `"id":"idA","function":{"arguments":""}`)
	for _, stream := range []string{late, again} {
		client := bodyOf(t, wire.Chat, stream+chunk("{}", `"tool_calls"`)+"data: [DONE]\n\n", "{}")
		url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
		for format := range roots {
			got := ask(t, url, format, question("m"), true)
			var had []string
			for _, c := range got.Message.Calls() {
				had = append(had, string(c.Args))
			}
			if got.err != nil || !slices.Equal(had, []string{`{"city":"Rome"}`, `{"city":"Oslo"}`}) || got.Message.Calls()[0].ID == got.Message.Calls()[1].ID {
				t.Errorf("%s: %v %q", format, got.err, had)
			}
		}
	}
}

// The new id of a call does not occur in the conversation, even if the client dropped the beginning.
func TestGeneratedCallIDsAreUnique(t *testing.T) {
	call := `{"index":0,"type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}`
	client := saying(t, `{"role":"assistant","tool_calls":[`+call+`]}`, "tool_calls")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, stream := range []bool{false, true} {
		_, _, got := allOf(t, url, "/v1/chat/completions", fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_2","content":"r"}],`, stream)+weatherTool+`}`)
		if strings.Contains(got, `"call_2"`) || !strings.Contains(got, `"call_3"`) {
			t.Errorf("stream=%t: %s", stream, got)
		}
	}
}

// A document with a null or empty finish reason ended naturally, like a stream. A document without the field, or
// without an answer, is an error.
func TestMissingFinishReasonInDocument(t *testing.T) {
	chat := func(message, reason string) string {
		return `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` + message + `}` + reason + `}]}`
	}
	anthropic := func(reason string) string {
		return `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],` + reason + `"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}`
	}
	bedrock := func(reason string) string {
		return `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},` + reason + `"usage":{"inputTokens":5,"outputTokens":5,"totalTokens":10},"metrics":{"latencyMs":1}}`
	}
	calls := `"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]`
	for _, c := range []struct {
		format, body string
		want         llm.Reason
	}{
		{wire.Chat, chat(`"content":"Hi"`, `,"finish_reason":null`), llm.Stop},
		{wire.Chat, chat(`"content":"Hi"`, `,"finish_reason":""`), llm.Stop},
		{wire.Chat, chat(calls, `,"finish_reason":null`), llm.ToolCalls},
		{wire.Chat, chat(`"content":"Hi"`, ``), ""},
		{wire.Messages, anthropic(`"stop_reason":null,`), llm.Stop},
		{wire.Messages, anthropic(`"stop_reason":"",`), llm.Stop},
		{wire.Messages, anthropic(``), ""},
		{wire.Converse, bedrock(`"stopReason":"",`), llm.Stop},
		{wire.Converse, bedrock(`"stopReason":null,`), llm.Stop},
	} {
		url := serve(t, gateway.Setup{Open: opening(bodyOf(t, c.format, c.body, c.body)), Routes: []gateway.ModelRoute{to("m", "up/m")}})
		got := ask(t, url, c.format, question("m"), false)
		if (got.err == nil) != (c.want != "") || got.err == nil && (got.Finish.Reason != c.want || len(got.Message.Parts) != 1) {
			t.Errorf("%s: %v %+v", c.body, got.err, got.Response)
		}
		codec, _ := wire.For(c.format)
		body, _, _ := codec.EncodeRequest(question("m"), false)
		resp, err := http.Post(url+roots[c.format]+"/"+codec.Path("m", false), "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if w := strings.Join(resp.Header.Values(exchange.WarningHeader), "\n"); c.want != "" && !strings.Contains(w, "finish reason") {
			t.Errorf("%s: the warning is %q", c.body, w)
		}
	}
}
