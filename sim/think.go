package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// thought is the thinking of a model before its answer.
const thought = "The user asks for something. I look at the tools, then I answer."

// signature is the server's signature of thinking. It depends on the text. This
// detects a client that changes either.
func signature(text string) string {
	sum := sha256.Sum256([]byte("sim thinks: " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// signs reports whether a signature is that of a text. Clients of Google's write
// its bytes in the alphabet for addresses.
func signs(s, text string) bool {
	return strings.NewReplacer("-", "+", "_", "/").Replace(s) == signature(text)
}

// think puts thinking before an answer, signed where the vendor signs it.
func think(codec wire.Codec, req *llm.Request, r *llm.Response, answerID string) {
	t := llm.Thinking{Text: thought}
	switch member := codec.Properties().Signature; {
	case member != "":
		t.State = signedAs(codec, map[string]any{member: signature(thought)})
	case codec.Properties().Thinking.Keep != nil && bytes.Contains(req.Extra[codec.Format]["include"], []byte("reasoning.encrypted_content")):
		t.State = signedAs(codec, map[string]any{
			"type": "reasoning", "id": "rs_" + answerID, "encrypted_content": signature(thought),
			"summary": []any{map[string]string{"type": "summary_text", "text": thought}},
		})
	}
	r.Message.Parts = append([]llm.Part{t}, r.Message.Parts...)
}

// signCalls signs the first call of an answer, as Gemini does.
func signCalls(codec wire.Codec, r *llm.Response) {
	if codec.Properties().Thinking.Unsigned == "" {
		return
	}
	for i, p := range r.Message.Parts {
		if c, ok := p.(llm.Call); ok {
			c.State = signedAs(codec, map[string]any{codec.Properties().Signature: signature(c.Name)})
			r.Message.Parts[i] = c
			return
		}
	}
}

// signedAs returns a signature as a state of the format's vendor.
func signedAs(codec wire.Codec, v map[string]any) llm.State {
	data, _ := json.Marshal(v) // strings
	return llm.State{Vendor: codec.Format, Data: data}
}

// checkSignatures refuses thinking that comes back with another signature than it
// went out with, as the vendors do.
func (q *inquiry) checkSignatures() error {
	member := q.codec.Properties().Signature
	for i, m := range q.Messages {
		said := "" // of thinking that came in pieces, of which the last is signed
		for k, p := range m.Parts {
			t, ok := p.(llm.Thinking)
			if ok {
				said += t.Text
			}
			if !ok || t.Redacted || member == "" || t.State.Vendor != q.codec.Format {
				continue
			}
			var state map[string]string
			if json.Unmarshal(t.State.Data, &state) != nil || !signs(state[member], t.Text) && !signs(state[member], said) {
				return q.refused(fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, k))
			}
			said = ""
		}
	}
	return nil
}
