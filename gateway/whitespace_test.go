package gateway_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// TestWhitespaceBetweenCallsIsDropped checks that white space around calls in text does not reach clients as an answer, and that
// white space within text does.
func TestWhitespaceBetweenCallsIsDropped(t *testing.T) {
	const fence = "```json\\n{\\\"name\\\": \\\"get_weather\\\", \\\"arguments\\\": {\\\"city\\\": \\\"Paris\\\"}}\\n```"
	for _, test := range []struct{ said, text string }{
		{`\n` + fence + `\n\n` + strings.ReplaceAll(fence, "Paris", "Rome") + `\n`, ""},
		{`Let me see. \n\n` + fence, "Let me see."},
	} {
		client := saying(t, `{"role":"assistant","content":"`+test.said+`"}`, "stop")
		client.Route = "prompted"
		url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
		for format := range roots {
			for _, stream := range []bool{false, true} {
				got := ask(t, url, format, question("m"), stream)
				if got.err != nil || len(got.Message.Calls()) == 0 {
					t.Fatal(format, got.err, test.said)
				}
				if text := got.Message.Text(); strings.TrimRight(text, " \n") != test.text || test.text == "" && text != "" {
					t.Errorf("%s, stream=%t: text %q, want %q", format, stream, text, test.text)
				}
			}
		}
	}
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}})
	if got := ask(t, url, wire.Messages, question("m"), true); got.err != nil {
		t.Error(got.err)
	}
}
