package text

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"runtime/debug"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// answerSink receives an answer while it is parsed, to avoid a second copy of a long answer. said gets pieces of the
// text, which may end anywhere.
type answerSink interface {
	said(thinking bool, piece string) error
	called(c llm.Call) error
	// end gets the rest of the result: everything except text, thinking and calls.
	end(a *parseAnswer) error
}

// fedBytes is the size of the chunks in which a text is parsed.
const fedBytes = 64 << 10

// stream parses a plain text and passes the results on. Calls that cannot be run are invalid.
func (r *reading) stream(p dialect.Parser, text string, out answerSink) (*parseAnswer, error) {
	defer limitMemory(len(text))()
	p.ThinkingOpen = p.ThinkingOpen || dialect.Builtin().BeginsInThinking(text)
	answer := newParseAnswer(p)
	a := &answer
	collectSuspects(&p, &a.Suspected)
	for ev, err := range p.Parse(dialect.Cut(text, fedBytes)) {
		if err != nil {
			return a, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			err = out.said(false, ev.Text)
		case llm.ThinkingDelta:
			err = out.said(true, ev.Text)
		case llm.Call:
			call, bad := checked(ev, p.Tools)
			if a.from(call.Provenance); bad != nil {
				a.refuse(*bad)
				continue
			}
			err = out.called(call)
		case llm.InvalidCall:
			a.from(ev.Provenance)
			a.refuse(ev)
		case llm.Warning:
			a.Warnings = append(a.Warnings, ev)
		}
		if err != nil {
			return a, err
		}
	}
	return a, out.end(a)
}

// limitMemory limits the memory that parsing a long text needs in addition to the text.
func limitMemory(size int) (undo func()) {
	const beside = 18 << 20
	if size < beside {
		return func() {}
	}
	before := debug.SetMemoryLimit(int64(size) + beside)
	return func() { debug.SetMemoryLimit(before) }
}

// peopleSink writes an answer for people: one entry per part, in the order of the text, then the errors.
type peopleSink struct {
	w        *bufio.Writer
	c        cli.Palette
	thinking bool   // the current entry is thinking
	open     bool   // an entry has begun
	held     string // undecided text: leading white space, trailing newlines, or an incomplete character
	any      bool
}

func newPeopleSink(w io.Writer) *peopleSink {
	return &peopleSink{w: bufio.NewWriter(w), c: cli.Colours(w)}
}

func (s *peopleSink) said(thinking bool, piece string) error {
	if thinking != s.thinking {
		s.finish()
		s.thinking = thinking
	}
	text := s.held + piece
	n := cli.WholeRunes(text)
	shown := strings.TrimRight(text[:n], "\n")
	switch {
	case s.open:
	case thinking && text != "":
		s.begin(s.c.Dim("thinking"))
	case strings.TrimSpace(shown) == "":
		s.held = text
		return nil
	default:
		s.begin("text    ")
	}
	s.held = text[len(shown):]
	line := strings.ReplaceAll(cli.Printable(shown), "\n", "\n          ")
	if thinking {
		line = s.c.Dim(line)
	}
	_, err := s.w.WriteString(line)
	return err
}

func (s *peopleSink) begin(label string) {
	s.open, s.any = true, true
	s.w.WriteString(label + "  ")
}

// finish ends the current entry.
func (s *peopleSink) finish() {
	if rest := strings.TrimRight(s.held, "\n"); s.open && rest != "" {
		s.w.WriteString(cli.Printable(rest))
	}
	if s.open {
		s.w.WriteString("\n")
	}
	s.open, s.held = false, ""
}

func (s *peopleSink) entry(label, text string) error {
	var b strings.Builder
	entry(&b, label, text)
	s.any = s.any || b.Len() > 0
	_, err := s.w.WriteString(b.String())
	return err
}

func (s *peopleSink) called(call llm.Call) error {
	s.finish()
	if err := s.entry(s.c.Green("call    "), s.c.Bold(cli.Printable(call.Name))+" "+cli.Printable(string(call.Args))); err != nil {
		return err
	}
	return s.entry("        ", s.c.Dim(origin(call.Provenance)))
}

func (s *peopleSink) end(a *parseAnswer) error {
	s.finish()
	for _, bad := range a.Invalid {
		s.entry(s.c.Red("invalid "), s.c.Bold(cli.Printable(bad.Name))+" ("+string(bad.Reason)+"): "+cli.Printable(bad.Problem))
		s.entry("        ", s.c.Dim(origin(bad.Provenance)))
	}
	for _, warn := range a.Warnings {
		s.entry(s.c.Yellow("warning "), cli.Printable(warn.Detail))
	}
	if !s.any {
		s.w.WriteString("nothing was written\n")
	}
	return s.w.Flush()
}

// jsonSink writes an answer as the JSON object of parseAnswer. It keeps the pieces of the text until the end; they
// share memory with the input.
type jsonSink struct {
	w              *bufio.Writer
	calls          int
	indented       bytes.Buffer // the last call
	text, thinking []string
}

func newJSONSink(w io.Writer) *jsonSink {
	s := &jsonSink{w: bufio.NewWriter(w)}
	s.w.WriteString("{\n  \"calls\": [")
	return s
}

func (s *jsonSink) said(thinking bool, piece string) error {
	if thinking {
		s.thinking = append(s.thinking, piece)
	} else {
		s.text = append(s.text, piece)
	}
	return nil
}

func (s *jsonSink) called(call llm.Call) error {
	b, err := cli.Marshal(newCallJSON(call), "")
	if err != nil {
		return err
	}
	s.indented.Reset()
	if err := json.Indent(&s.indented, bytes.TrimSpace(b), "    ", "  "); err != nil {
		return err
	}
	if s.calls++; s.calls > 1 {
		s.w.WriteString(",")
	}
	s.w.WriteString("\n    ")
	_, err = s.w.Write(s.indented.Bytes())
	return err
}

func (s *jsonSink) end(a *parseAnswer) error {
	if s.calls > 0 {
		s.w.WriteString("\n  ")
	}
	s.w.WriteString("],\n  \"text\": ")
	if err := s.quote(s.text); err != nil {
		return err
	}
	s.w.WriteString(",\n  \"thinking\": ")
	if err := s.quote(s.thinking); err != nil {
		return err
	}
	rest := struct {
		Dialect   string            `json:"dialect"`
		Repairs   []llm.Repair      `json:"repairs"`
		Invalid   []llm.InvalidCall `json:"invalid"`
		Truncated bool              `json:"truncated"`
		Suspected []suspect         `json:"suspected"`
		Warnings  []llm.Warning     `json:"warnings,omitempty"`
	}{a.Dialect, a.Repairs, a.Invalid, a.Truncated, a.Suspected, a.Warnings}
	b, err := cli.Marshal(rest, "  ")
	if err != nil {
		return err
	}
	s.w.WriteString(",")
	s.w.Write(b[1:])
	return s.w.Flush()
}

// quote writes pieces as one JSON string.
func (s *jsonSink) quote(pieces []string) error {
	s.w.WriteString(`"`)
	held := ""
	for i, piece := range pieces {
		piece = held + piece
		n := cli.WholeRunes(piece)
		if i == len(pieces)-1 {
			n = len(piece)
		}
		held = piece[n:]
		b, err := cli.Marshal(piece[:n], "")
		if err != nil {
			return err
		}
		s.w.Write(b[1 : len(b)-2]) // without the quotes and the final newline
	}
	return s.w.WriteByte('"')
}
