package wire_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestDocumentsOfMessages checks what becomes of documents of the Messages format where the vendor takes no such file.
func TestDocumentsOfMessages(t *testing.T) {
	const (
		byURL = `{"type":"document","source":{"type":"url","url":"https://x/a.pdf"}}`
		plain = `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"DOC1"},"title":"T1"}`
		pdf   = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
		named = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"T1"}`
		held  = `{"type":"document","source":{"type":"file","file_id":"file_011CN"}}`
	)
	for _, c := range []struct{ block, to, want, not, feature string }{
		{byURL, wire.Chat, `{"type":"text","text":"https://x/a.pdf"}`, "file_data", "document"},
		{byURL, wire.Responses, `"file_url":"https://x/a.pdf"`, "file_data", ""},
		{plain, wire.Chat, `{"type":"text","text":"T1\nDOC1"}`, "file_data", "document"},
		{plain, wire.Responses, `"filename":"T1.txt"`, "", ""},
		{plain, wire.Gemini, `"inlineData"`, "displayName", "document name"},
		{pdf, wire.Chat, `"filename":"document.pdf"`, "", ""},
		{pdf, wire.Responses, `"filename":"document.pdf"`, "", ""},
		{named, wire.Chat, `"filename":"T1.pdf"`, "", ""},
		{named, wire.Gemini, `"inlineData"`, "displayName", "document name"},
		{held, wire.Chat, `"Q"`, "file_011CN", "file_id"},
		{held, wire.Responses, `"Q"`, "file_011CN", "file_id"},
		{held, wire.Gemini, `"Q"`, "file_011CN", "file_id"},
		{held, wire.Messages, held, "displayName", ""},
	} {
		got, lost := translated(t, wire.Messages, c.to, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[`+c.block+`,{"type":"text","text":"Q"}]}]}`)
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s in %s: got %s\nwant %s, not %s", c.block, c.to, got, c.want, c.not)
		}
		if c.feature == "" && len(lost) > 0 || c.feature != "" && !namedAny(lost, c.feature) {
			t.Errorf("%s in %s: warnings %v, want of %q", c.block, c.to, lost, c.feature)
		}
	}
}

func namedAny(lost []llm.Warning, feature string) bool { return named(lost, feature, "") }

// TestFilesOfClients checks that files which a client of a format wrote in its own way stay as they are in that format, and that
// both formats of OpenAI hold the same files.
func TestFilesOfClients(t *testing.T) {
	for _, c := range []struct{ from, to, part, want string }{
		{wire.Chat, wire.Chat, `{"type":"file","file":{"file_data":"https://x/a.pdf"}}`, ""},
		{wire.Chat, wire.Chat, `{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,YQ=="}}`, ""},
		{wire.Chat, wire.Chat, `{"type":"file","file":{"filename":"a","file_data":"data:application/pdf;base64,YQ=="}}`, ""},
		{wire.Chat, wire.Chat, `{"type":"file","file":{"file_id":"file-1"}}`, ""},
		{wire.Chat, wire.Responses, `{"type":"file","file":{"file_id":"file-1"}}`, `{"type":"input_file","file_id":"file-1"}`},
	} {
		got, lost := translated(t, c.from, c.to, `{"model":"m","messages":[{"role":"user","content":[`+c.part+`]}]}`)
		if want := c.want; !strings.Contains(got, cmpOr(want, c.part)) || len(lost) > 0 {
			t.Errorf("%s in %s: %s, %v", c.part, c.to, got, lost)
		}
	}
	gemini := `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"YQ==","displayName":"i.png"}}]}]}`
	if got, lost := translated(t, wire.Gemini, wire.Gemini, gemini); !strings.Contains(got, `"displayName":"i.png"`) || len(lost) > 0 {
		t.Errorf("a name of its own in the gemini format: %s, %v", got, lost)
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestForeignFilesRepaired checks that a healed history holds no id of a file that another vendor has, and keeps ids that have no label.
func TestForeignFilesRepaired(t *testing.T) {
	held := func(label string) []llm.Message {
		m := llm.Media{Kind: llm.Document, ID: "file_1"}
		if label != "" {
			m.State = llm.State{Vendor: label, Data: []byte(`{"type":"file"}`)}
		}
		return []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "q"}, m}}}
	}
	for label, want := range map[string]int{"": 2, "openai/responses": 2, "openai/chat": 2, "chat": 2, "azure/responses": 1, "messages": 1, "anthropic/messages": 1} {
		healed, lost := history.Repair(held(label), "openai/responses")
		if n := len(healed[0].Parts); n != want || (n == 1) != namedAny(lost, "file_id") {
			t.Errorf("%q: %d parts, %v", label, n, lost)
		}
	}
}

