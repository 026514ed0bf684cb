package format

import (
	"github.com/toolpost/toolpost/internal/wire/relay"
	"github.com/toolpost/toolpost/llm"
)

// RelayDecision is what becomes of an event that wire.Codec.Relay shows. The zero value
// is [Pass].
type RelayDecision struct {
	Action relay.Action // set by [Pass], [Hold], [Replace] and [GiveUp]
	Events []llm.Event  // of Replace
	Err    *llm.Error   // of GiveUp
}

var (
	// Pass lets the event go on, and with it all that was held.
	Pass = RelayDecision{Action: relay.Pass}
	// Hold keeps the event and all that follow, until the verdict about one of
	// them is another. Nothing after the start of a held event is written. The
	// llm.Finish cannot be held: Hold counts as Pass.
	Hold = RelayDecision{Action: relay.Hold}
)

// Replace writes events instead of this event and all held events; without events it drops them. The rest of the stream
// is a translation: it is encoded again, and data that only the upstream's bytes had is lost. The finish reason is
// adjusted if no call is left or one was added. The llm.Finish cannot be dropped: if no replacement is one, it follows
// them.
func Replace(events ...llm.Event) RelayDecision {
	return RelayDecision{Action: relay.Replace, Events: events}
}

// GiveUp ends the stream with an error in the client's format, even if the upstream continues. Held events are dropped.
// Relay returns the error.
func GiveUp(err *llm.Error) RelayDecision { return RelayDecision{Action: relay.GiveUp, Err: err} }

// RelayTrailing is shown to the observer of a relay when all is over, if the upstream went on after the end of
// its answer. That is not passed on, whatever the decision.
type RelayTrailing struct {
	Bytes int // as far as the relay read them
}

// EventType names the event.
func (RelayTrailing) EventType() string { return "relay_trailing" }

// RelayFailure is shown to the observer of a relay if the upstream ends its answer with an error. [Pass] forwards its
// bytes unchanged; with [GiveUp] the client gets that error instead.
type RelayFailure struct {
	Err  *llm.Error
	Said []byte // the upstream's bytes, if they would be forwarded unchanged
}

// EventType names the event.
func (RelayFailure) EventType() string { return "relay_failure" }
