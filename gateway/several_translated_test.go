package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A client of another format gets the calls of every answer, too.
func TestCallsInTheTextOfEveryTranslatedAnswer(t *testing.T) {
	for _, stream := range []bool{false, true} {
		url := answersOf(t, wire.Chat, "qwen3-32b", func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.NotFound(w, r)
				return
			}
			if b, _ := io.ReadAll(r.Body); !strings.Contains(string(b), `"n":3`) {
				t.Errorf("the upstream was asked %s", b)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, asStream(5, "Sunny.", romeInText, "Rain."))
		}, llm.Limits{})
		path := "/v1beta/models/m:generateContent"
		if stream {
			path = "/v1beta/models/m:streamGenerateContent?alt=sse"
		}
		_, _, got := allOf(t, url, path, `{"contents":[{"role":"user","parts":[{"text":"Weather?"}]}],"generationConfig":{"candidateCount":3},"tools":[{"functionDeclarations":[{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}]}`)
		if strings.Count(got, `"functionCall"`) != 1 || strings.Contains(got, "tool_call>") || !strings.Contains(got, `"args":{"city":`) || !strings.Contains(got, `"Rome"`) {
			t.Errorf("stream=%t: %s", stream, got)
		}
		at := strings.Index(got, `"functionCall"`)
		if i := strings.Index(got[max(at, 0):], `"index":`); i < 0 || !strings.HasPrefix(got[at+i:], fmt.Sprint(`"index":`, 1)) {
			t.Errorf("stream=%t: the call is of another answer: %s", stream, got)
		}
	}
}
