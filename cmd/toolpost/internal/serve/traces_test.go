package serve_test

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/sim"
)

// sentSpan is a span as a collector receives it.
type sentSpan struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string
	Kind                                            int
	StartTimeUnixNano, EndTimeUnixNano              string
	Attributes                                      []struct {
		Key   string
		Value map[string]string
	}
	Status struct {
		Code    int
		Message string
	}
}

// TestServeTraces: a client's trace is continued and passed to the upstream. Its spans reach a collector without any
// text of messages.
func TestServeTraces(t *testing.T) {
	clitest.Bare(t, nil)
	var mu sync.Mutex
	var spans []sentSpan
	var bodies []string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/metrics" { // tested in package otlp
			return
		}
		var sent struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct{ Value map[string]string }
				}
				ScopeSpans []struct{ Spans []sentSpan }
			}
		}
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &sent); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Team") != "a b" || r.Header.Get("Content-Type") != "application/json" ||
			sent.ResourceSpans[0].Resource.Attributes[0].Value["stringValue"] != "gate" {
			t.Errorf("%v %s %v %s", err, r.URL.Path, r.Header, b)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(b))
		for _, s := range sent.ResourceSpans[0].ScopeSpans {
			spans = append(spans, s.Spans...)
		}
	}))
	defer collector.Close()
	var handed []http.Header
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			mu.Lock()
			handed = append(handed, r.Header.Clone())
			mu.Unlock()
		}
		new(sim.Server).ServeHTTP(w, r)
	}))
	defer upstream.Close()
	programtest.Place(t, "gateway.yaml", "gateway:\n  routes: [{model: m, to: [{model: \"openai+"+upstream.URL+"/v1#sim/native\"}]}]\n")
	ask := func(url, parent string) {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"a private word"}]}`))
		r.Header.Set("Traceparent", parent)
		r.Header.Set("Tracestate", "vendor=1")
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", err, resp)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	url, stop := programtest.StartServing(t, io.Discard, "--addr", "127.0.0.1:0", "--config", "gateway.yaml") // off by default
	ask(url, "00-"+trace+"-"+parent+"-01")
	stop()
	if got := handed[0].Get("Traceparent"); got != "00-"+trace+"-"+parent+"-01" || handed[0].Get("Tracestate") != "vendor=1" || len(spans) != 0 {
		t.Errorf("without a collector: %q, %d spans", got, len(spans))
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Team=a%20b")
	t.Setenv("OTEL_SERVICE_NAME", "gate")
	url, stop = programtest.StartServing(t, io.Discard, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
	ask(url, "00-"+trace+"-"+parent+"-01")
	ask(url, "00-"+strings.Repeat("1", 32)+"-"+parent+"-00") // not sampled by the client
	ask(url, "nonsense")
	if _, text := fetched(t, http.DefaultClient, url+"/metrics", ""); !strings.Contains(text, "toolpost_spans_dropped_total 0") {
		t.Error("the lost spans are not counted")
	}
	stop()
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		n := len(spans)
		mu.Unlock()
		if n >= 4 {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	by := map[string]sentSpan{}
	for _, s := range spans {
		if _, err := hex.DecodeString(s.TraceID + s.SpanID); err != nil || len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("%+v", s)
		}
		if s.TraceID == trace {
			by[s.Name] = s
		} else if s.TraceID == strings.Repeat("1", 32) {
			t.Errorf("a trace that nobody records: %+v", s)
		}
	}
	request, chat := by["POST /v1/chat/completions"], by["chat sim/native"]
	if request.ParentSpanID != parent || request.Kind != 2 || request.TraceState != "vendor=1" || chat.ParentSpanID != request.SpanID || chat.Kind != 3 {
		t.Errorf("%+v", spans)
	}
	if got := handed[1].Get("Traceparent"); got != "00-"+trace+"-"+chat.SpanID+"-01" {
		t.Errorf("the upstream was told %q, and the span is %s", got, chat.SpanID)
	}
	if all := strings.Join(bodies, ""); strings.Contains(all, "private") || !strings.Contains(all, `"http.response.status_code","value":{"intValue":"200"}`) {
		t.Error(all)
	}
	for env, says := range map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": "over HTTP in JSON", "OTEL_EXPORTER_OTLP_HEADERS=nothing": "not a list like name=value", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317": "is not an address"} {
		t.Run(env, func(t *testing.T) {
			name, value, _ := strings.Cut(env, "=")
			t.Setenv(name, value)
			programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), 2, says)
		})
	}
}
