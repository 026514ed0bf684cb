package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestFilesThatAreNoDocuments: clients send images, sounds and films as files of OpenAI's formats. They are what their type says,
// stay files in the format they came in, and reach others as those take them.
func TestFilesThatAreNoDocuments(t *testing.T) {
	requests := map[string]string{
		Chat:      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"file","file":{"filename":"a.bin","file_data":"data:TYPE;base64,AAAA"}}]}]}`,
		Responses: `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_file","filename":"a.bin","file_data":"data:TYPE;base64,AAAA"}]}]}`,
	}
	for from, body := range requests {
		for typ, kind := range map[string]llm.MediaKind{"audio/ogg": llm.Audio, "audio/wav": llm.Audio, "video/mp4": llm.Video, "image/png": llm.Image, "image/svg+xml": llm.Document, "application/zip": llm.Document} {
			body := strings.Replace(body, "TYPE", typ, 1)
			req, _, err := Codec{Format: from}.DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			m := req.Messages[0].Parts[1].(llm.Media)
			if err := m.Check(); err != nil || m.Kind != kind {
				t.Errorf("%s %s: %s, %v", from, typ, m.Kind, err)
			}
			own, warnings, err := Codec{Format: from}.EncodeRequest(req, false)
			if err != nil || len(warnings) > 0 || !strings.Contains(string(own), `"file_data":"data:`+typ+`;base64,AAAA"`) || !strings.Contains(string(own), `"a.bin"`) {
				t.Errorf("%s %s: back as %s, %v %v", from, typ, own, warnings, err)
			}
			gemini, _, err := Codec{Format: Gemini}.EncodeRequest(req, false)
			if typ == "image/svg+xml" {
				continue // its text
			}
			if err != nil || !strings.Contains(string(gemini), `"mimeType":"`+typ+`"`) {
				t.Errorf("%s %s: Gemini gets %s, %v", from, typ, gemini, err)
			}
		}
	}
}

// TestFilesHaveNames: OpenAI wants a name for bytes, whatever they are.
func TestFilesHaveNames(t *testing.T) {
	for typ, name := range map[string]string{"application/json": "document.json", "application/zip": "document.zip", "application/x-other": "document"} {
		for _, to := range []string{Chat, Responses} {
			if to == Chat && typ == "application/json" { // which is text there
				continue
			}
			out, _, err := Codec{Format: to}.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Media{Kind: llm.Document, MIME: typ, Data: []byte("x\x00")},
			}}}}, false)
			if err != nil || !strings.Contains(string(out), `"filename":"`+name+`"`) {
				t.Errorf("%s %s: %s %v", to, typ, out, err)
			}
		}
	}
}
