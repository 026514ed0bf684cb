package provider

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// TestPromotion: the request decides before the model's entry, that before the
// vendor's row; emulated tools are read in any form; and the route says why.
func TestPromotion(t *testing.T) {
	yes, no := catalog.Answer{Support: catalog.Yes}, catalog.Answer{Support: catalog.No}
	for _, c := range []struct {
		id      string
		tools   catalog.Answer
		entry   string
		request llm.Promotion
		want    llm.Promotion
		why     string
	}{
		{"openai/x", yes, "", "", llm.PromoteOff, "the native calls of openai are reliable"},
		{"anthropic/x", yes, "", "", llm.PromoteOff, "reliable"},
		{"gemini/x", yes, "", "", llm.PromoteOff, "reliable"},
		{"vllm/x", yes, "", "", llm.PromoteMarked, "vllm may leave calls in the text"},
		{"openrouter/x", yes, "", "", llm.PromoteMarked, "with the markers of any dialect"},
		{"openai+http://127.0.0.1:1/v1#x", yes, "", "", llm.PromoteMarked, "may leave calls"},
		{"vllm/x", no, "", "", llm.PromoteAll, "the tools are taught"},
		{"openai/x", yes, "all", "", llm.PromoteAll, "the catalogue says so"},
		{"vllm/x", yes, "off", "", llm.PromoteOff, "the catalogue says so"},
		{"vllm/x", yes, "off", llm.PromoteAll, llm.PromoteAll, "the request says so"},
		{"vllm/x", no, "", llm.PromoteOff, llm.PromoteOff, "the request says so"},
	} {
		client := &Client{Catalog: catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: c.id}, Kind: "chat", NativeTools: c.tools, Promotion: c.entry})}
		opened, err := client.Open(c.id)
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{{Name: "f"}}, Promotion: c.request}
		r, err := opened.(*Model).Explain(req)
		if err != nil {
			t.Fatal(err)
		}
		if why := strings.Join(r.Why, "; "); r.Promotion != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s, entry %q, request %q: %s, because %s", c.id, c.entry, c.request, r.Promotion, why)
		}
	}
}

// TestMarkedReadsOwnDialect: where calls with markers are read from text, a
// model that the catalogue knows is read in its own dialect and in no other; one
// without a dialect of its own is not read at all, but a warning says what its
// text looks like. Only of an unknown model every marker counts.
func TestMarkedReadsOwnDialect(t *testing.T) {
	const hermes, mistral, fence = `<tool_call>{"name": "f", "arguments": {}}</tool_call>`, `[TOOL_CALLS]f[ARGS]{}`, "```json\n{\"name\": \"f\", \"arguments\": {}}\n```"
	for _, c := range []struct {
		model, text string
		request     llm.Promotion
		calls       int
		why         string
	}{
		{"gpt-5", hermes, "", 0, "has no dialect for it"},
		{"gpt-5", hermes, llm.PromoteMarked, 0, "has no dialect for it"},
		{"gpt-5", hermes, llm.PromoteAll, 1, "in any form"},
		{"gpt-5", fence, "", 0, "has no dialect for it"},
		{"gpt-4o", hermes, "", 0, "has no dialect for it"},
		{"gpt-4o", mistral, "", 0, "has no dialect for it"},
		{"qwen3:8b", hermes, "", 1, "own dialect, hermes_json"},
		{"qwen3:8b", mistral, "", 0, "own dialect, hermes_json"},
		{"zorgle", hermes, "", 1, "with the markers of any dialect"},
		{"zorgle", mistral, "", 1, "with the markers of any dialect"},
		{"zorgle", fence, "", 0, "with the markers of any dialect"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, "Let me look.\n"+c.text)
		}))
		defer server.Close()
		for _, scheme := range []string{"", "openai+"} {
			opened, err := (&Client{Whole: true, Route: Native}).Open(scheme + server.URL + "/v1#" + c.model)
			if err != nil {
				t.Fatal(err)
			}
			m := opened.(*Model)
			req := &llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{{Name: "f"}}, Promotion: c.request}
			route, err := m.Explain(req)
			if err != nil {
				t.Fatal(err)
			}
			if why := strings.Join(route.Why, "; "); !strings.Contains(why, c.why) {
				t.Errorf("%s%s: %s", scheme, c.model, why)
			}
			r, err := llm.Generate(context.Background(), m, req)
			if err != nil {
				t.Fatal(err)
			}
			suspected := false
			for _, w := range r.Warnings {
				suspected = suspected || w.Code == llm.SuspectedCall
			}
			if n := len(r.Message.Calls()); n != c.calls || suspected != (c.calls == 0) {
				t.Errorf("%s%s, request %q, %s: %d calls, want %d; warnings %v", scheme, c.model, c.request, c.text, n, c.calls, r.Warnings)
			}
		}
	}
}
