// Package view shows the events of a run to a person: calls, warnings, the transcript and a live area.
package view

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	xterm "golang.org/x/term"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
)

// Printer shows a run while it happens. The model's text goes to out, and everything else to log. If log is a terminal,
// current activity is shown in a few live lines at the bottom, which are redrawn. Otherwise each line is written once,
// when it is final.
type Printer struct {
	out, Log io.Writer
	Silent   bool // the model's text goes to log: out gets only the answer
	Quiet    bool // log gets nothing
	Verbose  bool // log gets all warnings and all progress
	Palette  cli.Palette
	Live     bool            // log is a terminal
	clean    bool            // out is a terminal: only text may reach it
	shared   bool            // both are terminals: an unfinished line of text would be overwritten
	held     strings.Builder // the text of an answer, kept back until the answer counts: out is no terminal
	md       *term.Markdown  // the answer, if it is shown as Markdown; then both are terminals
	width    func() int

	mu       sync.Mutex
	calls    calls
	warnings warnings
	status   string // activity of the model while it sends no text
	since    time.Time
	drawn    []string // the live lines on the screen
	frame    int
	column   bool      // out is in the middle of a line
	said     bool      // the answer of the turn has text
	memory   bool      // the model was offered no tool, and the request names something to look at
	paused   bool      // a question is shown
	told     time.Time // last progress line on a log that is not a terminal
	failure  error
}

func NewPrinter(out, log io.Writer) *Printer {
	terminal := func(w io.Writer) bool {
		f, ok := w.(*os.File)
		return ok && cli.IsTerminal(f)
	}
	pr := &Printer{out: out, Log: log, Palette: cli.Colours(log), Live: terminal(log) && os.Getenv("TERM") != "dumb", clean: terminal(out)}
	pr.shared = pr.Live && pr.clean
	pr.calls.now = time.Now
	pr.width = func() int {
		if f, ok := log.(*os.File); ok {
			if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
		return 80
	}
	return pr
}

// Spin redraws the live lines until stop is called.
func (pr *Printer) Spin() (stop func()) {
	if !pr.Live {
		return pr.settle
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				pr.mu.Lock()
				pr.frame++
				pr.draw()
				pr.mu.Unlock()
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
		pr.settle()
	}
}

// settle replaces the live lines by final ones.
func (pr *Printer) settle() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.note(pr.warnings.Flush())
	pr.note(pr.warnings.End())
	pr.status = ""
	pr.erase()
	pr.release(true)
	pr.endLine()
	if pr.memory {
		pr.note(MemoryNote)
	}
}

// Event shows one event. An error means that the output cannot be written.
func (pr *Printer) Event(ev llm.Event) error {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if _, ok := ev.(llm.Warning); !ok {
		pr.note(pr.warnings.Flush())
	}
	switch ev := ev.(type) {
	case llm.Warning:
		pr.warnings.All = pr.Verbose
		pr.memory = pr.memory || FromMemory(ev)
		pr.note(pr.warnings.add(ev))
	case llm.TextDelta:
		pr.text(ev.Text)
	case llm.Retract:
		pr.retract()
	case llm.ThinkingDelta:
		pr.think(ev.Text)
	case agent.Turn:
		pr.release(!pr.Quiet)
		pr.endLine()
		pr.status, pr.since, pr.said = "asking "+ev.Model, time.Now(), false
		pr.memory = false
	case llm.Finish:
		pr.status = ""
	default:
		pr.other(ev)
	}
	pr.draw()
	return pr.failure
}

// retract drops the answer's text so far, or notes that it does not count if it is written already.
func (pr *Printer) retract() {
	pr.status = ""
	pr.calls.retract()
	if pr.said && pr.held.Len() == 0 {
		pr.note("what the model said so far does not count")
	}
	pr.said = false
	pr.held.Reset()
}

// release writes the answer that was kept back. With counts false it drops it: a later answer follows, and with Quiet out
// holds the final answer only.
func (pr *Printer) release(counts bool) {
	text := pr.held.String()
	pr.held.Reset()
	if counts && text != "" {
		pr.write(pr.out, text)
		pr.column = !strings.HasSuffix(text, "\n")
	}
}

// Failure returns why the output cannot be written.
func (pr *Printer) Failure() error {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pr.failure
}

// Drop forgets the text of an answer that was kept back, after a failure.
func (pr *Printer) Drop() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.release(!pr.Quiet)
}

// other shows events other than text and turns.
func (pr *Printer) other(ev llm.Event) {
	if p, ok := ev.(invoke.Progress); ok && (pr.Verbose || !pr.Live && time.Since(pr.told) >= time.Second) { // otherwise the live line shows it
		pr.told = time.Now()
		pr.note(cli.Printable(p.Tool) + ": " + progressText(p))
	}
	pr.note(noteOf(ev))
	if v := pr.calls.add(ev); v != nil {
		width := 0
		if pr.Live {
			width = pr.width()
		}
		pr.Line(v.line(pr.Palette, width, 0, time.Now()))
	}
	if _, ok := ev.(llm.CallStart); ok {
		pr.status = ""
		pr.endLine()
	}
}

