package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// logLines is a log that is read while it is written.
type logLines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *logLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// visible serves tools, with a log and metrics.
func visible(t *testing.T, tools *gateway.ServedTools, answers ...string) (url string, log *logLines, metrics func() string) {
	t.Helper()
	setup, _ := stagedSetup(t, script(t, answers...), wire.Chat, tools)
	log = new(logLines)
	setup.Log = slog.New(slog.NewTextHandler(log, nil))
	live, err := gateway.NewLive(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	server := httptest.NewServer(live)
	t.Cleanup(server.Close)
	return server.URL, log, func() string {
		w := httptest.NewRecorder()
		live.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
}

// allWarnings sends a request and returns all warnings in the response, in every place.
func allWarnings(t *testing.T, url, format string, stream bool) []string {
	t.Helper()
	codec, _ := wire.For(format)
	asked, _, err := codec.EncodeRequest(question("m"), stream)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+roots[format]+"/"+codec.Path("m", stream), "application/json", bytes.NewReader(asked))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", format, resp.StatusCode, said, err)
	}
	list := resp.Header.Values(exchange.WarningHeader)
	for line := range strings.Lines(string(said)) {
		if comment, ok := strings.CutPrefix(line, ": "); ok {
			list = append(list, strings.TrimSpace(comment))
		}
	}
	return append(list, resp.Trailer.Values(exchange.WarningHeader)...)
}

// TestRefusedCallWarnsClient checks that clients and the operator learn of refused and failed calls of gateway tools, once
// each, and before lesser warnings.
func TestRefusedCallWarnsClient(t *testing.T) {
	var n counter
	write := reading("write", "written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	breaks := tool.New("breaks", "Breaks.", []byte(`{"type":"object"}`), func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{}, tool.Errorf(tool.Execution, "the secret drawer is stuck")
	})
	breaks.Effects = tool.ReadOnly
	for format := range roots {
		for _, stream := range []bool{false, true} {
			url, log, metrics := visible(t, served(write, breaks, reading("look", "found", &n)), "call write {\"what\":\"x\"}\ncall breaks {\"what\":\"x\"}\ncall look {\"what\":\"x\"}", "text Done.")
			list := slices.DeleteFunc(allWarnings(t, url, format, stream), func(w string) bool { return stream && strings.HasPrefix(w, "unknown_model; ") }) // sent when the stream began
			if len(list) < 2 || !strings.HasPrefix(list[0], "refused_call; write; the call ") || !strings.Contains(list[0], "was refused: ") ||
				!strings.HasPrefix(list[1], "failed_call; breaks; the call ") || !strings.Contains(list[1], "failed: the secret drawer is stuck") {
				t.Errorf("%s, stream %t: %q", format, stream, list)
			}
			if all := strings.Join(list, "\n"); strings.Count(all, "_call; ") != 2 || strings.Contains(all, "; look;") {
				t.Errorf("%s, stream %t: %q", format, stream, list)
			}
			for _, want := range []string{`msg="a call of a tool was refused"`, "tool=write", "reason=", `msg="a call of a tool failed"`, "tool=breaks", "code=execution"} {
				if strings.Count(log.text(), want) != 1 {
					t.Errorf("%s: not one %s in %s", format, want, log.text())
				}
			}
			if strings.Contains(log.text(), "drawer") {
				t.Errorf("the log has what the tool said: %s", log.text())
			}
			for _, status := range []string{"refused", "failed", "ok"} {
				if want := fmt.Sprintf(`toolpost_served_calls_total{route="m",status=%q} 1`, status); !strings.Contains(metrics(), want) {
					t.Errorf("no %s", want)
				}
			}
		}
	}
}

// TestRefusedCallWarningComesFirst checks that a refusal precedes earlier warnings, also if there are too many for the header.
func TestRefusedCallWarningComesFirst(t *testing.T) {
	var n counter
	write := reading("write", "written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	url, log, _ := visible(t, served(write), "call write {\"what\":\"x\"}", "text Done.")
	var more strings.Builder
	for i := range 20 {
		fmt.Fprintf(&more, `,"odd_%d":1`, i)
	}
	resp, err := http.Post(url+"/v1beta/models/m:generateContent", "application/json", strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"Write x."}]}]`+more.String()+`}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	list := resp.Header.Values(exchange.WarningHeader)
	if len(list) != 17 || !strings.HasPrefix(list[0], "refused_call; write; ") || strings.Contains(strings.Join(list[1:], "\n"), "refused_call") {
		t.Errorf("%d %q", len(list), list)
	}
	if !strings.Contains(log.text(), "more warnings than the header has room for") {
		t.Error(log.text())
	}
}

// TestDeniedCallWarnsClient checks that a client learns who denied its call, and why, at each request.
func TestDeniedCallWarnsClient(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	url, log, metrics := visible(t, tools, "call write {\"what\":\"x\"}", "text Well.")
	run := ask(t, url, wire.Chat, question("m"), false).header.Get(exchange.RequestHeader)
	if strings.Contains(log.text(), "was refused") {
		t.Errorf("a call that waits is said to be refused: %s", log.text())
	}
	open, err := agent.Waiting(t.Context(), store, run)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	if err := agent.Decide(t.Context(), store, run, agent.Grant{Call: open[0].CallID, By: "ada", Reason: "not today"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		list := ask(t, url, wire.Chat, question("m"), false).header.Values(exchange.WarningHeader)
		if want := fmt.Sprintf("refused_call; write; the call %s of %s was refused: ada refused it: not today", open[0].CallID, run); len(list) == 0 || list[0] != want || strings.Count(strings.Join(list, "\n"), "refused_call") != 1 {
			t.Errorf("%q, want %s", list, want)
		}
	}
	if strings.Count(log.text(), `reason="ada refused it: not today"`) != 1 || !strings.Contains(metrics(), `toolpost_served_calls_total{route="m",status="refused"} 1`) {
		t.Errorf("%s\n%s", log.text(), metrics())
	}
}

// TestWarningReachesEveryFormat checks that a warning about a model, which a program gets once, reaches each client of a
// gateway.
func TestWarningReachesEveryFormat(t *testing.T) {
	url, _ := staged(t, script(t, "text Hello."), wire.Messages, nil)
	for range 2 {
		req := question("m")
		req.MaxTokens, req.Tools = 0, nil
		got := ask(t, url, wire.Chat, req, false)
		if list := strings.Join(got.header.Values(exchange.WarningHeader), "\n"); got.err != nil || strings.Count(list, "demands a limit for the answer") != 1 {
			t.Errorf("%v %s", got.err, list)
		}
	}
}

// TestTimestampsCauseNoWarning checks that the time of an Ollama answer, which other formats also have, is not reported as a
// loss.
func TestTimestampsCauseNoWarning(t *testing.T) {
	url, _ := staged(t, script(t, "text Hello."), wire.Ollama, nil)
	for format := range roots {
		for _, w := range allWarnings(t, url, format, false) {
			if strings.Contains(w, "created_at") {
				t.Errorf("%s: %s", format, w)
			}
		}
	}
}
