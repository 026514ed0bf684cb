package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/access"
)

// TestBudgetWebhook checks that a webhook gets an alert when a key has used a part of its limit, again after a failure, and
// that the log has the alert but not the address.
func TestBudgetWebhook(t *testing.T) {
	webhookPauses = []time.Duration{time.Millisecond, time.Millisecond}
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, string(body)); len(got) < 3 {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	log := new(bytes.Buffer)
	book := &access.Book{Store: new(access.Memory)}
	a := alertsOf(book, settings.KeysConfig{Webhook: server.URL + "/secret-path"}, slog.New(slog.NewTextHandler(log, nil)))
	limit, err := access.ParseQuota("money/day=1")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := book.Create(t.Context(), access.Key{Team: "red", Limits: []access.Quota{limit}})
	if err != nil {
		t.Fatal(err)
	}
	rights, err := book.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"r1", "r2", "r3"} {
		admitted, err := book.Admit(t.Context(), rights, access.Claim{ID: id, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if err := book.Settle(t.Context(), admitted, access.LogLine{Status: "ok", Money: 3 * catalog.Dollar / 10}); err != nil {
			t.Fatal(err)
		}
	}
	a.close()
	var alert struct {
		Text, Event, Team, Key, Limit, Used string
		Percent                             int
	}
	if len(got) != 3 || json.Unmarshal([]byte(got[2]), &alert) != nil || alert.Event != "budget" || alert.Team != "red" || alert.Key != rights.Key.ID ||
		alert.Limit != "money/day=1.00" || alert.Percent != 80 || alert.Used != "0.90" || !strings.Contains(alert.Text, "has used 80 % of its limit money/day=1.00: 0.90.") {
		t.Errorf("%q", got)
	}
	if text := log.String(); !strings.Contains(text, `msg="a budget alert" team=red`) || !strings.Contains(text, "status 307") || strings.Contains(text, "secret-path") {
		t.Error(text)
	}
}

// TestWebhookThatIsGone checks that an alert that cannot be sent is in the log, without the address.
func TestWebhookThatIsGone(t *testing.T) {
	webhookPauses = []time.Duration{time.Millisecond}
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	log := new(bytes.Buffer)
	a := alertsOf(new(access.Book), settings.KeysConfig{Webhook: server.URL + "/secret-path"}, slog.New(slog.NewTextHandler(log, nil)))
	a.take(access.Alert{Team: "red"})
	a.close()
	if text := log.String(); !strings.Contains(text, "a budget alert is lost") || !strings.Contains(text, "connection refused") || strings.Contains(text, "secret-path") {
		t.Error(text)
	}
}

// TestAlertsAfterTheEnd: a request that outlives the gateway's end is not lost with a panic.
func TestAlertsAfterTheEnd(t *testing.T) {
	log := new(bytes.Buffer)
	book := new(access.Book)
	a := alertsOf(book, settings.KeysConfig{Webhook: "http://127.0.0.1:1/"}, slog.New(slog.NewTextHandler(log, nil)))
	a.close()
	book.Alert(access.Alert{Team: "red"})
	if !strings.Contains(log.String(), "not sent, because the gateway ends") {
		t.Error(log)
	}
}
