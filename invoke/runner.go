package invoke

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// Runner holds the settings for running calls. The zero value of every field is a safe
// choice. A Runner may serve many sessions at once; it must not be copied or changed
// once it is in use.
type Runner struct {
	Tools *tool.Set
	// Policy decides which calls may run; nil means AllowOwn.
	Policy Policy
	// Approve asks a person about a call the policy wants asked about. Nil
	// refuses such calls. The answer must carry the question's ParamsHash; see
	// [Question.Answer]. A [PendingError] has the run wait for an answer that
	// comes later. It is called for one question at a time.
	Approve func(context.Context, Question) (journal.Approval, error)

	// Timeout bounds one attempt of a tool without a timeout; 0 means 30 s. Grace is
	// how long a tool that was told to stop may take before it is abandoned; 0 means 2
	// s.
	Timeout, Grace time.Duration
	// Parallel is how many calls run side by side; 0 means 64.
	Parallel int
	// Attempts is how often a call is tried in total; 0 means 3, 1 turns
	// retries off. Only transient failures of idempotent tools are retried.
	Attempts int
	Backoff  Backoff
	Breaker  Breaker
	// LoopLimit is how often the same call with the same result, or the same
	// cycle of two to six calls, is met before the model is warned; after that
	// it is refused, and then the run is stopped. 0 means 3, below 0 turns the
	// guard off.
	LoopLimit int
	Budget    Budget
	Output    ResultView
	// Cache answers a read-only call that succeeded before in the session, with
	// the same arguments, from memory, until something may have changed.
	Cache bool
	// Redact is what the results and errors of tools lose before the model and the record get
	// them; see [Redact]. An Agent redacts the messages of people and its system prompt, too. What a
	// model writes itself stays as it is, also in the record: see the Secrets of the store.
	Redact *journal.Secrets
	// RunGuesses lets read-only tools run calls whose reading is a guess.
	//
	// Deprecated: read-only tools always run them.
	RunGuesses bool
	// Exact does not convert arguments to the types of the schema: they are valid as they are, or refused.
	Exact bool

	// Now, Rand (in [0,1)) and NewID make runs repeatable; nil means the clock,
	// random numbers, and call_1, call_2 and so on within a session.
	Now   func() time.Time
	Rand  func() float64
	NewID func() string

	mu       sync.Mutex
	breakers map[string]*breaker.Breaker
	reading  *tool.Set // what Set returns, once it was asked
}

// Backoff is the wait before another attempt: Initial, doubled each time, at most Max,
// plus a random part of up to Jitter of it. Zero means 500 ms, 10 s and a quarter. If
// the tool's error names a longer wait, that applies; a wait longer than Patience (0
// means 30 s) ends the attempts.
type Backoff struct {
	Initial, Max, Patience time.Duration
	Jitter                 float64
}

// Budget bounds a session. Zero means no bound. A call that has begun may go
// beyond it, but is not tried again then.
type Budget struct {
	Calls int           // that run
	Time  time.Duration // they take together
	Bytes int64         // they return
}

// With returns a Runner with the settings of r over other tools. It has separate
// breakers.
func (r *Runner) With(tools *tool.Set) *Runner {
	return &Runner{
		Tools: tools, Policy: r.Policy, Approve: r.Approve, Timeout: r.Timeout, Grace: r.Grace, Parallel: r.Parallel, Attempts: r.Attempts,
		Backoff: r.Backoff, Breaker: r.Breaker, LoopLimit: r.LoopLimit, Budget: r.Budget, Output: r.Output, Cache: r.Cache,
		Redact: r.Redact, RunGuesses: r.RunGuesses, Exact: r.Exact, Now: r.Now, Rand: r.Rand, NewID: r.NewID,
	}
}

func (r *Runner) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func (r *Runner) random() float64 {
	if r.Rand != nil {
		return r.Rand()
	}
	return rand.Float64()
}

// delay returns how long to wait after the attempt that failed, and whether to
// wait at all.
func (r *Runner) delay(attempt int, asked time.Duration) (time.Duration, bool) {
	if asked > cmp.Or(r.Backoff.Patience, 30*time.Second) {
		return 0, false
	}
	wait := cmp.Or(r.Backoff.Initial, 500*time.Millisecond)
	most := cmp.Or(r.Backoff.Max, 10*time.Second)
	for range attempt - 1 {
		if wait >= most {
			break
		}
		wait *= 2
	}
	wait = min(wait, most)
	wait += time.Duration(float64(wait) * cmp.Or(r.Backoff.Jitter, 0.25) * r.random())
	return max(wait, asked), true
}

// check refuses settings that cannot be honoured.
func (r *Runner) check() error {
	switch {
	case r.Timeout < 0 || r.Grace < 0 || r.Parallel < 0 || r.Attempts < 0:
		return errors.New("invoke: Timeout, Grace, Parallel and Attempts must not be negative")
	case r.Backoff.Initial < 0 || r.Backoff.Max < 0 || r.Backoff.Patience < 0 || r.Backoff.Jitter < 0:
		return errors.New("invoke: Backoff must not be negative")
	case r.Breaker.Failures < 0 || r.Breaker.Cooldown < 0:
		return errors.New("invoke: Breaker must not be negative")
	case r.Budget.Calls < 0 || r.Budget.Time < 0 || r.Budget.Bytes < 0:
		return errors.New("invoke: Budget must not be negative")
	}
	return r.Output.check()
}

// Set returns the tools that a model can call: Tools, and if results are shown in part
// because of Output.Mode, [ReaderName], unless a tool of the program has that name.
func (r *Runner) Set() *tool.Set {
	if r.Output.Mode == Detailed {
		return r.Tools
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading == nil {
		r.reading = r.Tools
		if _, taken := r.Tools.Lookup(ReaderName); !taken {
			r.reading = r.Tools.Replace(tool.MustSet(resultReader()))
		}
	}
	return r.reading
}

// Breaker refuses calls of a tool that keeps failing: after Failures in a row (0
// means 5) for the time of Cooldown (0 means 60 s). Then one call may run, and
// its result decides whether the tool is available again. Off turns the breaker
// off. Only failures of the tool itself count, not mistakes of the model such as
// wrong arguments, a missing permission or something that does not exist.
type Breaker struct {
	Off      bool
	Failures int
	Cooldown time.Duration
}
