package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// endObserved tells the observer how the request ended.
func (x *chain) endObserved(err error) {
	if x.observed == nil {
		return
	}
	x.observed.Route, x.observed.Model = x.trace.Route, x.Model
	x.observed.Upstream, x.observed.Status, x.observed.Usage = x.Upstream, x.Writer.Status, x.used()
	x.observed.Team = x.Team()
	observing.End(x.HTTP.Context(), x.observed, err)
}

// used returns the usage of the request: the booked usage with keys, otherwise what the upstream reported last.
func (x *chain) used() llm.Usage {
	if used, booked := x.spent.Used(); booked {
		return used
	}
	return x.measured.usage
}

// end reports the request to the observer and the log.
func (x *chain) end(err error) {
	x.endObserved(err)
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs, slog.String("id", x.ID), slog.String("method", x.HTTP.Method), slog.String("path", x.logged(x.HTTP.URL.Path)), slog.Int("status", x.Writer.Status), slog.Duration("took", time.Since(x.Start)))
	attrs = append(attrs, x.LogAttrs()...)
	if x.Model != "" {
		used := x.used()
		attrs = append(attrs, slog.String("route", x.trace.Route))
		if x.measured.route != "" && x.measured.route != x.trace.Route {
			attrs = append(attrs, slog.String("fallback", x.measured.route))
		}
		if x.measured.firstToken > 0 {
			attrs = append(attrs, slog.Duration("first_token", x.measured.firstToken))
		}
		attrs = append(attrs, slog.String("model", x.logged(x.Model)), slog.String("upstream", x.Upstream), slog.Bool("cached", x.spent.FromCache()),
			slog.Int("input_tokens", used.Input), slog.Int("output_tokens", used.Output),
			slog.String("cost", x.spent.Cost()), slog.Int("warnings", x.Warnings()), slog.Int("invalid_calls", x.measured.invalid))
	}
	if err != nil && exchange.ShuttingDown(x.Context()) { // the upstream's error only shows the cancellation
		err = fmt.Errorf("%w (%w)", exchange.ErrShutdown, err)
	}
	if refusal := (*access.Refusal)(nil); errors.As(err, &refusal) && refusal.Key != "" {
		attrs = append(attrs, slog.String("team", refusal.Team), slog.String("key", refusal.Key))
	}
	switch {
	case err == nil:
		x.settings.Log.LogAttrs(x.Context(), slog.LevelInfo, "request", attrs...)
	case x.outcome(err) == "cancelled":
		text := "the client closed the connection before the answer began"
		if x.Writer.Status == http.StatusOK {
			text = "the client closed the connection while the answer came"
		}
		x.settings.Log.LogAttrs(x.Context(), slog.LevelInfo, "request cancelled", append(attrs, slog.String("kind", llm.Canceled.String()), slog.String("error", text))...)
	default:
		x.settings.Log.LogAttrs(x.Context(), slog.LevelWarn, "request failed", append(attrs, slog.String("kind", upstream.FailureKind(err)), slog.String("error", x.logged(err.Error())))...)
	}
}

// logged shortens a text for the log and redacts keys, because clients control parts of the text.
func (g *Gateway) logged(text string) string { return vendorapi.Brief(g.redactKeys(text)) }

// redactKeys redacts gateway keys that a client wrote in unexpected places.
func (g *Gateway) redactKeys(text string) string {
	if !strings.Contains(text, access.Prefix) {
		return text
	}
	return g.settings.Secrets.Clean(text).String()
}
