package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// TestSplitGeminiTextTranslated checks that a text which a client sends back in the parts of a Gemini stream is sent as
// the model wrote it, in every other format and to a model without native tools.
func TestSplitGeminiTextTranslated(t *testing.T) {
	host, url := spaceGateway(t)
	const history = `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"The pas"},{"text":"sword i"},{"text":"s 4711."}]},{"role":"user","parts":[{"text":"again"}]}],
		"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object","properties":{"t":{"type":"string"}}}}]}]}`
	for format, model := range map[string]string{wire.Chat: wire.Chat, wire.Messages: wire.Messages, wire.Responses: wire.Responses, wire.Ollama: wire.Ollama, wire.Converse: wire.Converse, "": "text"} {
		resp, err := http.Post(url+"/v1beta/models/"+model+":generateContent", "application/json", strings.NewReader(history))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", model, said)
		}
		if format == "" {
			format = wire.Chat
		}
		if body, _ := host.last(t, format); !strings.Contains(body, `"The password is 4711."`) {
			t.Errorf("%s: %s", model, body)
		}
	}
}

// TestVendorDefinedToolsTranslated checks that a model of another vendor gets the parameters of a tool that the client's
// vendor defines, and that its call comes back as a call of that tool.
func TestVendorDefinedToolsTranslated(t *testing.T) {
	host, url := spaceGateway(t)
	const ask = `{"model":"MODEL","max_tokens":99,"messages":[{"role":"user","content":"native: go"}],"tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"}]}`
	for format := range roots {
		resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(strings.Replace(ask, "MODEL", format, 1)))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		body, req := host.last(t, format)
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(said), `"tool_use"`) || !strings.Contains(string(said), `"name":"bash"`) || !strings.Contains(string(said), `"name":"str_replace_based_edit_tool"`) {
			t.Errorf("%s: %d %s", format, resp.StatusCode, said)
		}
		if told := strings.Contains(body, "restart"); told != (format != wire.Messages) || len(req.Tools) != 2 {
			t.Errorf("%s is asked %s", format, body)
		}
	}
}
