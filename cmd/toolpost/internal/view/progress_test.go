package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// progressing returns the events of a call whose tool reports progress.
func progressing() []llm.Event {
	call := llm.Call{ID: "c1", Name: "copy", Args: json.RawMessage(`{}`)}
	report := func(done float64) llm.Event {
		return invoke.Progress{CallID: "c1", Tool: "copy", Progress: tool.Progress{Message: "file \x1b[2J", Done: done, Total: 3}}
	}
	return []llm.Event{llm.CallStart{ID: "c1", Name: "copy"}, call, invoke.Started{CallID: "c1", Tool: "copy", Attempt: 1}, report(1), report(2)}
}

// TestProgressShown: run and chat show the progress of a tool, on a terminal in the line of the call, elsewhere
// occasionally in a separate line.
func TestProgressShown(t *testing.T) {
	var live bytes.Buffer
	pr := NewPrinter(&live, &live)
	pr.Live, pr.width = true, func() int { return 80 }
	var plain bytes.Buffer
	log := NewPrinter(&plain, &plain)
	seen := NewTranscript(cli.Palette{})
	for _, ev := range progressing() {
		if err := pr.Event(ev); err != nil {
			t.Fatal(err)
		}
		if err := log.Event(ev); err != nil {
			t.Fatal(err)
		}
		seen.Calls.add(ev)
	}
	pr.mu.Lock()
	drawn := strings.Join(pr.drawn, "\n")
	pr.mu.Unlock()
	if !strings.Contains(drawn, "2 of 3") || strings.Contains(drawn, "\x1b[2J") {
		t.Errorf("the line of the call is %q", drawn)
	}
	if got := plain.String(); strings.Count(got, "copy: file") != 1 || !strings.Contains(got, "1 of 3") {
		t.Errorf("written is %q", got)
	}
	if line := seen.Calls.find("c1").line(cli.Palette{}, 80, 0, time.Now()); !strings.Contains(line, "2 of 3") {
		t.Errorf("chat shows %q", line)
	}
}
