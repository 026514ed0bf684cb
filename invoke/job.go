package invoke

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/tool"
)

// batch is one Do. The next one uses its space again, so nothing that outlives a
// Do may refer to it.
type batch struct {
	s     *Session
	yield func(llm.Event, error) bool
	// ctx is the context of the next step. It gets a separate cancel only when
	// something runs in parallel to the goroutine of Do, or it is to be cancelled.
	ctx       context.Context
	cancel    context.CancelFunc
	abandoned bool // the caller of Do stopped reading events
	jobs      []job
	told      int // outcomes delivered
	// The space of what run makes, if there is but one call.
	only      [1]job
	onlyReady [1]*job
}

// job is a call on its way.
type job struct {
	index    int
	call     llm.Call // with an id
	tool     tool.Tool
	args     json.RawMessage // as the tool gets them
	hash     journal.Hash    // of args
	repairs  []llm.Repair
	approval *journal.Approval
	consent  journal.Hash            // of the entry that holds approval
	bound    map[string]journal.Hash // what it would act on, as approved; nil if no person decided
	repeats  string                  // the call of unknown outcome that it repeats
	attempt  int                     // of this tool since it last succeeded
	place    int                     // in the history of the loop guard, or -1
	lesson   string                  // the loop guard's, for the model
	info     tool.Info               // for the tool
	answers  []journal.Approval      // to questions of the tool
	prompted int                     // questions that the tool held
	begun    bool                    // it may change things, and its intent is on record
	waits    bool                    // for a person: the call is not over
	twice    bool                    // the record has or may have a call of this id; no receipt is written
	fail     *tool.Error             // why it cannot run
	failed   bool                    // how it ended
	seen     *seen                   // by an observer, nil without one
	settled  llm.Event               // its Outcome when it is over; written by the goroutine that runs the call
	outcome  llm.Event               // the same, once the goroutine of Do knows
}

// ending is how a call ended.
type ending struct {
	out      tool.Output
	err      *tool.Error
	status   journal.Status
	attempts int
	delays   []time.Duration
	took     time.Duration
	cached   bool
	stopped  bool  // it ran out of time
	fault    error // a question could not be recorded
}

func refused(e *tool.Error) *ending { return &ending{err: e, status: journal.Refused} }

// seen is a call that somebody observes.
type seen struct {
	ctx  context.Context // of the call
	call *observe.ToolCall
}

// runs says that the first attempt begins.
func (s *seen) runs(now time.Time) {
	if s != nil {
		s.call.Waited = max(now.Sub(s.call.Began), 0)
	}
}

// retry says that an attempt failed.
func (s *seen) retry(n int, wait time.Duration, err *tool.Error) {
	if s != nil {
		s.call.Retries = append(s.call.Retries, observe.Retry{Attempt: n, At: time.Now(), Wait: wait, Why: string(err.Code)})
	}
}

// emit yields an event unless the caller stopped reading. It is called on the goroutine of
// the caller of Do only.
func (d *batch) emit(ev llm.Event) {
	if d.abandoned {
		return
	}
	if !d.yield(ev, nil) {
		d.abandoned = true
		d.stop()
	}
}

// stop cancels what runs and what would come next.
func (d *batch) stop() {
	d.cancellable()
	d.cancel()
}
