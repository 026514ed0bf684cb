package dialect

import (
	"iter"

	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/form"
	"github.com/toolpost/toolpost/llm"
)

// ThinkingPolicy tells what to do with calls inside thinking.
type ThinkingPolicy uint8

// The policies. In a thinking block that is closed a call is a rehearsal; in
// one that never closes the model forgot the tag and the call is real.
const (
	PromoteIfUnterminated = ThinkingPolicy(engine.PromoteIfUnterminated)
	Ignore                = ThinkingPolicy(engine.Ignore)  // nothing in thinking is ever a call
	Promote               = ThinkingPolicy(engine.Promote) // whatever is a call outside is one inside
)

var policyNames = [...]string{"promote_if_unterminated", "ignore", "promote"}

// String returns the policy in the words of the configuration.
func (p ThinkingPolicy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return "unknown"
}

// Parser reads answers. The zero value reads any dialect, accepts any name
// and assumes that answers begin outside thinking. A Parser may be used by
// several goroutines at once as long as no one changes it.
type Parser struct {
	// Tools are the tools that were offered. Nil accepts any name; empty but
	// not nil means that nothing is a call. The schemas type the values of
	// dialects that write them as plain text.
	Tools []llm.ToolDef
	// Dialects are the dialects that are read; nil means [Builtin].
	Dialects *List
	// Dialect is a hint: the name of the dialect the model is expected to
	// write. It decides only what the text leaves open.
	Dialect string
	// ThinkingOpen says that the prompt ended inside thinking, so the
	// answer begins there. See [List.BeginsInThinking] for whole texts.
	ThinkingOpen bool
	// ThinkingOff says that the request turned thinking off, so the end
	// of thinking is ordinary text where nothing opened any.
	ThinkingOff bool
	Thinking    ThinkingPolicy
	// Marked says that a call must begin with a marker: one of Dialect if that
	// is given and writes its calls with markers, the form of Dialect if it
	// does not, and one of any dialect if none is given. Everything else that
	// looks like a call stays text and is counted in a warning.
	Marked bool
	// Mentions has calls count that the text only talks about, for readers of text that a model may repeat.
	Mentions bool
	// Markup has a [Markup] event come before every call. Closing has, besides,
	// a [Closing] event come for the markup after it.
	Markup, Closing bool
	// Finish is asked after the last chunk why the model stopped. A call that
	// is still open counts as cut off if the reason is llm.Length or
	// llm.ContentFilter, or if it is empty, which means unknown. A nil Finish
	// means llm.Stop.
	Finish func() llm.Reason
	// Suspected, if set, is called at the end of the answer for each piece of text that looks like a call and stayed text,
	// in order, at most for the last 64. Span.Tool is the tool that it names, if any. Its other fields are empty. The bounds
	// are those of the call that the text would be if it were meant. A text that is no call in its place, like one in
	// backticks, in a sentence or in other data, goes from the first byte that looked like a call to the end of its line. No
	// piece reaches into a call. The warning of a dialect has the reason of its first piece. With Suspected, the parser keeps
	// the text of the answer.
	Suspected func(Span)
	// Trace, if set, is told what became of every byte of the input, in
	// order and without gaps.
	Trace func(Span)
	// MaxCall bounds the bytes of one call, and of what must be held back
	// until it can be understood; 0 means 16 MiB.
	MaxCall int
}

// Parse reads an answer that arrives in chunks and yields what it says, as soon
// as the chunk that makes it certain has been read. An error of chunks ends the
// stream: an open call is cut off, and the error is yielded last. So does an
// llm.Error of kind Malformed where MaxCall is passed. Parse yields no
// llm.Finish.
//
// Calls get the ids call_1, call_2 and so on, unless the dialect writes ids.
func (p *Parser) Parse(chunks iter.Seq2[string, error]) iter.Seq2[llm.Event, error] {
	if p.Suspected != nil {
		return p.parseAndSuspect(chunks)
	}
	lex, o := p.options()
	return form.Parse(lex, o, chunks)
}

// Feed is an answer that is handed over in chunks, for those who get them one by one and cannot be
// asked for the next. It finds what [Parser.Parse] finds. Stop has to be called when it is no longer
// needed, whether it has ended or not.
type Feed struct {
	feed     *engine.Feed
	suspects *suspects // nil without Parser.Suspected
}

// Open begins to read an answer. Events go to yield, which reports whether more is wanted.
func (p *Parser) Open(yield func(llm.Event, error) bool) *Feed {
	lex, o := p.options()
	f := new(Feed)
	if p.Suspected != nil {
		f.suspects = p.suspects(o)
	}
	f.feed = form.Open(lex, o, yield)
	return f
}

// Add takes a chunk of the text. It reports whether more is wanted.
func (f *Feed) Add(chunk string) bool {
	if f.suspects != nil {
		f.suspects.chunks = append(f.suspects.chunks, chunk)
	}
	return f.feed.Add(chunk)
}

