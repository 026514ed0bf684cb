package emulate_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// TestCheckMedia: an image whose media type is that of a document is refused before anybody is
// asked, also in a result, and the message is named.
func TestCheckMedia(t *testing.T) {
	wrong := llm.Media{Kind: llm.Image, MIME: "application/pdf", Data: []byte("%PDF")}
	right := llm.Media{Kind: llm.Document, MIME: "application/pdf", Data: []byte("%PDF")}
	for name, c := range map[string]struct {
		messages []llm.Message
		ok       bool
	}{
		"a document":   {[]llm.Message{llm.User("What?", right)}, true},
		"no image":     {[]llm.Message{llm.User("Look."), llm.User("What?", wrong)}, false},
		"in a result":  {[]llm.Message{llm.User("Look."), llm.Results(llm.Result{CallID: "1", Parts: []llm.Part{wrong}})}, false},
		"no type said": {[]llm.Message{llm.User("What?", llm.Media{Kind: llm.Image, Data: []byte("GIF")})}, true},
	} {
		err := emulate.Check("test", &llm.Request{Messages: c.messages})
		if c.ok != (err == nil) || err != nil && (llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), "message 2: application/pdf is not a type for a part of the kind image")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
