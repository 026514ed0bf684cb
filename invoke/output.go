package invoke

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/shorten"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Mode is how much of a result the model is shown.
type Mode = shorten.Mode

// The modes; see [shorten].
const (
	Detailed = shorten.Detailed // all of it, up to the limit
	Concise  = shorten.Concise  // what names things and what the task asks about, in about a quarter of the tokens
	Minimal  = shorten.Minimal  // what it is, and how much of it there is
)

// The bounds of the modes.
const (
	defaultChars = 50_000
	leastChars   = 1_000
	mediaBytes   = 16 << 20      // of images and the like in one result; the rest is left out
	heldBytes    = 64 << 20      // of text in one result: what a tool returns beyond is not kept
	mostKept     = 4 * heldBytes // of a file that holds such a text, in which signs may have been replaced by longer ones
	failedBytes  = 1 << 20       // of an error message, which the receipt holds; the rest is not kept
)

// ResultView controls how much of a result the model sees. The receipt's hash is
// always that of the whole result.
type ResultView struct {
	// Mode is how much is shown of what tools return. With Concise and Minimal the
	// model has a tool, [ReaderName], to read what it was not shown. A tool may choose
	// for one result; see [tool.OfferFormats].
	Mode Mode
	// Tokens bounds a view in these modes; 0 leaves it to [shorten.Options].
	Tokens int
	// MaxChars bounds the characters shown; 0 means 50,000, and less than
	// 1,000 is refused. A tool's own MaxOutput may lower it to 1,000.
	MaxChars int
	// Tail is how much of MaxChars goes to the end of a longer text, rather
	// than to its beginning; 0 means a fifth, below 0 none.
	Tail int
	// NoSpill keeps the whole of a longer text from being written to a file.
	NoSpill bool
	// SpillDir is the folder of those files; empty means one of this user
	// below the system's folder for temporary files. It is made if it is not
	// there, with mode 0700, and refused if it is a symbolic link.
	SpillDir string
	// Secrets are kept out of those files, and out of any text that is shown
	// in part: half a secret would not be recognised in the record. Nil means
	// the known forms.
	Secrets *journal.Secrets
}

func (o ResultView) check() error {
	if o.MaxChars < 0 || o.MaxChars > 0 && o.MaxChars < leastChars {
		return fmt.Errorf("invoke: Output.MaxChars is %d, and must be at least %d", o.MaxChars, leastChars)
	}
	if o.Tail > cmp.Or(o.MaxChars, defaultChars) {
		return errors.New("invoke: Output.Tail is more than MaxChars")
	}
	if o.Tokens < 0 {
		return errors.New("invoke: Output.Tokens must not be negative")
	}
	if o.Mode > Minimal {
		return fmt.Errorf("invoke: no mode of output has the number %d", o.Mode)
	}
	return nil
}

// view is what the model is shown.
type view struct {
	parts        []llm.Part
	bytes, shown int64
	cut          *Truncated // nil if it is shown everything
}

// view formats the result of a call. All text that the tool returned is joined
// and shortened. A failure is explained first: only the tool's error message is
// shortened there, and output that the message repeats is not shown again.
func (s *Session) view(j *job, end *ending, hash journal.Hash, v *view) {
	v.bytes = size(end.out.Parts)
	var texts []string
	var media []llm.Part
	room := mediaBytes
	for _, p := range end.out.Parts {
		switch p := p.(type) {
		case llm.Text:
			texts = append(texts, p.Text)
		case llm.Media:
			if room -= len(p.Data); room < 0 {
				texts = append(texts, fmt.Sprintf("[left out: %s of %d bytes]", p.Kind, len(p.Data)))
				continue
			}
			media = append(media, p)
		}
	}
	whole := printable(strings.Join(texts, "\n"))
	limit := s.limit(j)
	failed := ""
	if end.err != nil {
		failed, whole, limit = s.failed(j, end, whole, hash, &v.cut)
	}
	text, cut := s.shorten(j, whole, end.out.Omitted, hash, s.mode(j, end), limit)
	if cut != nil {
		v.cut = cut
	}
	var quoted llm.Part // what the tool said about a call that was not run
	if end.status == journal.Refused && text != "" {
		quoted, text = llm.Text{Text: text, Origin: llm.OriginResult}, ""
	}
	switch {
	case end.err != nil && text != "":
		text = failed + "\nBefore it failed it returned:\n" + text
	case end.err != nil:
		text = failed
	case text == "" && len(media) == 0:
		text = j.tool.Name + " is done and returned nothing."
	}
	if j.lesson != "" {
		text += "\n\n[Note: " + j.lesson + "]"
	}
	if text != "" {
		v.parts = append(v.parts, textPart(text, end))
	}
	if quoted != nil {
		v.parts = append(v.parts, quoted)
	}
	v.parts = append(v.parts, media...)
	v.shown = size(v.parts)
}

