package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// turnEvents returns a turn with every kind of visible event.
func turnEvents() []llm.Event {
	call := func(id, name, args string) llm.Call { return llm.Call{ID: id, Name: name, Args: json.RawMessage(args)} }
	result := func(id, text string) llm.Result {
		return llm.Result{CallID: id, Parts: []llm.Part{llm.Text{Text: text}}}
	}
	read := call("c1", "read_file", `{"path":"a.txt"}`)
	read.Provenance.Repairs = []llm.Repair{{Rule: "trailing-comma", Class: llm.Syntax}}
	return []llm.Event{
		agent.Turn{N: 1, Max: 20, Model: "some/model"},
		llm.Warning{Code: llm.Degraded, Feature: "context", Detail: "one"},
		llm.Warning{Code: llm.Degraded, Feature: "context", Detail: "two"},
		llm.Warning{Code: llm.Degraded, Feature: "context", Detail: "one"},
		llm.ThinkingDelta{Text: "Hm, "}, llm.ThinkingDelta{Text: "let me see."},
		llm.TextDelta{Text: "I will "}, llm.TextDelta{Text: "look."},
		llm.CallStart{ID: "c1", Name: "read_file"}, llm.CallDelta{ID: "c1", Args: `{"path":`}, llm.CallDelta{ID: "c1", Args: `"a.txt"}`}, read,
		llm.CallStart{ID: "c2", Name: "list_files"}, call("c2", "list_files", `{}`),
		invoke.Checked{CallID: "c1", Tool: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`), Repairs: read.Provenance.Repairs},
		invoke.Started{CallID: "c1", Tool: "read_file", Attempt: 1},
		invoke.ToolRetry{CallID: "c2", Tool: "list_files", Attempt: 1, Delay: time.Second, Error: tool.Errorf(tool.Timeout, "slow")},
		invoke.Ended{CallID: "c1", Took: 12 * time.Millisecond}, invoke.Outcome{Call: read, Result: result("c1", "first\nsecond\x1b[2J\nthird")},
		invoke.Ended{CallID: "c2", Took: 1500 * time.Millisecond},
		invoke.Outcome{Index: 1, Call: call("c2", "list_files", `{}`), Error: tool.Errorf(tool.Timeout, "it took\ntoo long")},
		refine.Recovery{Attempt: 1, Max: 2, Cause: "validation", Error: "path is missing"},
		agent.Turn{N: 2, Max: 20, Model: "some/model"},
		llm.TextDelta{Text: "It says \x1b]0;title\x07first."},
	}
}

// TestPlainPipe: each line is written once, with the model's text separate from the rest.
func TestPlainPipe(t *testing.T) {
	var out, log bytes.Buffer
	pr := NewPrinter(&out, &log)
	stop := pr.Spin()
	for _, ev := range turnEvents() {
		if err := pr.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if d := cmp.Diff("I will look.\nIt says \x1b]0;title\x07first.\n", out.String()); d != "" {
		t.Errorf("what the model says, to the byte:\n%s", d)
	}
	want := `· context: one (and 1 more)
✓ read_file path=a.txt · 12 ms · 3 lines: first … · repaired trailing-comma
✗ list_files · 1.5 s · it took too long · attempt 1 failed (timeout), again in 1.0 s
· asking the model to mend its answer, 1 of 2: path is missing
`
	if d := cmp.Diff(want, log.String()); d != "" {
		t.Errorf("what is done:\n%s", d)
	}
}

// TestTerminal draws on a simulated screen and checks the remaining text.
func TestTerminal(t *testing.T) {
	for _, width := range []int{120, 60, 33} {
		var screen bytes.Buffer
		pr := NewPrinter(&screen, &screen)
		pr.Live, pr.clean, pr.shared = true, true, true
		pr.width = func() int { return width }
		for _, ev := range turnEvents() {
			if err := pr.Event(ev); err != nil {
				t.Fatal(err)
			}
			for _, line := range pr.drawn {
				if w := ansi.StringWidth(line); w >= width {
					t.Errorf("width %d: a live line of %d cells: %s", width, w, line)
				}
			}
			pr.frame++
		}
		pr.settle()
		text := screen.String()
		for _, bad := range []string{"\x1b]0", "\x1b[2J", "\x07"} {
			if strings.Contains(text, bad) {
				t.Errorf("width %d: %q reached the terminal", width, bad)
			}
		}
		left := onScreen(text)
		for _, want := range []string{"I will look.", "✓ read_file", "✗ list_files", "It says ␛]0;title␇first."} {
			if strings.Count(left, want) != 1 {
				t.Errorf("width %d: %q is there %d times in\n%s", width, want, strings.Count(left, want), left)
			}
		}
		if strings.ContainsAny(left, string(Spinner)) {
			t.Errorf("width %d: something still turns in\n%s", width, left)
		}
	}
}

// onScreen returns the lines that remain after the printer's cursor movements: up some lines, and clear below.
func onScreen(text string) string {
	lines := []string{""}
	for text != "" {
		at := strings.IndexAny(text, "\n\r")
		if at < 0 {
			lines[len(lines)-1] += text
			break
		}
		lines[len(lines)-1] += text[:at]
		if text[at] == '\n' {
			lines, text = append(lines, ""), text[at+1:]
			continue
		}
		var up int
		rest, ok := strings.CutPrefix(text[at:], "\r\x1b[")
		if !ok {
			break
		}
		for rest[0] != 'A' {
			up, rest = up*10+int(rest[0]-'0'), rest[1:]
		}
		lines = append(lines[:len(lines)-1-up], "")
		text = strings.TrimPrefix(rest, "A\x1b[J")
	}
	return strings.Join(lines, "\n")
}

// TestTranscript draws the same turn in a transcript, at several widths.
func TestTranscript(t *testing.T) {
	tr := NewTranscript(cli.Palette{})
	tr.Add(Said, "Look into a.txt.")
	for _, ev := range turnEvents() {
		tr.Event(ev)
	}
	want := `› Look into a.txt.

· context: one (and 1 more)

  Hm, let me see.

I will look.

✓ read_file path=a.txt · 12 ms · 3 lines: first … · repaire…
✗ list_files · 1.5 s · it took too long · attempt 1 failed …
· asking the model to mend its answer, 1 of 2: path is
  missing

It says ␛]0;title␇first.`
	if d := cmp.Diff(want, strings.Join(tr.Lines(60, 0, time.Now()), "\n")); d != "" {
		t.Error(d)
	}
	for _, width := range []int{200, 20, 7, 1} {
		for _, line := range tr.Lines(width, 0, time.Now()) {
			if w := ansi.StringWidth(line); w > max(width, 6) {
				t.Errorf("width %d: a line of %d cells: %q", width, w, line)
			}
		}
	}
}

// TestLongAnswers: the drawing does not depend on how the text is split. Streamed arguments are stored only as far as
// they are shown.
func TestLongAnswers(t *testing.T) {
	text := "\n\nOne.\n\nTwo is longer than the others are.\n\n\nThree.\n"
	for plain, want := range map[bool]string{true: "One.\n\nTwo is longer than\nthe others are.\n\n\nThree.", false: "One.\n\nTwo is longer than\nthe others are.\n\nThree."} {
		for size := len(text); size > 0; size-- {
			tr := NewTranscript(cli.Palette{})
			tr.Plain = plain
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				tr.Event(llm.TextDelta{Text: rest[:n]})
				rest = rest[n:]
			}
			if got := strings.Join(tr.Lines(20, 0, time.Now()), "\n"); got != want {
				t.Errorf("plain %v, in pieces of %d:\n%s\nwant:\n%s", plain, size, got, want)
			}
		}
	}
	c := calls{now: time.Now}
	c.add(llm.CallStart{ID: "c", Name: "f"})
	for range 10_000 {
		c.add(llm.CallDelta{ID: "c", Args: "0123456789"})
	}
	if n := len(c.all[0].Args); n > 8<<10 {
		t.Errorf("%d bytes of streaming arguments are kept", n)
	}
}

// Each kind of warning is printed once in a run, with the text of the first warning and the number of others.
func TestWarningsAreFolded(t *testing.T) {
	var out, log bytes.Buffer
	pr := NewPrinter(&out, &log)
	pr.Verbose = true
	stop := pr.Spin()
	examples := func(tool string) llm.Warning {
		return llm.Warning{Code: llm.Degraded, Feature: "tools.examples", Detail: tool + ": no examples"}
	}
	left := llm.Warning{Code: llm.Corrected, Feature: "tool_calls", Detail: "calls were in the text"}
	for _, ev := range []llm.Event{
		examples("a"), examples("b"), examples("c"), left, llm.TextDelta{Text: "One.\n"},
		examples("a"), examples("d"), left, llm.TextDelta{Text: "Two.\n"}, left,
	} {
		if err := pr.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	want := "· examples of tools: a: no examples (and 2 more)\n· tool calls: calls were in the text\n· 1 more warning of the kinds above\n"
	if log.String() != want {
		t.Errorf("%s", log.String())
	}
}

// TestWarningsWithoutRemedyNeedVerbose: what only tells how Toolpost did the work is shown with -v only; an ignored option
// and a call that did not run are always shown.
func TestWarningsWithoutRemedyNeedVerbose(t *testing.T) {
	all := []llm.Warning{
		{Code: llm.Corrected, Feature: "tool_calls", Detail: "calls were in the text"},
		{Code: llm.Repaired, Feature: "output", Detail: "a comma was removed"},
		{Code: llm.Ignored, Feature: "seed", Detail: "this vendor has no seed"},
		{Code: llm.SuspectedCall, Detail: "text looks like a call"},
		{Code: llm.Emulated, Feature: "gate", Detail: "no tool fits the request"},
		{Code: llm.Emulated, Feature: emulate.FromMemory, Detail: MemoryNote},
	}
	show := func(verbose bool) string {
		var out, log bytes.Buffer
		pr := NewPrinter(&out, &log)
		pr.Verbose = verbose
		stop := pr.Spin()
		for _, w := range all {
			if err := pr.Event(w); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		return log.String()
	}
	want := "· not used (seed): this vendor has no seed\n· not run: text looks like a call\n"
	last := "· " + MemoryNote + "\n" // ends every answer from memory
	if got := show(false); got != want+last {
		t.Errorf("without -v:\n%s", got)
	}
	if got := show(true); got != "· tool calls: calls were in the text\n· output: a comma was removed\n"+want+"· choice of tools: no tool fits the request\n"+last {
		t.Errorf("with -v:\n%s", got)
	}
}

// TestViewsAreNotCounted: the line count of a shortened result is not shown as that of the tool's result.
func TestViewsAreNotCounted(t *testing.T) {
	result := llm.Result{CallID: "a", Parts: []llm.Part{llm.Text{Text: "first\nsecond\nthird"}}}
	for cut, want := range map[bool]string{false: "3 lines: first …", true: "first …"} {
		c := calls{now: time.Now}
		v := c.add(invoke.Outcome{Call: llm.Call{ID: "a", Name: "list_files"}, Result: result, Receipt: journal.Receipt{Truncated: cut}})
		if v.result != want {
			t.Errorf("cut %v: %q, want %q", cut, v.result, want)
		}
	}
}

// TestQuietWarnings: warnings that only tell how a request was written are not shown, and none says its kind twice.
func TestQuietWarnings(t *testing.T) {
	for _, feature := range []string{"text parts", "failed", "schema"} {
		if !quiet(llm.Warning{Code: llm.Degraded, Feature: feature}) {
			t.Errorf("%s is shown", feature)
		}
	}
	if quiet(llm.Warning{Code: llm.Degraded, Feature: "tools"}) {
		t.Error("tools that are left out are not shown")
	}
	if got := warningText(llm.Warning{Code: llm.UnknownModel, Feature: "m", Detail: "unknown model (no family): assuming no tools; models.yaml can say better"}); got != "m is not a model of the catalogue, so what it can do is not known; assuming no tools; 'toolpost models probe' finds out" {
		t.Error(got)
	}
}
