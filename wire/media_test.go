package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// TestDocumentsByFormat: a document reaches each format as one that it takes, as its text or as its address, with a warning; alone, beside text
// and in a result. No message is empty, and none has a file without bytes.
func TestDocumentsByFormat(t *testing.T) {
	doc := func(mime, name, data string) llm.Media {
		return llm.Media{Kind: llm.Document, MIME: mime, Name: name, Data: []byte(data)}
	}
	at := func(mime, url string) llm.Media { return llm.Media{Kind: llm.Document, MIME: mime, URL: url} }
	json, empty := doc("application/json", "a.json", `[1]`), doc("text/plain", "n.txt", "")
	for _, c := range []struct {
		to    string
		media llm.Media
		has   string // in the body
		warns string // the feature of a warning; "" if there is none
	}{
		{Converse, json, `"document":{"format":"txt","name":"a-json","source":{"bytes":"WzFd"}}`, "document type"},
		{Converse, doc("application/yaml", "", "a: 1"), `"format":"txt"`, "document type"},
		{Converse, doc("text/csv;charset=utf-8", "a", "x"), `"format":"csv","name":"a"`, ""},
		{Converse, doc("TEXT/PLAIN", "a", "x"), `"format":"txt","name":"a"`, ""},
		{Converse, empty, `"text":"n.txt\n` + codec.EmptyDocument, "document"},
		{Converse, at("", "https://x.test/a.pdf"), `"text":"https://x.test/a.pdf"`, "document"},
		{Converse, at("application/pdf", "s3://b/a.pdf"), `"s3Location"`, ""},

		{Ollama, doc("text/plain", "a.txt", "hello"), `a.txt\nhello`, "document"},
		{Ollama, doc("text/markdown", "", "# hello"), `# hello`, "document"},
		{Ollama, doc("TEXT/CSV; charset=utf-8", "a.csv", "x,y"), `a.csv\nx,y`, "document"},
		{Ollama, json, `a.json\n[1]`, "document"},
		{Ollama, empty, codec.EmptyDocument, "document"},
		{Ollama, at("", "https://x.test/a.pdf"), `https://x.test/a.pdf`, "document"},

		{Gemini, empty, codec.EmptyDocument, "document"},
		{Gemini, doc("text/plain; charset=utf-8", "", "x"), `{"mimeType":"text/plain","data":"eA=="}`, ""},
		{Gemini, at("application/pdf", "https://x.test/a.pdf"), `"fileUri":"https://x.test/a.pdf"`, ""},

		{Chat, empty, codec.EmptyDocument, "document"},
		{Chat, doc("application/pdf; x=y", "a.pdf", "%PDF-"), `"filename":"a.pdf"`, ""},

		{Messages, at("", "https://x.test/a.docx?v=1"), `"text":"https://x.test/a.docx?v=1"`, "document"},
		{Messages, at("text/plain", "https://x.test/a"), `"text":"https://x.test/a"`, "document"},
		{Messages, at("application/pdf", "https://x.test/a"), `"source":{"type":"url","url":"https://x.test/a"}`, ""},
		{Messages, at("", "https://x.test/a.PDF"), `"source":{"type":"url"`, ""},
		{Messages, at("", "https://x.test/a"), `"source":{"type":"url"`, ""},
		{Messages, doc("text/plain;charset=utf-8", "", "x"), `"type":"text","media_type":"text/plain","data":"x"`, ""},
		{Messages, doc("Application/PDF;x=y", "", "%PDF-"), `"media_type":"application/pdf"`, ""},
	} {
		result := llm.Result{CallID: "c1", Name: "f", Parts: []llm.Part{c.media}}
		for place, list := range map[string][]llm.Message{
			"alone":  {{Role: llm.RoleUser, Parts: []llm.Part{c.media}}},
			"beside": {{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "look"}, c.media}}},
			"result": {llm.User("q"), llm.Assistant(llm.Call{ID: "c1", Name: "f", Args: []byte("{}")}), {Role: llm.RoleTool, Parts: []llm.Part{result}}},
		} {
			out, warnings, err := Codec{Format: c.to}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: list}, false)
			what := fmt.Sprintf("%s, %s %s %s: %s", c.to, c.media.MIME, c.media.URL, place, out)
			has := c.has
			if c.to == Gemini && place == "result" && c.warns != "" {
				has = codec.EmptyDocument // in the output
			}
			if err != nil || !strings.Contains(string(out), has) {
				t.Errorf("%s: want %s, %v", what, has, err)
			}
			for _, bad := range []string{`"fileUri":""`, `"content":""`, `"content":[]`, `"data":""`, turns.NotCarried, codec.NotShown} {
				if strings.Contains(string(out), bad) && (place != "result" || bad != `"content":""`) { // a call has no text beside it
					t.Errorf("%s: %s", what, bad)
				}
			}
			for _, feature := range []string{"document", "document type"} {
				warned := false
				for _, w := range warnings {
					warned = warned || w.Feature == feature
				}
				if warned != (feature == c.warns) {
					t.Errorf("%s: warned of %s: %v, %v", what, feature, warned, warnings)
				}
			}
		}
	}
}