// failed explains a failure. It cuts the tool's error message, which may be all
// that a program printed, to the limit, or to half of it if there is output as
// well. It returns the explanation, that output ("" if the message repeats it),
// and how much of the limit is left for the output.
func (s *Session) failed(j *job, end *ending, whole string, hash journal.Hash, cut **Truncated) (text, rest string, limit int) {
	e := *end.err
	words := printable(e.Message)
	if strings.Contains(words, strings.TrimSpace(whole)) || repeats(words, whole) {
		whole = ""
	}
	limit = s.limit(j)
	most := limit
	if whole != "" {
		most = limit / 2
	}
	if e.Message = words; utf8.RuneCountInString(words) > most {
		e.Message, *cut = s.shorten(j, words, end.out.Omitted, hash, Detailed, most)
	}
	shown := *end
	shown.err = &e
	return s.explain(j, &shown), whole, limit - min(most, utf8.RuneCountInString(e.Message))
}

// repeats reports whether an error message ends with the output after its first line.
// The messages of programs do: the first line is an exit code or the like, and the
// output of the program follows.
func repeats(words, whole string) bool {
	_, printed, ok := strings.Cut(whole, "\n")
	return ok && len(printed) >= leastChars && strings.HasSuffix(strings.TrimSpace(words), strings.TrimSpace(printed))
}

// limit is how many characters of a result the model is shown.
func (s *Session) limit(j *job) int {
	limit := cmp.Or(s.runner.Output.MaxChars, defaultChars)
	if own := j.tool.MaxOutput; own > 0 {
		limit = min(limit, max(own, leastChars))
	}
	return limit
}

// withhold removes secrets that are known by value from a tool's output and error
// message, because both are sent to the model's server. It returns how many it
// removed. The hash is still that of the whole output.
func (s *Session) withhold(end *ending) int {
	secrets, found := s.runner.Output.Secrets, 0
	redact := func(text string) string {
		clean, n := secrets.RedactValues(text)
		found += n
		if r := s.runner.Redact; r != nil {
			clean, _ = r.Redact(clean)
		}
		return clean
	}
	if r := s.runner.Redact; r != nil && len(end.out.Structured) > 0 {
		end.out.Structured, _ = r.RedactJSON(end.out.Structured)
	}
	for i, p := range end.out.Parts {
		if t, ok := p.(llm.Text); ok {
			if clean := redact(t.Text); clean != t.Text {
				end.out.Parts = slices.Clone(end.out.Parts)
				t.Text = clean
				end.out.Parts[i] = t
			}
		}
	}
	if end.err != nil {
		if clean := redact(end.err.Message); clean != end.err.Message {
			e := *end.err
			e.Message, e.Err = clean, nil
			end.err = &e
		}
	}
	return found
}

// textPart returns text as a part. If the tool returned just that text, its own
// part is returned. The text about a refused call is marked as Toolpost's own: what the
// tool said about it is another part.
func textPart(text string, end *ending) llm.Part {
	if len(end.out.Parts) == 1 {
		t, ok := end.out.Parts[0].(llm.Text)
		if ok && t.Text == text && !t.Refusal && !t.Ours && len(t.Citations) == 0 && t.State.IsZero() && len(t.Extra) == 0 {
			return end.out.Parts[0]
		}
	}
	return llm.Text{Text: text, Ours: end.status == journal.Refused}
}

// structure checks the structured output of a call. What does not match what the
// tool promises does not reach programs, with a warning: the call was run all the same.
// The model is shown it if the tool returned nothing else.
func (s *Session) structure(j *job, end *ending, emit func(llm.Event)) {
	out := &end.out
	promised := s.tools().OutputSchema(j.call.Name)
	if end.err != nil || promised == nil && len(out.Structured) == 0 {
		out.Structured = nil
		return
	}
	problem := ""
	switch {
	case len(out.Structured) == 0:
		problem = "there is none"
	case len(out.Structured) > heldBytes:
		problem = fmt.Sprintf("it has %d bytes, which is more than is kept", len(out.Structured))
	case !json.Valid(out.Structured):
		problem = "it is no JSON"
	case promised != nil:
		if faults := promised.Validate(out.Structured); len(faults) > 0 {
			problem = faults[0].Message
		}
	}
	text := string(out.Structured)
	if problem != "" {
		if out.Structured = nil; len(text) > heldBytes {
			text = ""
		}
		emit(llm.Warning{Code: llm.Compatibility, Feature: j.call.Name, Detail: "the structured output is not what the tool promises, and is left out: " + problem})
	}
	if len(out.Parts) == 0 && text != "" {
		out.Parts = []llm.Part{llm.Text{Text: text}}
	}
}

