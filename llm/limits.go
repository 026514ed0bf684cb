package llm

import "time"

// Limits are where an answer is given up: one that does not end would fill the
// memory or hold its caller for ever. In each field 0 means what the model was
// opened with, or else [DefaultLimits], and less means no limit. Each limit has
// an error kind of its own; none of them is met by an honest answer.
type Limits struct {
	// Bytes of the answer as it is sent, images and all; kind [ByteLimit].
	Bytes int64
	// Text is bytes of text and of the arguments of calls; kind [TextLimit].
	Text int64
	// Thinking is bytes of thinking; kind [ThinkingLimit].
	Thinking int64
	// Events is how many events there are; kind [EventLimit].
	Events int64
	// Time is how long the vendor may take for the whole answer; kind
	// [TimeLimit].
	Time time.Duration
	// Idle is how long to wait without a piece of the answer; kind [Stalled].
	// Keep-alives are no piece of it.
	Idle time.Duration
}

// DefaultLimits are the limits where nothing else is said. The longest answers
// of today's models, 128,000 tokens, have less than a megabyte of text.
var DefaultLimits = Limits{
	Bytes: 256 << 20, Text: 4 << 20, Thinking: 4 << 20, Events: 5_000_000,
	Time: 6 * time.Hour, Idle: 30 * time.Minute,
}

// Or returns l with the fields of other where l says nothing.
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
