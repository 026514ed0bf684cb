package format

import (
	"github.com/toolpost/toolpost/llm"
)

// RelayDecision is what becomes of an event that [Codec.Relay] shows. The zero value
// is [Pass].
type RelayDecision struct {
	Action RelayAction
	Events []llm.Event // of RelayReplace
	Err    *llm.Error  // of RelayGiveUp
}

// RelayAction is the kind of a [RelayDecision].
type RelayAction uint8

// The actions. [Pass], [Hold], [Replace] and [GiveUp] make decisions of them.
const (
	RelayPass RelayAction = iota
	RelayHold
	RelayReplace
	RelayGiveUp
)

var (
	// Pass lets the event go on, and with it all that was held.
	Pass = RelayDecision{Action: RelayPass}
	// Hold keeps the event and all that follow, until the verdict about one of
	// them is another. Nothing after the start of a held event is written. The
	// llm.Finish cannot be held: Hold counts as Pass.
	Hold = RelayDecision{Action: RelayHold}
)

// Replace writes events in the place of this one and of all that are held. From
// here on the stream is a translation: what follows is encoded anew, and what
// only the upstream's own bytes could say is lost. Without events it drops
// them. Where no call is left, or one was added, the finish reason follows. The
// llm.Finish cannot be dropped, or the stream would have no end: if none of the
// events in its place is one, it follows them.
func Replace(events ...llm.Event) RelayDecision {
	return RelayDecision{Action: RelayReplace, Events: events}
}

// GiveUp ends the stream with an error, in the words of the format, whatever the upstream
// still says. What was held is dropped. Relay returns the error.
func GiveUp(err *llm.Error) RelayDecision { return RelayDecision{Action: RelayGiveUp, Err: err} }

// RelayTrailing is shown to the observer of a relay when all is over, if the upstream went on after the end of
// its answer. That is not passed on, whatever the decision.
type RelayTrailing struct {
	Bytes int // as far as they were read
}

// EventType names the event.
func (RelayTrailing) EventType() string { return "relay_trailing" }

// RelayFailure is shown to the observer of a relay where the upstream ends its answer with an error of its
// own. [Pass] lets its bytes go on as they are; with [GiveUp] the client is told that error instead.
type RelayFailure struct {
	Err  *llm.Error
	Said []byte // the upstream's own words, if they would go on as they are
}

// EventType names the event.
func (RelayFailure) EventType() string { return "relay_failure" }
