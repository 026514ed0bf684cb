package llm

import "time"

// Limits ends an answer that is too long or too slow. Without limits, an
// endless answer would fill the memory or block its caller forever. In each
// field 0 means the limit that the model was opened with, or else
// [DefaultLimits]; a negative value means no limit. Each limit has a separate
// error kind. Legitimate answers stay below all of them.
type Limits struct {
	// Bytes of the answer on the wire, including images; kind [ByteLimit].
	Bytes int64
	// Text is bytes of text and of the arguments of calls; kind [TextLimit].
	Text int64
	// Thinking is bytes of thinking; kind [ThinkingLimit].
	Thinking int64
	// Events is the number of events; kind [EventLimit].
	Events int64
	// Time is how long the vendor may take for the whole answer; kind
	// [TimeLimit].
	Time time.Duration
	// Idle is how long to wait without a piece of the answer; kind [Stalled].
	// Keep-alives do not count as a piece.
	Idle time.Duration
}

// DefaultLimits are the limits unless others are set. The longest answers of
// today's models, 128,000 tokens, have less than a megabyte of text.
var DefaultLimits = Limits{
	Bytes: 256 << 20, Text: 4 << 20, Thinking: 4 << 20, Events: 5_000_000,
	Time: 6 * time.Hour, Idle: 30 * time.Minute,
}

// Or returns l with its zero fields replaced by those of other.
func (l Limits) Or(other Limits) Limits {
	or := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	or(&l.Bytes, other.Bytes)
	or(&l.Text, other.Text)
	or(&l.Thinking, other.Thinking)
	or(&l.Events, other.Events)
	or((*int64)(&l.Time), int64(other.Time))
	or((*int64)(&l.Idle), int64(other.Idle))
	return l
}
