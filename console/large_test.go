package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/journal"
)

// TestTenThousandRunsAreListed prints how long the list takes. It fails only if a page is large or rows are missing.
func TestTenThousandRunsAreListed(t *testing.T) {
	runs := 500
	if testkit.IsLong() {
		runs = 10_000
	}
	store := new(memory)
	for i := range runs {
		rec, err := journal.Open(t.Context(), store, fmt.Sprintf("202611%02d-120000-%06d", i%28+1, i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Write(t.Context(), journal.KindStart, journal.Start{Task: fmt.Sprintf("task %d", i), Model: fmt.Sprintf("model-%d", i%7)}); err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Receipt(t.Context(), journal.Receipt{Call: "c", Tool: fmt.Sprintf("tool_%d", i%5), Args: []byte(`{}`), Status: journal.OK}); err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, &console.Console{Store: store})
	p := login(t, s.URL, viewerToken)
	want := fmt.Sprintf("of %d runs", runs)
	for range 2000 { // until all runs are read
		if _, body := p.get("/"); strings.Contains(body, want) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, path := range []string{"/", "/?tool=tool_3&model=model-2", "/?q=task+4", "/?from=400", "/approvals"} {
		began := time.Now()
		status, body := p.get(path)
		t.Logf("%s: %s, %d kB", path, time.Since(began).Round(time.Millisecond/10), len(body)>>10)
		if status != http.StatusOK || len(body) > 300<<10 {
			t.Errorf("%s: status %d, %d bytes", path, status, len(body))
		}
	}
	if _, body := p.get("/"); !strings.Contains(body, want) {
		t.Errorf("the list does not have all runs: want %q", want)
	}
}