// TestMediaWithoutBytes: a medium of which there are neither bytes nor an address is no file without an address for Gemini.
func TestMediaWithoutBytes(t *testing.T) {
	nothing := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{Kind: llm.Document, MIME: "application/pdf"}, llm.Text{Text: "look"}}}
	out, warnings, err := Codec{Format: Gemini}.EncodeRequest(&llm.Request{Messages: []llm.Message{nothing}}, false)
	if err != nil || strings.Contains(string(out), "fileData") || len(warnings) != 1 || warnings[0].Feature != "document" {
		t.Errorf("%s %v %v", out, warnings, err)
	}
}

// TestTypesInCapitals: media types count whatever letters a client writes them in, in all formats that have them, and parameters do not hide
// what a medium is.
func TestTypesInCapitals(t *testing.T) {
	const image = "iVBORw0KGgo="
	for from, body := range map[string]string{
		Gemini:    `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"IMAGE/PNG","data":"` + image + `"}},{"text":"look"}]}]}`,
		Messages:  `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"Image/PNG","data":"` + image + `"}},{"type":"text","text":"look"}]}]}`,
		Chat:      `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"DATA:IMAGE/PNG;base64,` + image + `"}},{"type":"text","text":"look"}]}]}`,
		Responses: `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:Image/Png;x=Y;base64,` + image + `"},{"type":"input_text","text":"look"}]}]}`,
	} {
		req, _, err := Codec{Format: from}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(from, err)
		}
		req.MaxTokens = 9
		for to, want := range map[string]string{
			Gemini: `"inlineData":{"mimeType":"image/png"`, Messages: `"type":"image","source":{"type":"base64","media_type":"image/png"`, Converse: `"image":{"format":"png"`,
			Chat: `"url":"data:image/png`, Responses: `"image_url":"data:image/png`, Ollama: `"images":["` + image + `"]`,
		} {
			out, _, err := Codec{Format: to}.EncodeRequest(req, false)
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s to %s: want %s in %s %v", from, to, want, out, err)
			}
		}
	}
	sound := llm.Media{Kind: llm.Audio, MIME: "audio/wav;rate=16000", Data: []byte("RIFF")}
	out, _, err := Codec{Format: Chat}.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{sound}}}}, false)
	if err != nil || !strings.Contains(string(out), `"format":"wav"`) {
		t.Errorf("%s %v", out, err)
	}
}

// TestReferencesInThinking: the references among Mistral's thoughts go back to it, and elsewhere they are a warning.
func TestReferencesInThinking(t *testing.T) {
	const thought = `[{"type":"text","text":"one "},{"type":"reference","reference_ids":[1,2]},{"type":"text","text":"two"}]`
	const body = `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":` + thought + `,"closed":true},{"type":"text","text":"a"}]},{"role":"user","content":"c"}]}`
	mistral := Codec{Format: Chat, Quirks: format.Quirks{ThinkingParts: true}}
	req, _, err := mistral.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	out, warnings, err := mistral.EncodeRequest(req, false)
	if err != nil || len(warnings) > 0 || !strings.Contains(string(out), thought) || strings.Contains(string(out), `"references"`) {
		t.Errorf("%s %v %v", out, warnings, err)
	}
	told := func(what string, warnings []llm.Warning) {
		if !strings.Contains(fmt.Sprint(warnings), codec.References) {
			t.Errorf("%s: %v", what, warnings)
		}
	}
	changed := *req
	changed.Messages = []llm.Message{req.Messages[0], llm.Assistant(llm.Thinking{Text: "other", Extra: req.Messages[1].Parts[0].(llm.Thinking).Extra}, llm.Text{Text: "a"}), req.Messages[2]}
	out, warnings, err = mistral.EncodeRequest(&changed, false)
	if told("changed", warnings); err != nil || !strings.Contains(string(out), `"text":"other"`) || strings.Contains(string(out), "reference_ids") {
		t.Errorf("%s %v", out, err)
	}
	for _, c := range []Codec{{Format: Chat}, {Format: Chat, Quirks: format.Quirks{Thinking: "reasoning_content"}}, {Format: Messages}, {Format: Gemini}, {Format: Converse}, {Format: Ollama}, {Format: Responses}} {
		r := *req
		r.MaxTokens = 9
		_, warnings, err := c.EncodeRequest(&r, false)
		if told(c.Format, warnings); err != nil {
			t.Error(err)
		}
	}
	answer, err := mistral.DecodeResponse([]byte(`{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[{"type":"thinking","thinking":` + thought + `},{"type":"text","text":"a"}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{Chat, Messages, Gemini, Converse, Ollama, Responses} {
		_, warnings, err := Codec{Format: to}.EncodeResponse(answer)
		if told("answer in "+to, warnings); err != nil {
			t.Error(err)
		}
	}
	streamed := build(t, mistral, chunkOf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"one "}]}]}`)+
		chunkOf(`{"content":[{"type":"thinking","thinking":[{"type":"reference","reference_ids":[1]}]}]}`)+chunkOf(`{"content":"a"}`)+chunksEnd)
	if first, ok := streamed.Message.Parts[0].(llm.Thinking); !ok || first.Text != "one " || first.Extra[Chat][codec.References] == nil || len(streamed.Message.Parts) != 2 {
		t.Errorf("%+v", streamed.Message.Parts)
	}
}

// TestFilesOfOtherKinds: clients send images, sounds and films as files of OpenAI's formats. They are what their type says,
// stay files in the format they came in, and reach others as those take them.
func TestFilesOfOtherKinds(t *testing.T) {
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
