package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestProcessMetrics checks that the process metrics have the names that dashboards expect, and plausible values.
func TestProcessMetrics(t *testing.T) {
	_, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{to("native", "up-chat/sim/native")}})
	_, text := get(t, url+"/metrics")
	checkExposition(t, text)
	value := func(name string) (v float64) {
		found := regexp.MustCompile(`(?m)^` + name + `(?:\{[^}]*\})? (\S+)$`).FindStringSubmatch(text)
		if found == nil {
			t.Errorf("there is no %s", name)
			return 0
		}
		if _, err := fmt.Sscan(found[1], &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return v
	}
	for _, c := range []struct {
		name        string
		least, most float64
		linux       bool
	}{
		{"toolpost_build_info", 1, 1, false},
		{"go_info", 1, 1, false},
		{"go_goroutines", 2, 1e5, false},
		{"go_memstats_heap_alloc_bytes", 1e5, 1e10, false},
		{"go_memstats_heap_inuse_bytes", 1e5, 1e10, false},
		{"go_memstats_sys_bytes", 1e6, 1e11, false},
		{"process_start_time_seconds", 1.7e9, 1e10, false},
		{"process_cpu_seconds_total", 0.001, 1e6, true},
		{"process_resident_memory_bytes", 1e6, 1e11, true},
		{"process_virtual_memory_bytes", 1e6, 1e16, true},
		{"process_open_fds", 3, 1e6, true},
		{"process_max_fds", 10, 1e10, true},
	} {
		if c.linux && runtime.GOOS != "linux" {
			continue
		}
		if v := value(c.name); v < c.least || v > c.most {
			t.Errorf("%s is %g", c.name, v)
		}
	}
	if inUse, alloc := value("go_memstats_heap_inuse_bytes"), value("go_memstats_heap_alloc_bytes"); inUse < alloc {
		t.Errorf("of %g bytes on the heap %g are in use", alloc, inUse)
	}
	for _, words := range []string{`toolpost_build_info{version="`, `goversion="` + runtime.Version() + `"`, `go_info{version="` + runtime.Version() + `"} 1`} {
		if !strings.Contains(text, words) {
			t.Errorf("%s is missing", words)
		}
	}
	if runtime.GOOS == "linux" && !strings.Contains(text, "# TYPE process_cpu_seconds_total counter\n") {
		t.Error("what only grows is no counter")
	}
	before := value("process_open_fds")
	for range 5 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if _, text = get(t, url+"/metrics"); runtime.GOOS == "linux" && value("process_open_fds") < before+5 {
		t.Errorf("%g files are open, and five more: %g", before, value("process_open_fds"))
	}
}

// TestMetricsAreDocumented: the page of metrics is generated from the output and the declarations.
func TestMetricsAreDocumented(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems report fewer metrics of the process
	}
	route := to("native", "up-chat/sim/native")
	route.Upstreams[0].Health, route.Upstreams[0].DriftEvery = time.Hour, time.Hour
	agreement := func(context.Context, string, llm.Model, time.Duration) (float64, error) { return 1, nil }
	_, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{route}, Agreement: agreement})
	quiet(t, url)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, text := get(t, url+"/metrics"); strings.Contains(text, "toolpost_upstream_agreement") {
			break
		}
	}
	rows := metrics.New().Rows()
	_, text := get(t, url+"/metrics")
	for _, found := range regexp.MustCompile(`(?m)^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n\S+?(?:\{(.*)\})? \S+$`).FindAllStringSubmatch(text, -1) {
		row := metrics.Row{Name: found[1], Help: found[2], Kind: found[3]}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(found[4], -1) {
			row.Labels = append(row.Labels, label[1])
		}
		if !slices.ContainsFunc(rows, func(r metrics.Row) bool { return r.Name == row.Name }) {
			rows = append(rows, row)
		}
	}
	rows = append(rows, metrics.Row{Name: "toolpost_spans_dropped_total", Kind: "counter", Help: "Spans that could not be sent."}) // of the command
	var page strings.Builder
	page.WriteString("# Metrics of the gateway\n\nLook up the metrics of `/metrics` ([where it is served](operations.md#health-and-metrics)). This page is generated.\n\n" +
		"| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", r.Name, r.Kind, strings.Join(r.Labels, ", "), r.Help)
	}
	if len(rows) < 35 {
		t.Errorf("only %d metrics were found", len(rows))
	}
	testkit.Page(t, "../docs/gateway/metrics.md", page.String())
	checkMonitoring(t, rows)
}

