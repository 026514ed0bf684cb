package mcpbridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
	"github.com/toolpost/toolpost/tool"
)

// The address of a bridge answers nobody without its key, no page, and nobody after its
// end. Each bridge has a key of its own.
func TestTheAddressOfABridgeNeedsItsKey(t *testing.T) {
	b := &bridge.Bridge{Tools: tool.MustSet(echoTool())}
	at, err := b.Listen()
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	client := outbound.New(outbound.Rules{})
	defer client.CloseIdleConnections()
	ask := func(header, value string) (int, error) {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+at.Key)
		if header == "Host" {
			req.Host = value
		} else if header != "" {
			req.Header.Set(header, value)
		}
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	for _, row := range []struct {
		header, value string
		want          int
	}{
		{"", "", http.StatusOK},
		{"Authorization", "", http.StatusUnauthorized},
		{"Authorization", "Bearer " + other.Key, http.StatusUnauthorized},
		{"Host", "evil.example.org", http.StatusForbidden},
		{"Origin", "https://evil.example.org", http.StatusForbidden},
	} {
		if got, err := ask(row.header, row.value); got != row.want {
			t.Errorf("%s %q: %d, %v, want %d", row.header, row.value, got, err, row.want)
		}
	}
	at.Close()
	if got, err := ask("", ""); err == nil {
		t.Errorf("after its end it answers %d", got)
	}
}
