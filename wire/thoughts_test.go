package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// thoughtOf returns the thinking of an answer, which is one document, or a stream of them.
func thoughtOf(answer []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(answer) {
		doc := bytes.TrimPrefix(line, []byte("data: "))
		if js.Kind(js.Trim(doc)) != '{' {
			continue
		}
		for _, path := range []string{"choices.0.message.reasoning_content", "choices.0.delta.reasoning_content", "message.thinking"} {
			b.WriteString(js.Text(at(js.Trim(doc), path)))
		}
	}
	return b.String()
}

// TestThoughtsAreJoinedAlike: formats with one text for all thinking join its parts in a stream as they do in one piece.
func TestThoughtsAreJoinedAlike(t *testing.T) {
	signed := llm.State{Vendor: Messages, Data: []byte(`{"signature":"s"}`)}
	for name, parts := range map[string][]llm.Part{
		"one":           {llm.Thinking{Text: "p1"}, llm.Text{Text: "A"}},
		"two":           {llm.Thinking{Text: "p1"}, llm.Thinking{Text: "p2"}, llm.Text{Text: "A"}},
		"signed":        {llm.Thinking{Text: "p1", State: signed}, llm.Thinking{Text: "p2", State: signed}, llm.Text{Text: "A"}},
		"around text":   {llm.Thinking{Text: "p1"}, llm.Text{Text: "A"}, llm.Thinking{Text: "p2"}, llm.Text{Text: "B"}},
		"around a call": {llm.Thinking{Text: "p1"}, llm.Call{ID: "c", Name: "f", Args: []byte("{}")}, llm.Thinking{Text: "p2"}},
		"redacted":      {llm.Thinking{Text: "p1"}, llm.Thinking{Redacted: true, State: signed}, llm.Thinking{Text: "p2"}},
		"only redacted": {llm.Thinking{Redacted: true, State: signed}, llm.Thinking{Text: "p2"}},
	} {
		r := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.Finish{Reason: llm.Stop}}
		for _, format := range []string{Chat, Ollama} {
			c := Codec{Format: format}
			whole, _, err := c.EncodeResponse(r)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			w := c.NewStream(&out, Head{})
			for _, ev := range r.Events() {
				if err := w.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := thoughtOf(out.Bytes()), thoughtOf(whole); got != want || want == "" {
				t.Errorf("%s: %s: the stream says %q, one piece %q", name, format, got, want)
			}
		}
	}
}
