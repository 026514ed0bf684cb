package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestNoDocumentIsClaimed: a turn speaks of a document beside it only where the document reaches Amazon.
func TestNoDocumentIsClaimed(t *testing.T) {
	const claim = "See the document."
	for name, c := range map[string]struct {
		media llm.Media
		has   string
		claim bool
	}{
		"pdf":     {bytesOf(llm.Document, "application/pdf", "a", "%PDF-"), `"format":"pdf"`, true},
		"json":    {bytesOf(llm.Document, "application/json", "a", "[1]"), `"format":"txt"`, true},
		"in S3":   {llm.Media{Kind: llm.Document, MIME: "application/pdf", URL: "s3://b/a.pdf"}, `"s3Location"`, true},
		"zip":     {bytesOf(llm.Document, "application/zip", "a.zip", "PK\x03\x04"), mediaLeft, false},
		"untyped": {bytesOf(llm.Document, "application/octet-stream", "a.bin", "\x00\x01"), mediaLeft, false},
		"address": {llm.Media{Kind: llm.Document, URL: "https://x.test/a.pdf"}, "https://x.test/a.pdf", false},
		"empty":   {llm.Media{Kind: llm.Document, MIME: "text/plain", Name: "n.txt"}, "n.txt", false},
		"nothing": {llm.Media{Kind: llm.Document, MIME: "application/pdf"}, "holds nothing that can be shown", false},
	} {
		for _, id := range []string{claudeAtAmazon, novaAtAmazon} {
			req := &llm.Request{MaxTokens: 100, Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{c.media}}}}
			body, warnings := planned(t, opened(t, new(Client), id), req)
			if !strings.Contains(body, c.has) || strings.Contains(body, claim) != c.claim || strings.Contains(body, `"document":`) != c.claim {
				t.Errorf("%s to %s: %s", name, id, body)
			}
			if told := len(warnings) > 0; !told && name != "pdf" && name != "in S3" {
				t.Errorf("%s to %s: no warning", name, id)
			}
		}
	}
}

// TestBlankResultsToAmazon: a result that is only white space has no text in Converse, whose texts must not be blank; a failure says that it is one.
func TestBlankResultsToAmazon(t *testing.T) {
	for _, c := range []struct {
		text   string
		failed bool
		has    string
		warns  bool
	}{
		{"", false, `"content":[]`, false},
		{" \n\t", false, `"content":[]`, true},
		{"\n", true, `"status":"error"`, true},
		{"\n|", true, `"status":"error"`, true},
		{" |\n", true, `"status":"error"`, true},
		{"x", false, `"content":[{"text":"x"}]`, false},
	} {
		msgs := append(turnsOf("q"), llm.Assistant(llm.Call{ID: "c1", Name: "lookup", Args: []byte("{}")}),
			llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c1", Name: "lookup", Failed: c.failed, Parts: texts(c.text)}}})
		req := &llm.Request{MaxTokens: 100, Messages: msgs, Tools: []llm.ToolDef{lookup}}
		body, warnings := planned(t, opened(t, new(Client), claudeAtAmazon), req)
		if !strings.Contains(body, c.has) || strings.Contains(body, `"text":"\n`) || strings.Contains(body, `"text":" `) || c.failed && strings.Contains(body, `"content":[]`) {
			t.Errorf("%q: %s", c.text, body)
		}
		if told := len(warned(warnings, "results")) > 0; told != c.warns {
			t.Errorf("%q: warned %v: %v", c.text, told, warnings)
		}
		if body, _ = planned(t, opened(t, new(Client), "openai/gpt-4.1"), req); c.text == " \n\t" && !strings.Contains(body, `"content":" \n\t"`) {
			t.Errorf("%q to others: %s", c.text, body)
		}
	}
}

// texts returns a text for each piece between bars.
func texts(said string) (parts []llm.Part) {
	for text := range strings.SplitSeq(said, "|") {
		parts = append(parts, llm.Text{Text: text})
	}
	return parts
}

// TestNoSoundsInResponses: OpenAI's Responses takes no sounds among its input; they are left out with a warning, while its chat format has them.
func TestNoSoundsInResponses(t *testing.T) {
	sound := bytesOf(llm.Audio, "audio/wav", "", "RIFF")
	for id, taken := range map[string]bool{"openai/gpt-5.1": false, "openai/gpt-4.1": true} {
		req := &llm.Request{MaxTokens: 100, Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "hear"}, sound}}}}
		body, warnings := planned(t, opened(t, new(Client), id), req)
		if strings.Contains(body, "input_audio") != taken || (len(warned(warnings, "audio")) == 0) != taken {
			t.Errorf("%s: %s %v", id, body, warnings)
		}
	}
}
