package llm

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
)

// Model answers requests. Implementations are safe for concurrent use and do
// not keep or change the request.
type Model interface {
	// Stream answers req. The stream may begin with one Start event, and it
	// ends with one Finish event or with one error; breaking out of it cancels
	// the request.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// ModelFunc is a function that is a Model.
type ModelFunc func(context.Context, *Request) iter.Seq2[Event, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return f(ctx, req)
}

// Around returns a model that calls f, which calls m. Callers that need more of m, such as its price, find it with
// Unwrap() Model.
func Around(m Model, f ModelFunc) Model { return &around{f, m} }

// around is a model that asks another.
type around struct {
	ModelFunc
	inner Model
}

// Unwrap returns the model that is asked.
func (a *around) Unwrap() Model { return a.inner }

// Request is one question to a model. The zero value of every field is the
// model's own default.
type Request struct {
	// Model is the name a client asked a server for. A Model that was opened
	// by id ignores it.
	Model string
	// System precedes all messages.
	System   string
	Messages []Message

	Tools  []ToolDef
	Choice ToolChoice
	// N is the number of answers; 0 means one. Answers after the first come as
	// [Alternative] events.
	N int
	// OneCall asks for at most one call per answer.
	OneCall bool

	// Output is the schema the final answer must match; nil asks for text.
	Output *OutputFormat

	MaxTokens        int
	Temperature      *float64
	TopP             *float64
	TopK             *int
	FrequencyPenalty *float64
	PresencePenalty  *float64
	Seed             *int64
	Stop             []string
	// Reasoning asks for more or less thinking; nil leaves it to the model.
	Reasoning *Reasoning

	// RetryBudget counts the questions asked again on behalf of this request, by
	// whichever layer asks. Nil allows none.
	RetryBudget *RetryBudget

	// Promotion selects the text of the answer that may become a call; the
	// default leaves it to the route.
	Promotion Promotion
	// AllowEchoes switches the echo guard off: calls read from text count even
	// if a tool result, a document or a user message of this conversation has
	// the same text.
	AllowEchoes bool
	// HoldDoubtful keeps doubtful calls in text from running: each becomes an InvalidCall of the reason Unconfirmed. See
	// [Provenance.Doubtful]. It is for callers that cannot ask the model or a person first; package invoke asks by itself.
	HoldDoubtful bool
	// Echoes is what the echo guard knows beyond the messages; nil means nothing.
	Echoes *EchoMemory

	// Limits ends an answer that is too long or too slow.
	Limits Limits

	Extra Extra
}

// Clone returns a copy whose slices and maps can be changed without changing r.
// The parts of messages, schemas and the RetryBudget are shared: parts and schemas
// because they are never changed, the RetryBudget because it is one counter.
func (r *Request) Clone() *Request {
	c := *r
	c.Messages = slices.Clone(r.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	c.Tools = slices.Clone(r.Tools)
	c.Choice.Allowed = slices.Clone(r.Choice.Allowed)
	c.Stop = slices.Clone(r.Stop)
	c.Extra = r.Extra.Clone()
	return &c
}

// Tool returns the offered tool of that name.
func (r *Request) Tool(name string) (ToolDef, bool) {
	for _, t := range r.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return ToolDef{}, false
}

// Extra holds the fields that only one wire format has, and keeps them through a round trip: format name → field name →
// JSON. A codec sends the fields of its format unchanged. From the fields of another format it sends only those with an
// equivalent of the same meaning, in the spelling of its format. A name that begins with a slash is a JSON pointer to a
// member of an object inside of the value.
type Extra map[string]map[string]json.RawMessage

// Clone returns a copy of e whose maps can be changed.
func (e Extra) Clone() Extra {
	if e == nil {
		return nil
	}
	c := make(Extra, len(e))
	for format, fields := range e {
		c[format] = maps.Clone(fields)
	}
	return c
}

// merge returns e with the fields of x added; a field that both have is x's.
func (e Extra) merge(x Extra) Extra {
	if len(x) == 0 {
		return e
	}
	sum := e.Clone()
	if sum == nil {
		sum = make(Extra, len(x))
	}
	for format, fields := range x {
		if sum[format] == nil {
			sum[format] = make(map[string]json.RawMessage, len(fields))
		}
		maps.Copy(sum[format], fields)
	}
	return sum
}

// OutputFormat describes the answer a request wants.
type OutputFormat struct {
	Name        string          // a short name, for vendors that want one
	Description string          // what it is for
	Schema      json.RawMessage // JSON Schema of the answer; empty means any JSON object
	Strict      bool            // refuse rather than weaken the schema
}

// Reasoning sets how much a model thinks before it answers.
type Reasoning struct {
	Off     bool   // do not think; overrides the rest
	Effort  string // "low", "medium", "high" or a word the vendor knows
	Tokens  int    // of thinking; 0 leaves it to Effort
	Summary string // how thinking is shown, where the vendor offers a choice
}

// RetryBudget counts questions that are asked again: a broken promise, an
// answer of the wrong shape, a call that failed validation. A request carries
// one RetryBudget through every layer. The attempts of the layers therefore add
// up instead of multiplying. It is safe for concurrent use. A nil or zero
// RetryBudget allows no retries.
type RetryBudget struct {
	max  int64
	used atomic.Int64
}

// NewRetryBudget returns a budget for n questions.
func NewRetryBudget(n int) *RetryBudget { return &RetryBudget{max: int64(max(n, 0))} }

// Take uses one question and reports whether there was one left.
func (b *RetryBudget) Take() bool {
	if b == nil {
		return false
	}
	for {
		used := b.used.Load()
		if used >= b.max {
			return false
		}
		if b.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

// Used returns the number of questions taken.
func (b *RetryBudget) Used() int {
	if b == nil {
		return 0
	}
	return int(b.used.Load())
}

// Left returns the number of questions left.
func (b *RetryBudget) Left() int {
	if b == nil {
		return 0
	}
	return int(b.max - b.used.Load())
}
