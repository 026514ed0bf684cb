package wire

import (
	"strings"
	"testing"
)

// TestWhoseBody: an error about a body that cannot be read says whether it is the request or the answer: the one is mended by who asks, the other
// by who answers.
func TestWhoseBody(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		for body, problem := range map[string]string{"": "is empty", "<html>": "is not JSON: invalid character '<'", `["x"]`: "is not a JSON object"} {
			_, _, asked := c.DecodeRequest([]byte(body))
			_, answered := c.DecodeResponse([]byte(body))
			if asked == nil || !strings.Contains(asked.Error(), "the body of the request "+problem) {
				t.Errorf("%s: the request %q: %v", format, body, asked)
			}
			if answered == nil || !strings.Contains(answered.Error(), "the body of the answer "+problem) {
				t.Errorf("%s: the answer %q: %v", format, body, answered)
			}
		}
	}
}
