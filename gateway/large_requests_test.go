package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// upstreamSeen is a simulator that keeps the last request.
type upstreamSeen struct {
	sim  sim.Server
	mu   sync.Mutex
	body []byte
}

func (u *upstreamSeen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.body = body
	u.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	u.sim.ServeHTTP(w, r)
}

// warned collects the warnings in the log.
type warned struct {
	slog.Handler
	mu   sync.Mutex
	list []string
}

func (h *warned) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if list, ok := a.Value.Any().([]string); ok {
			h.mu.Lock()
			h.list = append(h.list, list...)
			h.mu.Unlock()
		}
		return true
	})
	return nil
}

// asWarnings parses header lines.
func asWarnings(lines []string) []llm.Warning {
	var list []llm.Warning
	for _, line := range lines {
		if part := strings.SplitN(line, "; ", 3); len(part) == 3 {
			list = append(list, llm.Warning{Code: llm.WarningCode(part[0]), Feature: part[1], Detail: part[2]})
		}
	}
	return list
}

// Requests as large as those of coding agents reach an upstream of every format, and the client is warned of every part
// that does not.
func TestLargeRequestsArePassedWhole(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../wire/testdata/agents/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	rules := map[string]schema.Vendor{wire.Messages: schema.Anthropic, wire.Gemini: schema.Gemini, wire.Ollama: schema.Ollama}
	for _, to := range wire.Formats() {
		seen := new(upstreamSeen)
		server := httptest.NewServer(seen)
		t.Cleanup(server.Close)
		client := &provider.Client{Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}, Vendors: map[string]provider.Vendor{
			"up": {BaseURL: server.URL + roots[to], Wires: []string{to}, Schemas: rules[to], Apart: true},
		}}
		for _, file := range files {
			t.Run(to+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				ar, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				tools, size, err := losses.Size(ar.Comment)
				if err != nil {
					t.Fatal(err)
				}
				from := ar.Files[0].Name
				body, err := losses.Large(from, ar.Files[0].Data, 2*tools, size)
				if err != nil {
					t.Fatal(err)
				}
				log := &warned{Handler: slog.DiscardHandler}
				url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{{Model: "*", Upstreams: []gateway.Upstream{{Model: "up/sim/native"}}}}, Open: opening(client), Log: slog.New(logger{log})})
				resp, err := http.Post(url+roots[from]+"/"+wire.Codec{Format: from}.Path("any", true), "application/json", bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				answer, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("%s: %.500s", resp.Status, answer)
				}
				log.mu.Lock()
				warnings := asWarnings(append(resp.Header.Values("Toolpost-Warning"), log.list...))
				log.mu.Unlock()
				seen.mu.Lock()
				defer seen.mu.Unlock()
				narrow := func(s []byte) ([]byte, bool) {
					n, err := schema.Narrow(s, cmp.Or(rules[to], schema.OpenAI), false)
					if err != nil || len(s) == 0 {
						return s, false
					}
					return n.Schema, len(n.Losses) > 0
				}
				for _, lost := range (losses.Translation{From: from, To: to, Body: body, Out: seen.body, Warnings: warnings, Narrow: narrow}).Silent() {
					t.Errorf("%.600s", lost)
				}
			})
		}
	}
}

// logger is a handler that is always enabled.
type logger struct{ *warned }

func (logger) Enabled(context.Context, slog.Level) bool { return true }