// Break says that something else than text comes, like a call that the vendor delivers. Text that was held back is decided, so
// that yield gets it before whatever comes: a call that is not whole by then is cut off, or text. It reports whether more is wanted.
func (f *Feed) Break() bool { return f.feed.Break() }

// End says that nothing more comes, and why if that is an error: yield gets it last.
func (f *Feed) End(err error) {
	f.feed.End(err)
	if f.suspects != nil {
		f.suspects.report()
	}
}

// Stop lets go of what the reading holds.
func (f *Feed) Stop() { f.feed.Stop() }

// Reason returns why the model stopped; it is empty if that is not known.
func (p *Parser) Reason() llm.Reason {
	if p.Finish == nil {
		return llm.Stop
	}
	return p.Finish()
}

// options are the parser's fields in the engine's terms.
func (p *Parser) options() (*form.Table, *engine.Options) {
	list := p.Dialects
	if list == nil {
		list = builtin()
	}
	o := &engine.Options{
		Tools: p.Tools, Dialect: p.Dialect, ThinkingOpen: p.ThinkingOpen, ThinkingOff: p.ThinkingOff,
		Thinking: engine.Policy(p.Thinking), Marked: p.Marked, Mentions: p.Mentions, Finish: p.Finish, MaxCall: p.MaxCall,
	}
	if p.Markup {
		o.Markup = func(m engine.Markup) llm.Event { return Markup(m) }
	}
	if p.Markup && p.Closing {
		o.Closing = func(text string) llm.Event { return Closing{Text: text} }
	}
	if trace := p.Trace; trace != nil {
		o.Trace = func(s engine.Span) {
			trace(Span{Start: s.Start, End: s.End, Kind: SpanKind(s.Kind), Dialect: s.Dialect, Rule: s.Rule})
		}
	}
	return list.lex, o
}

// Markup is what the model wrote of the call with that id, whose event follows.
// It comes if [Parser.Markup] is set.
type Markup struct {
	ID string `json:"id"`
	// Start is where it begins, in bytes from the beginning of the answer.
	Start int `json:"start"`
	// Before is the markup before Start that belongs to no call, like the marker
	// and the bracket of a list before its first call.
	Before string `json:"before,omitempty"`
	// Text begins with the marker before the call, if it has one of its own,
	// and ends with the call. Of a long call it is the first 64 KiB.
	Text string `json:"text"`
	// Said is how many bytes at the beginning of Text have come before, because
	// a name that has left as text turned out to be that of the call, or because
	// the markup of the call before holds them.
	Said int `json:"said,omitempty"`
	// Opener is the marker around the list that the call is in, if it has
	// none of its own.
	Opener string `json:"opener,omitempty"`
}

// EventType returns "markup".
func (Markup) EventType() string { return "markup" }

// Closing is markup after a call that is not part of it: what ends the call, or
// the list it is in, and what stands between two calls. It comes if
// [Parser.Closing] is set, in one piece or several. Joined in their order, the
// text, and the Before, the unsaid Text and the Closing of the calls are what the
// model wrote, less thinking and its marks, and headers and ends of messages
// next to text. If the answer is a message written as JSON, its text is in the
// markup of the calls, too.
type Closing struct {
	Text string `json:"text"`
}

// EventType returns "closing".
func (Closing) EventType() string { return "closing" }

// Span tells what became of a stretch of the input.
type Span struct {
	Start, End int // bytes from the beginning of the answer
	Kind       SpanKind
	Dialect    string // of the call or marker; empty for text
	Rule       string // why: the name of the marker, form or repair
	Tool       string // that suspected text names; see [Parser.Suspected]
}

// SpanKind is what a stretch of input became.
type SpanKind uint8

// The kinds of spans.
const (
	TextSpan     = SpanKind(engine.TextSpan)
	ThinkingSpan = SpanKind(engine.ThinkingSpan)
	MarkerSpan   = SpanKind(engine.MarkerSpan) // markup: not shown, not part of a call's name or arguments
	NameSpan     = SpanKind(engine.NameSpan)
	ArgsSpan     = SpanKind(engine.ArgsSpan)
)

var spanNames = [...]string{"text", "thinking", "marker", "name", "args"}

// String returns the kind in lower case.
func (k SpanKind) String() string {
	if int(k) < len(spanNames) {
		return spanNames[k]
	}
	return "unknown"
}

// Whole returns a text as the only chunk of a stream.
func Whole(text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(text, nil) }
}

// Cut returns a text in chunks of n bytes.
func Cut(text string, n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for n > 0 && len(text) > n {
			if !yield(text[:n], nil) {
				return
			}
			text = text[n:]
		}
		yield(text, nil)
	}
}
