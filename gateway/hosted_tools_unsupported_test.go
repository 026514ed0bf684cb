package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// Features that only the client's vendor runs are dropped with a warning, for every upstream. Coding agents offer them
// with every request.
func TestUnsupportedHostedTools(t *testing.T) {
	const body = `{"model":"m","stream":true,"input":"What is the weather in Rome?","tools":[
		{"type":"web_search","external_web_access":false},
		{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`
	for _, upstream := range []string{"up-chat/sim/native", "up-messages/sim/native", "up-gemini/sim/native", "up-ollama/sim/native", "up-text/sim/native"} {
		open := upstreams(t)
		if strings.HasPrefix(upstream, "up-text/") {
			open = toolless(t)
		}
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", upstream)}, Open: opening(open)})
		resp, err := http.Post(url+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		warnings := strings.Join(resp.Header.Values("Toolpost-Warning"), "\n")
		if resp.StatusCode != 200 || !strings.Contains(string(answer), `"name":"get_weather"`) || !strings.Contains(warnings, "web_search") {
			t.Errorf("%s: %d, warnings %q: %s", upstream, resp.StatusCode, warnings, answer)
		}
	}
}

// lines collects log lines in order.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A client is warned of every kind of deviation from its request, however many there are, and the log has them all.
func TestWarningHeaderOverflow(t *testing.T) {
	log := make(lines, 128)
	url := serve(t, gateway.Setup{
		Routes: []gateway.ModelRoute{to("m", "up-gemini/sim/native")},
		Log:    slog.New(slog.NewTextHandler(log, nil)),
	})
	var fields strings.Builder
	for i := range 40 {
		fmt.Fprintf(&fields, `"own_%02d":true,`, i)
	}
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{`+fields.String()+`"model":"m","messages":[{"role":"user","content":"Hello."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(resp.Body)
	resp.Body.Close()
	var logged string // each warning has a line
	for !strings.Contains(logged, "more warnings than the header has room for") {
		logged += <-log
	}
	header := resp.Header.Values("Toolpost-Warning")
	said, size := strings.Join(header, "\n"), 0
	for _, line := range header {
		size += len(line)
	}
	for i := range 40 {
		if name := fmt.Sprintf("own_%02d", i); !strings.Contains(said, name) || i >= 20 && !strings.Contains(logged, name) {
			t.Errorf("%s is lost in silence", name)
		}
	}
	if want := `code=ignored feature=own_20 warning="the upstream does not get it"`; !strings.Contains(logged, want) {
		t.Errorf("the log has no %s: %s", want, logged)
	}
	if len(header) != 17 || size > 6000 {
		t.Errorf("%d lines of %d bytes", len(header), size)
	}
}
