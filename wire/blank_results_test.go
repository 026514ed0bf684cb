package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// answered is a request whose tool f gave that result.
func answered(r llm.Result) *llm.Request {
	r.CallID, r.Name = "c1", "f"
	return &llm.Request{Model: "m", MaxTokens: 5, Messages: []llm.Message{llm.User("hi"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "c1", Name: "f", Args: []byte("{}")}}}, {Role: llm.RoleTool, Parts: []llm.Part{r}}}}
}

// TestBlankResults: a result that is empty reaches each vendor in a form that it takes, and one of which nothing can be carried says so.
func TestBlankResults(t *testing.T) {
	blank, video := []llm.Part{llm.Text{}}, []llm.Part{llm.Media{Kind: llm.Video, URL: "https://x.test/y.mp4"}}
	for _, c := range []struct {
		Format string
		result llm.Result
		want   string // in the body
		lacks  string
	}{
		{Chat, llm.Result{Parts: blank}, `"content":""}`, codec.NotShown},
		{Responses, llm.Result{Parts: blank}, `"output":""}`, codec.NotShown},
		{Gemini, llm.Result{Parts: blank}, `"response":{"output":""}`, codec.NotShown},
		{Gemini, llm.Result{Failed: true}, `"response":{"error":""}`, codec.NotShown},
		{Ollama, llm.Result{Parts: blank}, `"content":"","tool_name"`, codec.NotShown},
		{Ollama, llm.Result{Parts: video}, codec.NotShown, `{"role":"user","content":""}`},
		{Messages, llm.Result{}, `"tool_use_id":"c1"}`, codec.NotShown},
		{Messages, llm.Result{Parts: blank}, `"content":""`, codec.NotShown},
		{Messages, llm.Result{Parts: video}, `"content":"` + codec.NotShown, `"content":[]`},
		{Messages, llm.Result{Failed: true}, `"content":"` + codec.NoOutput + `","is_error":true`, codec.NotShown},
		{Messages, llm.Result{Failed: true, Parts: blank}, `"content":"` + codec.NoOutput + `","is_error":true`, codec.NotShown},
		{Converse, llm.Result{}, `"content":[]`, codec.NotShown},
		{Converse, llm.Result{Parts: blank}, `"content":[]`, codec.NotShown},
		{Converse, llm.Result{Parts: video}, codec.NotShown, `"content":[]`},
		{Converse, llm.Result{Failed: true, Parts: blank}, codec.NoOutput, codec.NotShown},
	} {
		codec, _ := For(c.Format)
		body, _, err := codec.EncodeRequest(answered(c.result), false)
		if err != nil || !strings.Contains(string(body), c.want) || strings.Contains(string(body), c.lacks) {
			t.Errorf("%s, %+v: %v, want %s and not %s in\n%s", c.Format, c.result, err, c.want, c.lacks, body)
		}
	}
}

// TestNoOutputIsOurs: the words for a failed result without text are not taken for the tool's.
func TestNoOutputIsOurs(t *testing.T) {
	for _, format := range []string{Messages, Converse} {
		codec, _ := For(format)
		body, _, err := codec.EncodeRequest(answered(llm.Result{Failed: true}), false)
		if err != nil {
			t.Fatal(err)
		}
		req, _, err := codec.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if r := req.Messages[2].Parts[0].(llm.Result); !r.Failed || len(r.Parts) > 0 {
			t.Errorf("%s: %+v", format, r)
		}
	}
}

// TestConverseStatus: a word that Amazon refuses is refused here, with where it stands.
func TestConverseStatus(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"x"}],"status":WORD}}]}]}`
	codec, _ := For(Converse)
	for word, failed := range map[string]bool{`"success"`: false, `"error"`: true, `null`: false} {
		req, _, err := codec.DecodeRequest([]byte(strings.Replace(body, "WORD", word, 1)))
		if err != nil || req.Messages[2].Parts[0].(llm.Result).Failed != failed {
			t.Errorf("%s: %v", word, err)
		}
	}
	for _, word := range []string{`"failed"`, `""`, `"ERROR"`} {
		_, _, err := codec.DecodeRequest([]byte(strings.Replace(body, "WORD", word, 1)))
		if err == nil || !strings.Contains(err.Error(), "success or error") || !strings.Contains(err.Error(), "status") {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestComputerActions: a computer_call with several actions is a call with all of them, also where another vendor is told of it.
func TestComputerActions(t *testing.T) {
	const item = `{"type":"computer_call","id":"cu_1","call_id":"c1","status":"completed","pending_safety_checks":[],` +
		`"actions":[{"type":"click","button":"left","x":1,"y":2},{"type":"type","text":"hello"}]}`
	const want = `{"actions":[{"type":"click","button":"left","x":1,"y":2},{"type":"type","text":"hello"}]}`
	codec, _ := For(Responses)
	r, err := codec.DecodeResponse([]byte(`{"id":"r","object":"response","status":"completed","model":"m","output":[` + item + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if calls := r.Message.Calls(); len(calls) != 1 || string(calls[0].Args) != want {
		t.Errorf("in an answer: %+v", calls)
	}
	req, _, err := codec.DecodeRequest([]byte(`{"model":"m","input":[{"role":"user","content":"hi"},` + item + `,{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AAAA"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{Responses: item, Messages: `"input":` + want, Gemini: `"args":` + want} {
		to, _ := For(format)
		body, _, err := to.EncodeRequest(req, false)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v\n%s", format, err, body)
		}
	}
}
