package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// TestOwnDefinitionsAreNotTold checks that clients are told what becomes of the definitions of their own tools, and not of those that the gateway offers:
// they can do nothing about them.
func TestOwnDefinitionsAreNotTold(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var n counter
		look := reading("look", "found", &n)
		look.Examples = []json.RawMessage{[]byte(`{"what":"one"}`)}
		url, model := staged(t, script(t, "text Well."), wire.Chat, served(look))
		req := question("m")
		req.Tools[0].Examples = []json.RawMessage{[]byte(`{"city":"Paris"}`)}
		got := ask(t, url, wire.Messages, req, stream)
		if got.err != nil {
			t.Fatal(got.err)
		}
		told := strings.Join(got.header.Values(gateway.WarningHeader), "\n")
		if !strings.Contains(told, "tools.examples; "+req.Tools[0].Name+": ") || strings.Contains(told, "look") {
			t.Errorf("stream=%t: %s", stream, told)
		}
		if sent := fmt.Sprintf("%+v", model.last().Tools); !strings.Contains(sent, `{"what":"one"}`) || !strings.Contains(sent, `{"city":"Paris"}`) {
			t.Errorf("stream=%t: %s", stream, sent)
		}
	}
}
