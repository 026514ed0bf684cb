package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/turns"
)

// A conversation of which nothing can be carried is never an empty list, which vendors refuse, and the client is told.
func TestNothingCarriedIsSaid(t *testing.T) {
	audio := llm.Media{Kind: llm.Audio, MIME: "audio/wav", Data: []byte("RIFF")}
	for _, tt := range []struct {
		to   string
		part llm.Part
	}{
		{Messages, audio},
		{Converse, llm.Media{Kind: llm.Image, MIME: "image/png", URL: "https://example.org/a.png"}},
		{Gemini, llm.Text{}},
	} {
		user := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{tt.part}}
		out, warnings, err := Codec{Format: tt.to}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{user}}, false)
		if err != nil || strings.Count(string(out), turns.NotCarried) != 1 || !strings.Contains(fmt.Sprint(warnings), turns.NotCarried) {
			t.Errorf("%s: %v, %s, %v", tt.to, err, out, warnings)
		}
		out, _, err = Codec{Format: tt.to}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), user, llm.User("c")}}, false)
		if err != nil || strings.Contains(string(out), turns.NotCarried) || strings.Contains(string(out), `"text":""`) {
			t.Errorf("%s: %v, %s", tt.to, err, out)
		}
	}
}

// Where Converse cannot carry a turn of the user, the turn is there and says so: two turns of the model in a row are refused.
func TestTurnsThatConverseCannotCarry(t *testing.T) {
	far := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{Kind: llm.Image, MIME: "image/png", URL: "https://example.org/a.png"}}}
	said := llm.Assistant(llm.Text{Text: "b"})
	for _, list := range [][]llm.Message{{far, said, llm.User("c")}, {llm.User("a"), said, far, said, llm.User("c")}, {llm.User("a"), said, far}} {
		out, warnings, err := Codec{Format: Converse}.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: list}, false)
		if err != nil || strings.Count(string(out), turns.NotCarried) != 1 || strings.Count(string(out), `"role"`) != len(list) || !strings.Contains(fmt.Sprint(warnings), turns.NotCarried) {
			t.Errorf("%v, %s, %v", err, out, warnings)
		}
	}
}