// checkMonitoring checks that the dashboard and the alert rules use metrics and labels that exist.
func checkMonitoring(t *testing.T, rows []metrics.Row) {
	for _, file := range []string{"grafana.json", "alerts.yaml"} {
		text, err := os.ReadFile("../deploy/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "grafana.json" && !json.Valid(text) {
			t.Error("the dashboard is not JSON")
		}
		for _, use := range regexp.MustCompile(`((?:toolpost|process|go)_[a-z_]+)(?:\{((?:[^}"]|\\?"[^"]*")*)\})?`).FindAllStringSubmatch(string(text), -1) {
			name := strings.TrimSuffix(strings.TrimSuffix(use[1], "_bucket"), "_count")
			i := slices.IndexFunc(rows, func(r metrics.Row) bool { return r.Name == name })
			if i < 0 {
				t.Errorf("%s: no metric %s", file, name)
				continue
			}
			for _, label := range regexp.MustCompile(`([a-z]+)=~?`).FindAllStringSubmatch(use[2], -1) {
				if !slices.Contains(rows[i].Labels, label[1]) {
					t.Errorf("%s: %s has no label %s", file, name, label[1])
				}
			}
		}
	}
}

// stuck is a client that does not read.
type stuck struct {
	http.ResponseWriter
	asked, read chan struct{}
	once        sync.Once
}

func (s *stuck) Header() http.Header { return make(http.Header) }

func (s *stuck) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.asked) })
	<-s.read
	return len(b), nil
}

// TestUnreadMetrics checks that requests are answered while a client of the metrics does not read.
func TestUnreadMetrics(t *testing.T) {
	l, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{to("native", "up-chat/sim/native")}})
	ask(t, url, wire.Chat, question("native"), true)
	client := &stuck{asked: make(chan struct{}), read: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.Metrics().ServeHTTP(client, httptest.NewRequest("GET", "/metrics", nil))
	}()
	<-client.asked
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		ask(t, url, wire.Chat, question("native"), true)
	}()
	select {
	case <-answered:
	case <-time.After(2 * time.Minute):
		t.Error("a request waits for whoever reads the metrics")
	}
	close(client.read)
	<-over
	<-answered
}

// TestCountsOfEveryFormat checks that an upstream of the client's own format counts the tokens, in every format with
// such an endpoint, also if the model name must be escaped in a path.
func TestCountsOfEveryFormat(t *testing.T) {
	const model = "sim/native+strict"
	for format, body := range map[string]string{
		wire.Messages:  `{"model":"` + model + `","messages":[{"role":"user","content":"How many tokens are these words?"}]}`,
		wire.Responses: `{"model":"` + model + `","input":"How many tokens are these words?"}`,
		wire.Gemini:    `{"contents":[{"role":"user","parts":[{"text":"How many tokens are these words?"}]}]}`,
		wire.Converse:  `{"input":{"converse":{"messages":[{"role":"user","content":[{"text":"How many tokens are these words?"}]}]}}}`,
	} {
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to(model, "up-"+format+"/"+model)}})
		codec, _ := wire.For(format)
		resp, err := http.Post(url+roots[format]+"/"+codec.CountPath(model), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get(exchange.WarningHeader) != "" {
			t.Errorf("%s: status %d, warning %q: %s", format, resp.StatusCode, resp.Header.Get(exchange.WarningHeader), b)
		}
	}
}
