package sim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// thought is what a model that thinks thinks before its answer.
const thought = "The user asks for something. I look at the tools, then I answer."

// signature is what the server signs thinking with. It depends on the text, so
// that a client which changes either is found out.
func signature(text string) string {
	sum := sha256.Sum256([]byte("sim thinks: " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// think puts thinking before an answer, signed where the vendor signs it.
func think(codec wire.Codec, r *llm.Response) {
	t := llm.Thinking{Text: thought}
	if member := codec.Properties().Signature; member != "" {
		data, _ := json.Marshal(map[string]string{member: signature(thought)}) // strings
		t.State = llm.State{Vendor: codec.Format, Data: data}
	}
	r.Message.Parts = append([]llm.Part{t}, r.Message.Parts...)
}

// checkThinking refuses thinking that comes back with another signature than it
// went out with, as the vendors do.
func checkThinking(codec wire.Codec, req *llm.Request) error {
	member := codec.Properties().Signature
	for i, m := range req.Messages {
		for _, p := range m.Parts {
			t, ok := p.(llm.Thinking)
			if !ok || t.Redacted || member == "" || t.State.Vendor != codec.Format {
				continue
			}
			var state map[string]string
			if json.Unmarshal(t.State.Data, &state) != nil || state[member] != signature(t.Text) {
				return &llm.Error{
					Op: "sim", Kind: llm.Invalid, Status: http.StatusBadRequest,
					Err: fmt.Errorf("message %d: the signature of the thinking is not that of its text", i),
				}
			}
		}
	}
	return nil
}
