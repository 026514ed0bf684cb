package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// resultIn is a request of a format whose last message is the result of a call, with content.
func resultIn(format, content string) string {
	if format == wire.Converse {
		return `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"n","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[` + content + `]}}]}]}`
	}
	return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"n","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[` + content + `]}]}]}`
}

// translated returns what becomes of a request of one format in another.
func translated(t *testing.T, from, to, body string) (string, []llm.Warning) {
	t.Helper()
	in, _ := wire.For(from)
	out, _ := wire.For(to)
	req, _, err := in.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if req.Model == "" {
		req.Model = "m"
	}
	got, lost, err := out.EncodeRequest(req, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), lost
}

// named reports whether a warning says something about a feature.
func named(lost []llm.Warning, feature, detail string) bool {
	for _, w := range lost {
		if w.Feature == feature && strings.Contains(w.Detail, detail) {
			return true
		}
	}
	return false
}

var allFormats = []string{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Converse, wire.Ollama}

// TestReadableBlocks checks that what only one format has a block for, and has text, is that text in all others, in
// results and beside them, and the same block in its own.
func TestReadableBlocks(t *testing.T) {
	for _, c := range []struct{ format, block, want, lost string }{
		{wire.Messages, `{"type":"search_result","source":"https://s","title":"T2","content":[{"type":"text","text":"SR1"},{"type":"text","text":"SR2"}],"citations":{"enabled":true}}`, "T2\nhttps://s\nSR1\nSR2", "citations.enabled"},
		{wire.Messages, `{"type":"document","title":"T3","source":{"type":"content","content":[{"type":"text","text":"D1"}]},"context":"c"}`, "T3\nD1", "context"},
		{wire.Messages, `{"type":"document","source":{"type":"content","content":"D2"}}`, "D2", ""},
		{wire.Messages, `{"type":"document","source":{"type":"content","content":[{"type":"text","text":"D1"},{"type":"image","source":{"type":"url","url":"https://i"}}]}}`, "D1", "source.content.source.url"},
		{wire.Converse, `{"searchResult":{"source":"s","title":"t","content":[{"text":"SR1"}],"citations":{"enabled":true}}}`, "t\ns\nSR1", "searchResult.citations.enabled"},
		{wire.Converse, `{"document":{"format":"txt","name":"n","source":{"content":[{"text":"D1"}]}}}`, "n\nD1", ""},
	} {
		beside := `{"messages":[{"role":"user","content":[` + c.block + `]}],"max_tokens":9}`
		for _, body := range []string{resultIn(c.format, c.block), beside} {
			for _, to := range allFormats {
				got, lost := translated(t, c.format, to, body)
				if to == c.format {
					if !strings.Contains(got, c.block) {
						t.Errorf("%s: %s has become %s", to, c.block, got)
					}
					continue
				}
				quoted, _ := json.Marshal(c.want)
				if !strings.Contains(got, string(quoted)) {
					t.Errorf("%s in %s: got %s\nwant %s", c.block, to, got, quoted)
				}
				if c.lost != "" && !named(lost, c.lost, "only "+c.format) {
					t.Errorf("%s in %s: %q is not named: %v", c.block, to, c.lost, lost)
				}
				if named(lost, "opaque part", "") {
					t.Errorf("%s in %s: what is said is called lost: %v", c.block, to, lost)
				}
			}
		}
	}
}

// TestUnreadableResult checks that parts of results that others cannot read are named, and that the result is no empty list or
// text then.
func TestUnreadableResult(t *testing.T) {
	for _, before := range []string{"", `{"type":"text","text":"r"},`} {
		for _, to := range allFormats {
			got, lost := translated(t, wire.Messages, to, resultIn(wire.Messages, before+`{"type":"hologram","x":"H"}`))
			if to == wire.Messages {
				if !strings.Contains(got, `{"type":"hologram","x":"H"}`) || len(lost) > 0 {
					t.Errorf("the own format has %s, %v", got, lost)
				}
				continue
			}
			if !named(lost, "opaque part", `"hologram"`) {
				t.Errorf("%s: the part is not named: %v", to, lost)
			}
			for _, empty := range []string{`"content":[]`, `"output":[]`, `"output":""`, `["r",""]`} {
				if strings.Contains(got, empty) {
					t.Errorf("%s: %s in %s", to, empty, got)
				}
			}
			if before == "" && to == wire.Ollama && strings.Contains(got, `"role":"tool","content":""`) {
				t.Errorf("%s: an empty result: %s", to, got)
			}
			if before != "" && !strings.Contains(got, `"r"`) {
				t.Errorf("%s: the text beside it is gone: %s", to, got)
			}
		}
	}
}

// TestReadableBlocksRepaired checks that a healed history says what can be read of the blocks of another vendor.
func TestReadableBlocksRepaired(t *testing.T) {
	in, _ := wire.For(wire.Messages)
	req, _, err := in.DecodeRequest([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` +
		`{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"SR1"},{"type":"brand_new","x":1}],"citations":{"enabled":true}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	healed, lost := history.Repair(req.Messages, "gemini")
	text, _ := healed[0].Parts[0].(llm.Text)
	if text.Text != "t\ns\nSR1" || !text.State.IsZero() {
		t.Errorf("healed to %+v", text)
	}
	for _, feature := range []string{"citations.enabled", "content.x"} {
		if !named(lost, feature, "messages") {
			t.Errorf("%q is not named: %v", feature, lost)
		}
	}
	if same, _ := history.Repair(req.Messages, wire.Messages); !bytes.Equal(same[0].Parts[0].(llm.Text).State.Data, req.Messages[0].Parts[0].(llm.Text).State.Data) {
		t.Error("the vendor's own block is gone: " + fmt.Sprint(same))
	}
}
