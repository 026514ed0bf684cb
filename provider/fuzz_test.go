package provider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// capture is a vendor that keeps what it is sent and says hi.
type capture struct {
	format string
	body   []byte
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if c.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	codec, _ := wire.For(c.format)
	answer, _, err := codec.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "hi"}), Finish: llm.Finish{Reason: llm.Stop}})
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(answer))), Request: r}, err
}

// conversation makes a history of bytes: each is a part, or the end of a
// message.
func conversation(script []byte) []llm.Message {
	roles := []llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleSystem}
	ids := []string{"call_1", "call_2", "", "weird id!", "call_1"}
	out := []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "hi"}}}}
	for _, b := range script {
		m := &out[len(out)-1]
		id := ids[int(b>>3)%len(ids)]
		switch b % 7 {
		case 0:
			out = append(out, llm.Message{Role: roles[int(b>>3)%len(roles)]})
		case 1:
			m.Parts = append(m.Parts, llm.Text{Text: "text"})
		case 2:
			m.Role = llm.RoleAssistant
			m.Parts = append(m.Parts, llm.Call{ID: id, Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)})
		case 3:
			m.Parts = append(m.Parts, llm.Result{CallID: id, Parts: []llm.Part{llm.Text{Text: "sunny"}}})
		case 4:
			m.Parts = append(m.Parts, llm.Thinking{Text: "hm", State: llm.State{Vendor: "somebody", Data: json.RawMessage(`{"signature":"x"}`)}})
		case 5:
			m.Role = llm.RoleAssistant
			m.Parts = append(m.Parts, llm.Call{ID: id, Name: "get_weather", Args: json.RawMessage(`"{cut`)})
		case 6:
			m.Parts = append(m.Parts, llm.Thinking{Redacted: true, State: llm.State{Vendor: "somebody", Data: json.RawMessage(`{}`)}})
		}
	}
	return out
}

// Whatever the history, what a vendor is sent is in order.
func FuzzHeal(f *testing.F) {
	for _, seed := range []string{"", "\x02\x00\x03", "\x02\x0a\x12\x00\x13\x03", "\x00\x02\x02\x00\x03\x03\x03", "\x04\x06\x05\x00\x1a\x02\x03", "\x0b\x02\x00\x01\x08\x03"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 {
			return
		}
		messages := conversation(script)
		for _, h := range hosts {
			v := &capture{format: h.wire}
			id := h.vendor + "+http://host/v1#m"
			yes := catalog.Answer{Support: catalog.Yes}
			c := &provider.Client{HTTP: &http.Client{Transport: v}, Whole: true, Catalog: catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: id}, Wire: h.wire, NativeTools: yes})}
			if _, err := llm.Generate(t.Context(), open(t, c, id), &llm.Request{Messages: messages, Tools: []llm.ToolDef{weather}}); err != nil {
				t.Fatalf("%s: %v", h.wire, err)
			}
			codec, _ := wire.For(h.wire)
			req, _, err := codec.DecodeRequest(v.body)
			if err == nil {
				err = lawful(req)
			}
			// What says that there is no signature is none.
			sent := strings.ReplaceAll(string(v.body), `"thoughtSignature":"skip_thought_signature_validator"`, "")
			if err != nil || strings.Contains(strings.ToLower(sent), "signature") {
				t.Errorf("%s: %v in %s", h.wire, err, v.body)
			}
		}
	})
}

// No id makes Open panic, and what it opens has an address and a model.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{"openai/gpt-5", "http://h/v1#m", "vllm+http://h#m", "claude-3", "a+b+http://x#y#z", "http://[::1]:80#m", "gemini/../x", "ollama/" + strings.Repeat("a", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		m, err := provider.Open(id)
		if (m == nil) == (err == nil) {
			t.Fatalf("%q: %v %v", id, m, err)
		}
		if err != nil && llm.KindOf(err) == llm.Unknown {
			t.Errorf("%q: unclear: %v", id, err)
		}
	})
}
