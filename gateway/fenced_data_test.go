package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// TestFencedDataIsUnwrapped checks that data which a model wrote into a code fence reach the client as data if they fit
// the schema, on every route: relayed and translated, in one piece and as a stream. Other text is an error.
func TestFencedDataIsUnwrapped(t *testing.T) {
	for _, upstream := range []string{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Ollama, wire.Converse, "text"} {
		for format := range roots {
			for _, stream := range []bool{false, true} {
				for says, want := range map[string]string{
					"Here it is:\n```json\n{\"city\":\"Rome\"}\n```\n": `{"city":"Rome"}`,
					`{"city":"Rome"}`:              `{"city":"Rome"}`,
					"```json\n{\"town\":1}\n```\n": "",
				} {
					t.Run(fmt.Sprintf("%s over %s, stream=%t, %d", format, upstream, stream, len(says)), func(t *testing.T) {
						url, _ := staged(t, script(t, "raw "+says), upstream, nil)
						req := strictQuestion("m")
						req.Output.Strict = false
						got := ask(t, url, format, req, stream)
						if want == "" {
							if got.err == nil {
								t.Errorf("no error: %q", got.Message.Text())
							}
							return
						}
						if got.err != nil {
							t.Error(got.err)
						} else if strings.TrimSpace(got.Message.Text()) != want {
							t.Errorf("%q", got.Message.Text())
						}
					})
				}
			}
		}
	}
}