// explain is what the model is told about a failure.
func (s *Session) explain(j *job, end *ending) string {
	most := cmp.Or(s.runner.Attempts, 3)
	if !end.err.Recoverable {
		most = 0 // there is nothing to count
	}
	text := end.err.ForModel(j.call.Name, j.attempt, max(most, 0))
	switch {
	case end.status == journal.Refused:
		text += "\nIt was not run."
	case end.attempts > 1:
		text += fmt.Sprintf("\nIt was run %d times.", end.attempts)
	}
	return text
}

// printable replaces bytes that are not UTF-8, and control characters other than
// tabs and ends of lines.
func printable(s string) string {
	clean := true
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= utf8.RuneSelf || c == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// mode is how much of the result of a call is shown. Errors are shown whole, and so is
// what the model asked for with [ReaderName].
func (s *Session) mode(j *job, end *ending) Mode {
	switch {
	case end.err != nil || j.tool.Name == ReaderName && j.tool.Origin == tool.Builtin:
		return Detailed
	case end.out.Format != "":
		if m, err := shorten.ParseMode(end.out.Format); err == nil {
			return m
		}
	}
	return s.runner.Output.Mode
}

// shorten applies the mode and the limit.
func (s *Session) shorten(j *job, whole string, omitted int64, hash journal.Hash, mode Mode, limit int) (string, *Truncated) {
	o := s.runner.Output
	if mode == Detailed && len(whole) <= limit { // bytes are never fewer than characters
		return whole, nil
	}
	clean := o.Secrets.Clean(whole)
	text := clean
	if mode != Detailed {
		text = clean.Map(func(text string) string {
			return shorten.Result(text, shorten.Options{Mode: mode, Tokens: o.Tokens, Task: s.Task + "\n" + string(j.args),
				Schema: json.RawMessage(j.tool.OutputSchema), Params: s.params()}).Text
		})
	}
	chars := utf8.RuneCountInString(whole)
	kept := min(utf8.RuneCountInString(text.String()), chars)
	if kept > limit {
		text, kept = text.Map(func(s string) string { return headAndTail(s, limit, min(o.tail(limit), limit)) }), limit
	}
	if text == clean && chars <= limit {
		return whole, nil
	}
	cut := &Truncated{CallID: j.call.ID, Tool: j.tool.Name, Chars: chars, Kept: kept, Omitted: omitted}
	handle, err := s.keep(j, clean.String(), hash, cut)
	if err != nil {
		cut.SpillError = err.Error()
	}
	return text.String() + marker(cut, s.reads(), handle), cut
}

func (o ResultView) tail(limit int) int {
	if o.Tail == 0 {
		return limit / 5
	}
	return max(o.Tail, 0)
}

const hint = "The full output was truncated; refine the tool arguments to return less data."

// marker names the missing size and the way to get the rest: with the tool for that if
// the model has it, which needs the handle of the result.
func marker(c *Truncated, reads bool, handle string) string {
	if reads && handle != "" {
		return fmt.Sprintf("\n\n[output shortened: %d chars -> %d kept. For more call %s with {\"id\":%q}, and \"match\" (words) or \"from\" (a line).]", c.Chars, c.Kept, ReaderName, handle)
	}
	saved := ""
	switch {
	case c.Spill != "" && c.Omitted > 0:
		saved = fmt.Sprintf("; the tool left out %d bytes, and what it returned is saved to: %s", c.Omitted, c.Spill)
	case c.Spill != "":
		saved = "; full output saved to: " + c.Spill
	case c.Omitted > 0:
		saved = fmt.Sprintf("; the tool left out %d bytes", c.Omitted)
	}
	return fmt.Sprintf("\n\n[output truncated: %d chars -> %d kept%s. %s]", c.Chars, c.Kept, saved, hint)
}

// headAndTail returns limit characters of text: its beginning and its last
// tail.
func headAndTail(text string, limit, tail int) string {
	tail = min(tail, limit)
	head := text[:runes(text, limit-tail)]
	if tail == 0 {
		return head
	}
	end := len(text)
	for range tail {
		_, n := utf8.DecodeLastRuneInString(text[:end])
		end -= n
	}
	return head + "\n[...]\n" + text[end:]
}

// runes returns the length in bytes of the first n characters.
func runes(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// size returns the bytes of text and media.
func size(parts []llm.Part) int64 {
	var n int64
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			n += int64(len(p.Text))
		case llm.Media:
			n += int64(len(p.Data))
		}
	}
	return n
}
