package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/outbound"
)

// webhookEnv is the variable for the webhook, whose address often holds a secret.
const webhookEnv = "TOOLPOST_BUDGET_WEBHOOK"

// defaultWebhookAt are the parts of a limit that are reported, in percent.
var defaultWebhookAt = []int{80, 100}

// webhookOf returns the address of the webhook, "" if there is none.
func webhookOf(c settings.KeysConfig) string { return cmp.Or(os.Getenv(webhookEnv), c.Webhook) }

// budgetAlerts checks the settings of alerts. The address may hold a secret, so no message has it.
func (x *examination) budgetAlerts() {
	c := x.s.Gateway.Keys
	if address := webhookOf(c); address != "" {
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			err := errors.New("the address must begin with http:// or https:// and name a host")
			if os.Getenv(webhookEnv) != "" {
				x.AddError(outside(webhookEnv, err))
			} else {
				x.Wrong("gateway.webhook", "%v", err)
			}
		}
	}
	for i, percent := range c.WebhookAt {
		if percent < 1 || percent > 100 {
			x.Wrong(fmt.Sprintf("gateway.webhook_at[%d]", i), "%d is not between 1 and 100 percent", percent)
		}
	}
}

// alerts writes alerts about budgets to the log and sends them to a webhook.
type alerts struct {
	url    string // "" if there is no webhook
	log    *slog.Logger
	client *http.Client
	cancel context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex
	closed bool
	queue  chan access.Alert // closed with closed
}

// Limits of the queue of alerts, and of the time of one attempt to send one.
const (
	maxAlerts    = 1000
	webhookLimit = 10 * time.Second
)

// webhookPauses are the pauses before an alert is sent again.
var webhookPauses = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// alertsOf begins to report alerts of a book. The caller calls close.
func alertsOf(book *access.Book, c settings.KeysConfig, log *slog.Logger) *alerts {
	a := &alerts{url: webhookOf(c), log: log, client: outbound.New(outbound.Rules{Timeout: webhookLimit}), queue: make(chan access.Alert, maxAlerts), ended: make(chan struct{})}
	if book.AlertAt = c.WebhookAt; len(book.AlertAt) == 0 {
		book.AlertAt = defaultWebhookAt
	}
	book.Alert = a.take
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	go func() {
		defer close(a.ended)
		for alert := range a.queue {
			a.deliver(ctx, alert)
		}
	}()
	return a
}

// close waits for alerts that are being sent. An alert of a request that ends later is only logged.
func (a *alerts) close() {
	a.mu.Lock()
	a.closed = true
	close(a.queue)
	a.mu.Unlock()
	select {
	case <-a.ended:
	case <-time.After(EndTime):
		a.cancel()
		<-a.ended
	}
	a.cancel()
}

// take logs an alert and queues it for the webhook.
func (a *alerts) take(alert access.Alert) {
	a.log.Warn("a budget alert", "team", alert.Team, "key", alert.Key, "limit", alert.Limit.String(), "percent", alert.Percent)
	if a.url == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		a.log.Error("a budget alert is not sent, because the gateway ends", "team", alert.Team)
		return
	}
	select {
	case a.queue <- alert:
	default:
		a.log.Error("a budget alert is lost, because too many wait for the webhook", "team", alert.Team)
	}
}

// deliver sends an alert, and again after a pause if the webhook does not accept it.
func (a *alerts) deliver(ctx context.Context, alert access.Alert) {
	body, err := json.Marshal(alert)
	if err != nil {
		a.log.Error("a budget alert is lost", "team", alert.Team, "error", err.Error())
		return
	}
	for i := 0; ; i++ {
		if err = a.post(ctx, body); err == nil {
			return
		}
		if i == len(webhookPauses) || ctx.Err() != nil {
			break
		}
		a.log.Warn("the webhook did not accept a budget alert, which is sent again", "team", alert.Team, "error", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(webhookPauses[i]):
		}
	}
	a.log.Error("a budget alert is lost, because the webhook did not accept it", "team", alert.Team, "error", err.Error())
}

// post sends a body to the webhook. Its errors do not have the address.
func (a *alerts) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is invalid")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if known := (*url.Error)(nil); errors.As(err, &known) {
		return known.Err
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
