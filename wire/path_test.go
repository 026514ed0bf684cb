package wire

import (
	"net/url"
	"testing"

	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

func TestPath(t *testing.T) {
	vertex := format.Quirks{Path: "models/{model}:rawPredict", StreamPath: "models/{model}:streamRawPredict"}
	deployment := format.Quirks{Path: "deployments/{model}/chat/completions?api-version=2024-10-21"}
	for _, c := range []struct {
		codec  Codec
		model  string
		stream bool
		want   string
	}{
		{Codec{Format: Chat}, "gpt-5", true, "chat/completions"},
		{Codec{Format: Responses}, "gpt-5", true, "responses"},
		{Codec{Format: Messages}, "claude", false, "messages"},
		{Codec{Format: Ollama}, "qwen3:8b", true, "chat"},
		{Codec{Format: Gemini}, "gemini-2.5-pro", false, "models/gemini-2.5-pro:generateContent"},
		{Codec{Format: Gemini}, "models/gemini-2.5-pro", true, "models/gemini-2.5-pro:streamGenerateContent?alt=sse"},
		{Codec{Format: Gemini}, "sim/a+b?c", false, "models/sim%2Fa%2Bb%3Fc:generateContent"},
		{Codec{Format: Messages, Quirks: vertex}, "claude-sonnet-4-5@20250929", true, "models/claude-sonnet-4-5@20250929:streamRawPredict"},
		{Codec{Format: Chat, Quirks: deployment}, "mine", true, "deployments/mine/chat/completions?api-version=2024-10-21"},
		{Codec{Format: Converse}, "amazon.nova-pro-v1:0", false, "model/amazon.nova-pro-v1%3A0/converse"},
		{Codec{Format: Converse}, "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.x-v1:0", true, "model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.x-v1%3A0/converse-stream"},
		{Codec{Format: Messages, Quirks: messages.OnBedrock()}, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", false, "model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke"},
		{Codec{Format: Messages, Quirks: messages.OnBedrock()}, "arn:aws:bedrock:us-east-1:1:inference-profile/x", true, "model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/invoke-with-response-stream"},
		{Codec{Format: "none"}, "m", true, ""},
	} {
		got := c.codec.Path(c.model, c.stream)
		if got != c.want {
			t.Errorf("%s of %s: %s, not %s", c.codec.Format, c.model, got, c.want)
		}
		u, err := url.Parse("/v1/" + got)
		if err != nil {
			t.Fatal(err)
		}
		model, stream, ok := c.codec.SplitPath(u.Path)
		if ok != c.codec.Properties().ModelInPath() {
			t.Errorf("%s: SplitPath says %v", u.Path, ok)
		}
		if ok && ("models/"+model != c.model && model != c.model || stream != c.stream && c.codec.Properties().StreamInPath()) {
			t.Errorf("%s: model %q, stream %v", u.Path, model, stream)
		}
	}
	for _, path := range []string{"", "/v1beta/models/:generateContent", "/v1beta/models/x:countTokens", "/v1beta/models/x"} {
		if model, _, ok := (Codec{Format: Gemini}).SplitPath(path); ok {
			t.Errorf("%s: model %q", path, model)
		}
	}
}

// TestModelList: the lists that hosts of each format give can be read.
func TestModelList(t *testing.T) {
	for format, body := range map[string]string{
		Chat:   `{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}`,
		Gemini: `{"models":[{"name":"a","displayName":"A"},{"name":"b"}]}`,
		Ollama: `{"models":[{"name":"a","model":"a"},{"name":"b"},{}]}`,
	} {
		list := Codec{Format: format}.Properties().Models
		if got := list.Names([]byte(body)); len(got) != 2 || got[0] != "a" || got[1] != "b" {
			t.Errorf("%s: %q", format, got)
		}
		for _, bad := range []string{"", "{", "[]", "null", `{"data":1,"models":{}}`} {
			if got := list.Names([]byte(bad)); got != nil {
				t.Errorf("%s: %s: %q", format, bad, got)
			}
		}
	}
}
