package provider

import (
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
		r := opened.(*Model).choose(req)
		if why := strings.Join(r.Why, "; "); r.Promotion != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s, entry %q, request %q: %s, because %s", c.id, c.entry, c.request, r.Promotion, why)
		}
	}
}