// note writes a dimmed line, unless text is empty.
func (pr *Printer) note(text string) {
	if text == "" {
		return
	}
	if !pr.Live {
		pr.Line(pr.Palette.Dim("· " + text))
		return
	}
	pr.Line(strings.Join(term.Wrap(text, pr.width(), pr.Palette.Dim("· "), pr.Palette.Dim), "\n"))
}

// Note writes a note after the end of a run.
func (pr *Printer) Note(text string) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.note(text)
}

// text writes the model's text as it arrives.
func (pr *Printer) text(text string) {
	if text == "" {
		return
	}
	pr.status = ""
	pr.erase()
	pr.said = pr.said || strings.TrimSpace(text) != ""
	if pr.md != nil {
		pr.md.Write(text)
		pr.rows(pr.md.Take(pr.width()-1, false))
		return
	}
	w := pr.out
	if pr.Silent {
		w = pr.Log
	}
	if !pr.clean && !pr.Silent {
		pr.held.WriteString(text)
		return
	}
	if pr.clean || pr.Silent {
		text = cli.Printable(text)
	}
	pr.write(w, text)
	pr.column = !strings.HasSuffix(text, "\n")
}

// AsMarkdown shows answers as Markdown, if out and log are both terminals.
func (pr *Printer) AsMarkdown() {
	if pr.shared && !pr.Silent {
		pr.md = &term.Markdown{P: cli.Colours(pr.out)}
	}
}

// rows writes rows of an answer.
func (pr *Printer) rows(rows []string) {
	if len(rows) > 0 {
		pr.erase()
		pr.write(pr.out, strings.Join(rows, "\n")+"\n")
	}
}

// think shows the end of the model's thinking in the live lines.
func (pr *Printer) think(text string) {
	if !strings.HasPrefix(pr.status, "thinking") {
		pr.status, pr.since = "thinking ", time.Now()
	}
	pr.status += strings.Join(strings.Fields(cli.Printable(text)), " ") + " "
	if len(pr.status) > 4000 {
		pr.status = "thinking …" + strings.ToValidUTF8(pr.status[len(pr.status)-2000:], "")
	}
}

// Line writes a final line.
func (pr *Printer) Line(text string) {
	pr.erase()
	pr.endLine()
	pr.write(pr.Log, text+"\n")
}

// ShowLine shows a line that belongs to no event.
func (pr *Printer) ShowLine(text string) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !pr.Quiet {
		pr.Line(pr.Palette.Dim(text))
	}
}

// endLine ends an unfinished line of text.
func (pr *Printer) endLine() {
	if pr.md != nil {
		pr.rows(pr.md.Take(pr.width()-1, true))
		pr.md.Drawn = 0
	}
	if !pr.column {
		return
	}
	pr.erase()
	w := pr.out
	if pr.Silent {
		w = pr.Log
	}
	pr.write(w, "\n")
	pr.column = false
}

// maxPending is the maximum number of shown rows that may still change.
const maxPending = 5

// draw writes the live lines below everything else.
func (pr *Printer) draw() {
	if !pr.Live || pr.Quiet || pr.paused || pr.shared && pr.column {
		return
	}
	width := pr.width() - 1
	var lines []string
	if pr.md != nil {
		lines = pr.md.Pending(nil, width)
		lines = lines[max(0, len(lines)-maxPending):]
	}
	if pr.status != "" {
		lines = append(lines, pr.statusLine(width))
	}
	for _, v := range pr.calls.open() {
		lines = append(lines, v.line(pr.Palette, width, pr.frame, time.Now()))
	}
	pr.erase()
	if len(lines) > 0 {
		pr.write(pr.Log, strings.Join(lines, "\n")+"\n")
	}
	pr.drawn = lines
}

func (pr *Printer) statusLine(width int) string {
	head := pr.Palette.Cyan(string(Spinner[pr.frame%len(Spinner)])) + " "
	took := pr.Palette.Dim(" " + cli.ShortDuration(time.Since(pr.since)))
	room := max(10, width-ansi.StringWidth(head+took))
	text := pr.status
	if w := ansi.StringWidth(text); w > room {
		text = "thinking " + ansi.TruncateLeft(text, w-room+12, "…")
	}
	return head + pr.Palette.Dim(strings.TrimSpace(text)) + took
}

// erase removes the live lines. If the terminal became narrower, each line takes several rows.
func (pr *Printer) erase() {
	rows := 0
	for _, line := range pr.drawn {
		rows += 1 + max(0, ansi.StringWidth(line)-1)/max(1, pr.width())
	}
	if rows > 0 {
		pr.write(pr.Log, fmt.Sprintf("\r\x1b[%dA\x1b[J", rows))
	}
	pr.drawn = nil
}

func (pr *Printer) write(w io.Writer, text string) {
	if pr.failure == nil && !(pr.Quiet && w == pr.Log) {
		_, pr.failure = io.WriteString(w, text)
	}
}

// Pause removes the live lines during a question.
func (pr *Printer) Pause(ask func()) {
	pr.mu.Lock()
	pr.erase()
	pr.endLine()
	pr.paused = true
	pr.mu.Unlock()
	ask()
	pr.mu.Lock()
	pr.paused = false
	pr.mu.Unlock()
}
