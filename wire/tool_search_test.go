package wire_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestDeferredTools: the vendor's own search and the tools it searches, there and back.
func TestDeferredTools(t *testing.T) {
	plain := llm.ToolDef{Name: "near", Description: "At hand.", Schema: []byte(`{"type":"object","properties":{}}`)}
	far := plain
	far.Name = "far"
	for format, want := range map[string]string{
		wire.Messages:  `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`,
		wire.Responses: `{"type":"tool_search"}`,
	} {
		codec := wire.Codec{Format: format}
		req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Go.")}, MaxTokens: 9,
			Tools: []llm.ToolDef{{Kind: llm.HostedTool, Name: llm.ToolSearch}, plain, far.Deferred()}}
		body, warnings, err := codec.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 {
			t.Fatal(format, err, warnings)
		}
		var tools []json.RawMessage
		for el := range js.Elements(js.Get(body, "tools")) {
			tools = append(tools, el)
		}
		if len(tools) != 3 || string(tools[0]) != want || js.Get(tools[1], "defer_loading") != nil || !js.Is(js.Get(tools[2], "name"), "far") || string(js.Get(tools[2], "defer_loading")) != "true" {
			t.Errorf("%s: %s", format, js.Get(body, "tools"))
		}
		back, _, err := codec.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if back.Tools[0].Name != llm.ToolSearch || back.Tools[0].Kind != llm.HostedTool {
			t.Errorf("%s: the search comes back as %+v", format, back.Tools[0])
		}
		again, _, err := codec.EncodeRequest(back, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(js.Get(body, "tools")), string(js.Get(again, "tools"))); diff != "" {
			t.Errorf("%s: there and back again:\n%s", format, diff)
		}
	}
	chat, _, err := wire.Codec{Format: wire.Chat}.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("Go.")}, Tools: []llm.ToolDef{far.Deferred()}}, false)
	if err != nil || strings.Contains(string(chat), "defer_loading") {
		t.Errorf("a format without a search: %s, %v", chat, err)
	}
	if far.Extra != nil {
		t.Error("Deferred changes the definition it is called on")
	}
}

// The blocks of an answer in which the vendor searched: those of Anthropic's and OpenAI's
// documentation, with other tools.
var searches = map[string][]string{
	wire.Messages: {
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"weather"}}`,
		`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"far"}]}}`,
		`{"type":"tool_use","id":"toolu_1","name":"far","input":{}}`,
	},
	wire.Responses: {
		`{"type":"tool_search_call","id":"tsc_1","call_id":null,"execution":"server","status":"completed","arguments":{"query":"weather"}}`,
		`{"type":"tool_search_output","id":"tso_1","call_id":null,"execution":"server","status":"completed","tools":[{"type":"function","name":"far","description":"At hand.","defer_loading":true,"parameters":{"type":"object","properties":{}}}]}`,
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"far","arguments":"{}","status":"completed"}`,
	},
}

// TestSearchedAnswers: what the vendor searched and found is seen, the call of the found
// tool is an ordinary call, and all goes back as it came.
func TestSearchedAnswers(t *testing.T) {
	for format, blocks := range searches {
		codec := wire.Codec{Format: format}
		for how, body := range map[string]string{"whole": wholeAnswer(format, blocks), "streamed": streamedAnswer(format, blocks)} {
			t.Run(format+" "+how, func(t *testing.T) {
				var resp *llm.Response
				var err error
				if how == "whole" {
					resp, err = codec.DecodeResponse([]byte(body))
				} else {
					stream := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
						return codec.DecodeStream(strings.NewReader(body))
					})
					resp, err = llm.Generate(t.Context(), stream, &llm.Request{Messages: []llm.Message{llm.User("Go.")}})
				}
				if err != nil {
					t.Fatal(err)
				}
				searched, called := 0, 0
				for _, p := range resp.Message.Parts {
					c, ok := p.(llm.Call)
					if !ok {
						continue
					}
					if c.Hosted {
						searched++
						if c.Name != llm.ToolSearch || !strings.Contains(string(c.Args), "weather") {
							t.Errorf("the search is %+v", c)
						}
					} else if called++; c.Name != "far" {
						t.Errorf("the call is %+v", c)
					}
				}
				if searched != 1 || called != 1 {
					t.Errorf("%d searches, %d calls: %+v", searched, called, resp.Message.Parts)
				}
				req, _, err := codec.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User("Go."), resp.Message,
					{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: called1(resp), Name: "far", Parts: []llm.Part{llm.Text{Text: "ok"}}}}}}}, false)
				if err != nil {
					t.Fatal(err)
				}
				back, _, err := codec.DecodeRequest(req) // as a server or a gateway reads it
				if err != nil {
					t.Fatal(err)
				}
				back.Messages, _ = history.Repair(back.Messages, format)
				again, _, err := codec.EncodeRequest(back, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range blocks[:2] {
					if !strings.Contains(string(req), b) {
						t.Errorf("%s does not go back:\n%s", b, req)
					}
					if !strings.Contains(string(again), b) {
						t.Errorf("%s does not pass through a server:\n%s", b, again)
					}
				}
			})
		}
	}
}

func called1(r *llm.Response) string {
	for _, c := range r.Message.Calls() {
		if !c.Hosted {
			return c.ID
		}
	}
	return ""
}

func wholeAnswer(format string, blocks []string) string {
	all := strings.Join(blocks, ",")
	if format == wire.Messages {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + all + `],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
	}
	return `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[` + all + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
}

func streamedAnswer(format string, blocks []string) string {
	var b strings.Builder
	event := func(kind, data string) { b.WriteString("event: " + kind + "\ndata: " + data + "\n\n") }
	if format == wire.Messages {
		event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
		for i, block := range blocks {
			n := string(rune('0' + i))
			event("content_block_start", `{"type":"content_block_start","index":`+n+`,"content_block":`+block+`}`)
			event("content_block_stop", `{"type":"content_block_stop","index":`+n+`}`)
		}
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`)
		event("message_stop", `{"type":"message_stop"}`)
		return b.String()
	}
	event("response.created", `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}}`)
	for i, block := range blocks {
		n := string(rune('0' + i))
		event("response.output_item.added", `{"type":"response.output_item.added","output_index":`+n+`,"item":`+block+`}`)
		event("response.output_item.done", `{"type":"response.output_item.done","output_index":`+n+`,"item":`+block+`}`)
	}
	event("response.completed", `{"type":"response.completed","response":`+wholeAnswer(format, blocks)+`}`)
	return b.String()
}
