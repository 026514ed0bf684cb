package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestMergePieces: what a client of a stream sends back in pieces has no lines or paragraphs that the model did not write, in
// formats with one text for a message. Texts of users, and those of a model that something stands between, stay apart.
func TestMergePieces(t *testing.T) {
	const history = `{"contents":[{"role":"user","parts":[{"text":"One."},{"text":"Two."}]},
		{"role":"model","parts":[{"thought":true,"text":"plan "},{"thought":true,"text":"tw"},{"thought":true,"text":"o"},{"text":"The pas"},{"text":"sword i"},{"text":"s 4711.","thoughtSignature":"c2ln"},
		{"functionCall":{"name":"f","args":{}}},{"text":"After."}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"ok"}}}]}]}`
	req, _, err := Codec{Format: Gemini}.DecodeRequest([]byte(history))
	if err != nil {
		t.Fatal(err)
	}
	one := Codec{Format: Gemini}.MergePieces(req.Messages)
	if got := one[1].Parts; len(got) != 4 || got[0].(llm.Thinking).Text != "plan two" || got[1].(llm.Text).Text != "The password is 4711." || len(req.Messages[1].Parts) != 8 || len(one[0].Parts) != 2 {
		t.Errorf("%+v", one)
	}
	req.Messages = one
	body, _, err := Codec{Format: Ollama}.EncodeRequest(req, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"content":"One.\nTwo."`, `"content":"The password is 4711.\nAfter."`, `"thinking":"plan two"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("ollama: no %s in %s", want, body)
		}
	}
}

// TestMergePiecesKeepsTextsApart: messages of the Responses format are no pieces of a text, and neither are texts of which one has members, citations or
// thinking with a signature of its own.
func TestMergePiecesKeepsTextsApart(t *testing.T) {
	req, _, err := Codec{Format: Responses}.DecodeRequest([]byte(`{"model":"m","input":[{"role":"user","content":"q"},{"role":"assistant","content":"A."},{"role":"assistant","content":"B."},{"role":"user","content":"r"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := (Codec{Format: Responses}).MergePieces(req.Messages); len(got[1].Parts) != 2 {
		t.Errorf("%+v", got)
	}
	signed := llm.State{Vendor: "v", Data: []byte(`{"signature":"s"}`)}
	apart := []llm.Message{llm.Assistant(llm.Thinking{Text: "a", State: signed}, llm.Thinking{Text: "b", State: signed}, llm.Text{Text: "c", Citations: []llm.Citation{{}}}, llm.Text{Text: "d"},
		llm.Text{Text: "e", Extra: llm.Extra{Messages: {"cache_control": []byte(`{}`)}}}), llm.User("x")}
	if got := (Codec{Format: Messages}).MergePieces(apart); len(got[0].Parts) != 5 {
		t.Errorf("%+v", got)
	}
}

// A text in very many pieces is joined in time that grows with its length alone: if each piece was added to all before it,
// this would copy a terabyte.
func TestMergeManyPieces(t *testing.T) {
	const n = 400_000
	piece := strings.Repeat("x", 10)
	var parts []llm.Part
	for range n {
		parts = append(parts, llm.Text{Text: piece})
	}
	for range n {
		parts = append(parts, llm.Thinking{Text: piece})
	}
	got := Codec{Format: Gemini}.MergePieces([]llm.Message{{Role: llm.RoleAssistant, Parts: parts}})[0].Parts
	if len(got) != 2 || len(got[0].(llm.Text).Text) != n*len(piece) || len(got[1].(llm.Thinking).Text) != n*len(piece) {
		t.Errorf("%d parts are left", len(got))
	}
}
