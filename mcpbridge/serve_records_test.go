package mcpbridge_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// Since revision 2026-07-28 the calls of an HTTP connection are in one record for each client and key. It is sealed when
// the connection was silent for long.
func TestServedConnectionsHaveOneRecord(t *testing.T) {
	const ada, bob = "key-of-ada-0123456789", "key-of-bob-0123456789"
	call := func(t *testing.T, url, key, client string) {
		t.Helper()
		body := strings.Replace(newestCall(1, client, `{"a":1,"b":2}`), `"act"`, `"add"`, 1)
		status, text := post(t, http.DefaultClient, url, body, map[string]string{"Authorization": "Bearer " + key, "Mcp-Method": "tools/call", "Mcp-Name": "add"})
		if status != http.StatusOK || !strings.Contains(text, `"total":3`) {
			t.Fatal(status, text)
		}
	}
	t.Run("one for each client", func(t *testing.T) {
		s := serveOwn(t, nil)
		url := s.address(t, serve.HTTPAccess{Keys: []string{ada, bob}})
		for range 20 {
			call(t, url, ada, "a")
		}
		call(t, url, ada, "b")
		call(t, url, bob, "a")
		s.Close()
		if receipts := s.receipts(t); len(s.runs) != 3 || len(receipts) != 22 {
			t.Errorf("there are %d runs and %d receipts", len(s.runs), len(receipts))
		}
	})
	t.Run("sealed after a while", func(t *testing.T) {
		s := serveOwn(t, nil)
		url := s.address(t, serve.HTTPAccess{Keys: []string{ada, bob}, IdleTime: 20 * time.Millisecond})
		call(t, url, ada, "a")
		until(t, "the seal", func() bool {
			report, err := journal.Verify(s.store.Read(t.Context(), s.runs[0], 0))
			return err == nil && report.Sealed
		})
		call(t, url, ada, "a")
		s.Close()
		if receipts := s.receipts(t); len(s.runs) != 2 || len(receipts) != 2 {
			t.Errorf("there are %d runs and %d receipts", len(s.runs), len(receipts))
		}
	})
}
