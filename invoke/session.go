package invoke

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Session runs the calls of one conversation, turn by turn. It remembers the calls
// that were run, their cost, and the approvals that were granted.
type Session struct {
	// Task, Model and Step are written into the record of later calls. They
	// must not be changed while Do runs. Turn is told to tools.
	Task, Model, Step string
	Turn              int

	runner *Runner
	rec    *journal.Recorder
	parent *Session   // that runs the call which this session is part of
	began  time.Time  // by the parent's clock
	busy   sync.Mutex // held by Do
	asking sync.Mutex // held while a person is asked
	doing  batch      // what it does
	// more are tools of Also, and all those with the runner's.
	more, all *tool.Set

	mu       sync.Mutex  // guards what follows
	ids      llm.CallIDs // of calls, unless the record has them
	loop     loopGuard
	failures map[string]int // in a row, by tool
	spent    Budget
	cache    map[string]cached
	era      int // of the cache: counts the calls that may have changed something
	grants   []grant
	waiting  []Question                  // that are on record
	doubts   map[doubt]string            // the keys of calls of unknown outcome
	again    map[string]journal.Approval // of calls that repeat another, by id
	stopped  string
	whole    map[string]string // results that were shown in part, by handle
	held     []string          // their handles, the oldest first
	heldSize int
	paramsOf *tool.Set // whose parameters names are
	names    []string
}

// grant is a decision that was made before the question. Entry is its entry, if
// it is on record.
type grant struct {
	journal.Approval
	entry journal.Hash
}

// doubt names what calls do: one of them has an unknown outcome.
type doubt struct {
	tool   string
	params journal.Hash
}

// cached is the result of a read-only call.
type cached struct {
	out tool.Output
	era int
}

// Within makes the session part of the call that ctx belongs to, if it does: its calls
// count for the budgets of both sessions, and it may use the rest of each. It must be
// called before the first Do.
func (s *Session) Within(ctx context.Context) {
	if e, ok := tool.RuntimeOf(ctx).(*execution); ok && e.session != s {
		s.parent, s.began = e.session, e.session.runner.now()
	}
}

// Also has later calls be run with these tools, too, and with those of the runner
// that have other names. It forgets what an earlier Also said; nil is none. It must
// not be called while Do runs.
func (s *Session) Also(more *tool.Set) {
	if more == s.more {
		return
	}
	s.more, s.all = more, nil
	if more.Len() > 0 {
		s.all = s.runner.Set().Replace(more)
	}
}

// tools returns the set that calls are looked up in.
func (s *Session) tools() *tool.Set {
	if s.all != nil {
		return s.all
	}
	return s.runner.Set()
}

// record writes an entry, even if ctx has been cancelled, and returns its hash.
func (s *Session) record(ctx context.Context, kind journal.Kind, v any) (journal.Hash, error) {
	if s.rec == nil {
		return "", nil
	}
	e, err := s.rec.Write(context.WithoutCancel(ctx), kind, v)
	return e.Hash, err
}

// forget drops an id that the record holds from now on.
func (s *Session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids.Forget(id)
}

// learnt keeps the names of parameters for the next result.
func (s *Session) learnt(set *tool.Set, names []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paramsOf, s.names = set, names
	return names
}

// Session begins a session that writes to rec; nil records nothing. It refuses
// settings that cannot be honoured.
func (r *Runner) Session(rec *journal.Recorder) (*Session, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	ids := llm.CallIDs{New: r.NewID}
	if rec != nil {
		ids.Known = rec.Settled
	}
	s := &Session{runner: r, rec: rec, ids: ids, failures: make(map[string]int), loop: loopGuard{limit: r.LoopLimit}}
	if rec != nil {
		for _, in := range rec.Doubtful() {
			if s.doubts == nil {
				s.doubts = make(map[doubt]string)
			}
			s.doubts[doubt{in.Tool, in.ParamsHash}] = cmp.Or(in.Key, in.Call)
		}
	}
	return s, nil
}

// hasTime reports whether the budget leaves time after a call that has taken so
// long.
func (s *Session) hasTime(took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.runner.Budget.Time
	return b == 0 || s.spent.Time+took < b
}

// took returns the time since start, never below zero.
func (r *Runner) took(start time.Time) time.Duration { return max(r.now().Sub(start), 0) }
