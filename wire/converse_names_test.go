package wire_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

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
