package gateway_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// TestProcessMetrics checks that the program tells what it uses, by the names that dashboards expect, and values that can be.
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

// TestMetricsAreDocumented checks that the page about operations has each metric, with its labels.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/gateway/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{to("native", "up-chat/sim/native")}})
	ask(t, url, wire.Chat, question("native"), true)
	quiet(t, url)
	_, text := get(t, url+"/metrics")
	names := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		names[found[1]] = true
	}
	source, err := os.ReadFile("internal/metrics/metrics.go") // those that nothing was counted of yet are not in the text
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`"(toolpost_\w+)"`).FindAllStringSubmatch(string(source), -1) {
		names[found[1]] = true
	}
	if len(names) < 30 {
		t.Errorf("only %d metrics were found", len(names))
	}
	for name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page about operations does not have %s", name)
		}
	}
}