// TestFileCitations checks that a chat client is told that a citation names a file, in one piece and streamed.
func TestFileCitations(t *testing.T) {
	cite := llm.Citation{Title: "a.txt", Raw: llm.State{Vendor: wire.Responses, Data: []byte(`{"type":"container_file_citation","container_id":"c","file_id":"f","filename":"a.txt"}`)}}
	codec, _ := wire.For(wire.Chat)
	finish := llm.Finish{Reason: llm.Stop, ID: "i", Model: "m"}
	_, lost, err := codec.EncodeResponse(&llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "t", Citations: []llm.Citation{cite}}}}, Finish: finish})
	if err != nil || !namedAny(lost, "citations.file_id") || !namedAny(lost, "citations.container_id") {
		t.Errorf("in one piece: %v, %v", lost, err)
	}
}

var documentNames = regexp.MustCompile(`"document":\{"format":"[a-z]+","name":"([^"]*)"`)

func namesInConverse(t *testing.T, msgs []llm.Message) ([]string, []llm.Warning) {
	t.Helper()
	codec, _ := wire.For(wire.Converse)
	body, lost, err := codec.EncodeRequest(&llm.Request{Model: "m", Messages: msgs}, false)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range documentNames.FindAllSubmatch(body, -1) {
		names = append(names, string(m[1]))
	}
	return names, lost
}

// TestDocumentNamesOnce checks that no two documents of a Converse request have one name, wherever they stand, and that each keeps
// its name as the conversation grows: Amazon refuses names that stand twice.
func TestDocumentNamesOnce(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ names, want []string }{
		{[]string{"a.pdf", "a.pdf", "a.pdf"}, []string{"a", "a 2", "a 3"}},
		{[]string{"a.pdf", "a"}, []string{"a", "a 2"}},
		{[]string{"a_b.pdf", "a-b.pdf"}, []string{"a-b", "a-b 2"}},
		{[]string{"a", "a", "a 2", "a"}, []string{"a", "a 2", "a 2 2", "a 3"}},
		{[]string{"a", "a 2", "a", "a"}, []string{"a", "a 2", "a 3", "a 4"}},
		{[]string{"", ""}, []string{"document 1", "document 2"}},
		{[]string{"document 1", "", "document 2", ""}, []string{"document 1", "document 2", "document 2 2", "document 3"}},
		{[]string{"", "document 1"}, []string{"document 1", "document 1 2"}},
		{[]string{long, long}, []string{long[:200], long[:198] + " 2"}},
	} {
		for _, place := range []string{"one turn", "turns", "results"} {
			var msgs []llm.Message
			for i, name := range c.names {
				doc := llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: name, Data: []byte("%PDF-")}
				switch {
				case place == "one turn" && i > 0:
					msgs[0].Parts = append(msgs[0].Parts, doc)
				case place == "results" && i > 0:
					id := fmt.Sprint("c", i)
					msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: id, Name: "f", Args: []byte("{}")}}},
						llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: id, Name: "f", Parts: []llm.Part{doc}}}})
				default:
					msgs = append(msgs, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "q"}, doc}}, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "a"}}})
				}
				if got, _ := namesInConverse(t, msgs); !slices.Equal(got, c.want[:i+1]) {
					t.Errorf("%s, %.40q: %.60q, want %.60q", place, c.names[:i+1], got, c.want[:i+1])
				}
			}
		}
	}
	twice := []llm.Part{llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: "a", Data: []byte("1")}, llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: "a", Data: []byte("2")}}
	if _, lost := namesInConverse(t, []llm.Message{{Role: llm.RoleUser, Parts: twice}}); len(lost) != 1 || !strings.Contains(lost[0].Detail, "once") {
		t.Errorf("warnings: %v", lost)
	}
}
