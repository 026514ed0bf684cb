package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

func bytesOf(kind llm.MediaKind, mime, name, data string) llm.Media {
	return llm.Media{Kind: kind, MIME: mime, Name: name, Data: []byte(data)}
}

// TestMediaThatVendorsTake checks that media reach a vendor in a form that it takes, or are left out with a warning; in a turn of
// the user, alone or beside text, and in a result. Requests that are sent as they are stay so.
func TestMediaThatVendorsTake(t *testing.T) {
	csv := bytesOf(llm.Document, "text/csv; charset=utf-8", "a.csv", "x,y")
	latin := bytesOf(llm.Document, "text/csv", "l.csv", "caf\xe9")
	word := bytesOf(llm.Document, docx, "a.docx", "PK\x03\x04")
	untyped := bytesOf(llm.Document, "application/octet-stream", "a.json", "{}")
	nameless := bytesOf(llm.Document, "", "", "%PDF-1.4")
	pdf := bytesOf(llm.Document, "application/pdf", "a.pdf", "%PDF-")
	jpg := bytesOf(llm.Image, "image/jpg", "", "J")
	heic := bytesOf(llm.Image, "image/heic", "", "H")
	svg := llm.Media{Kind: llm.Image, URL: "https://x/a.svg?v=1"}
	film := bytesOf(llm.Video, "video/mp4", "", "V")
	filmAt := llm.Media{Kind: llm.Video, URL: "https://x/a.mp4"}
	flac := bytesOf(llm.Audio, "audio/flac", "", "F")
	const chat, responses, copied = "openai/gpt-4.1", "openai/gpt-5.1", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"
	for _, c := range []struct {
		id    string
		media llm.Media
		has   string // "" if it is left out
		warns string // the feature of a warning
	}{
		{claudeAtHome, csv, `"source":{"type":"text","media_type":"text/plain","data":"x,y"},"title":"a.csv"`, "document type"},
		{claudeAtHome, bytesOf(llm.Document, "application/json", "a.json", "{}"), `"type":"text","media_type":"text/plain","data":"{}"`, "document type"},
		{claudeAtHome, bytesOf(llm.Document, "application/atom+xml", "", "<a/>"), `"type":"text","media_type":"text/plain"`, "document type"},
		{claudeAtHome, untyped, `"type":"text","media_type":"text/plain","data":"{}"`, "document type"},
		{claudeAtHome, nameless, `"type":"base64","media_type":"application/pdf"`, ""},
		{claudeAtHome, latin, "", "document"},
		{claudeAtHome, word, "", "document"},
		{claudeAtHome, pdf, `"media_type":"application/pdf"`, ""},
		{claudeAtHome, jpg, `"media_type":"image/jpeg"`, ""},
		{claudeAtHome, heic, "", "image"},
		{claudeAtHome, svg, "", "image"},
		{claudeAtHome, film, "", "video"},
		{claudeAtHome, flac, "", "audio"},

		{chat, csv, `a.csv\nx,y`, "document"},
		{chat, untyped, `a.json\n{}`, "document"},
		{chat, word, "", "document"},
		{chat, pdf, `"filename":"a.pdf"`, ""},
		{chat, jpg, `data:image/jpeg;base64`, ""},
		{chat, heic, "", "image"},
		{chat, film, "", "video"},
		{chat, filmAt, "", "video"},
		{chat, flac, "", "audio"},
		{chat, bytesOf(llm.Audio, "audio/mp3", "", "F"), `"format":"mp3"`, ""},

		{responses, csv, `"filename":"a.csv"`, ""},
		{responses, word, `"filename":"a.docx"`, ""},
		{responses, heic, "", "image"},
		{responses, svg, "", "image"},
		{responses, film, "", "video"},

		{copied, csv, `a.csv\nx,y`, "document"},
		{copied, word, `data:` + docx, ""},
		{copied, heic, `data:image/heic`, ""},
		{copied, film, `"video_url"`, ""},
	} {
		for place, msgs := range map[string][]llm.Message{
			"alone":  {{Role: llm.RoleUser, Parts: []llm.Part{c.media}}},
			"beside": {{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "look"}, c.media}}},
			"result": append(turnsOf("q"), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "c1", Name: "f", Args: []byte("{}")}}},
				llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c1", Name: "f", Parts: []llm.Part{c.media}}}}),
		} {
			req := &llm.Request{MaxTokens: 100, Messages: msgs, Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}}}
			m := opened(t, new(Client), c.id)
			before, _ := json.Marshal(req)
			body, warnings := planned(t, m, req)
			what := c.id + " " + string(c.media.Kind) + " " + c.media.MIME + c.media.URL + " " + place
			if after, _ := json.Marshal(req); string(after) != string(before) {
				t.Errorf("%s: the request was changed: %s", what, after)
			}
			if !strings.Contains(body, c.has) {
				t.Errorf("%s: want %s: %s", what, c.has, body)
			}
			if words := strings.Contains(body, mediaLeft); words != (c.has == "" && place != "beside") {
				t.Errorf("%s: says that it is left out: %v: %s", what, words, body)
			}
			if c.has == "" && strings.Contains(body, "base64") {
				t.Errorf("%s: is sent: %s", what, body)
			}
			for _, feature := range []string{"document", "document type", "image", "video", "audio"} {
				if got := warned(warnings, feature); (len(got) > 0) != (feature == c.warns) {
					t.Errorf("%s: warnings of %s: %q", what, feature, got)
				}
			}
			if j, err := m.planned(req, true); err != nil || strings.Contains(j.req.Messages[len(j.req.Messages)-1].Text(), mediaLeft) {
				t.Errorf("%s: changed as it is: %v", what, err)
			}
		}
	}
}
