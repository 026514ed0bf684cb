package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The states of a run in the list.
const (
	stateOpen    = "open"    // running, or interrupted
	stateWaiting = "waiting" // for a person
	stateSuccess = "success"
	stateEnded   = "ended" // without a word about how
	stateFailed  = "failed"
	stateUnread  = "unreadable"
)

// stateComplete is the state of an evaluation whose questions are all answered.
const stateComplete = "complete"

// summary is a run in the list.
type summary struct {
	Run, Model, Task, Team, Route string
	State                         string
	Began, Last                   time.Time
	Entries                       int64
	Calls, FailedCalls            int
	Tokens                        int
	Tools                         []string // in the order of their first use

	failedTools []string // of Tools

	sealed  bool
	unread  bool            // the entry after the last one cannot be read
	waiting map[string]bool // questions without a decision, by call
}

// add takes an entry into the summary.
func (s *summary) add(e journal.Entry) {
	if s.Began.IsZero() {
		s.Began = e.At
	}
	s.Last, s.Entries = e.At, e.Seq
	switch e.Kind {
	case journal.KindStart:
		var b journal.Start
		if e.Decode(&b) == nil {
			s.Model, s.Task, s.Team, s.Route = b.Model, clip.Line(b.Task, 200), b.Team, b.Route
		}
	case journal.KindQuestion:
		var b journal.QuestionRecord
		if e.Decode(&b) == nil {
			if s.waiting == nil {
				s.waiting = make(map[string]bool)
			}
			s.waiting[b.Call] = true
		}
	case journal.KindApproval:
		var b journal.Approval
		if e.Decode(&b) == nil {
			delete(s.waiting, b.Call)
		}
	case journal.KindReceipt, journal.KindRefusal:
		var b struct {
			Call   string         `json:"call"`
			Tool   string         `json:"tool"`
			Status journal.Status `json:"status"`
		}
		if e.Decode(&b) == nil {
			delete(s.waiting, b.Call)
			s.Calls++
			if b.Status != journal.OK {
				s.FailedCalls++
				if !slices.Contains(s.failedTools, b.Tool) && len(s.failedTools) < 100 {
					s.failedTools = append(s.failedTools, b.Tool)
				}
			}
			if !slices.Contains(s.Tools, b.Tool) && len(s.Tools) < 100 {
				s.Tools = append(s.Tools, b.Tool)
			}
		}
	case journal.KindAnswer:
		var b struct {
			Finish *llm.Finish `json:"finish"`
		}
		if e.Decode(&b) == nil && b.Finish != nil {
			s.Tokens += b.Finish.Usage.Input + b.Finish.Usage.Output
		}
	case journal.KindEnd:
		var b journal.End
		if e.Decode(&b) == nil {
			s.State = stateFailed
			if b.Status == "success" {
				s.State = stateSuccess
			}
		}
	case journal.KindSeal:
		s.sealed = true
	}
}

// state returns the state of the run as far as it was read.
func (s *summary) state() string {
	switch {
	case s.unread:
		return stateUnread
	case s.State != "":
		return s.State
	case len(s.waiting) > 0:
		return stateWaiting
	case s.sealed:
		return stateEnded
	}
	return stateOpen
}

// index holds a summary of every run. A run that has ended is read once. The list of runs is read again when a page
// needs it, at most twice a second.
type index struct {
	store RunStore

	mu      sync.Mutex
	runs    map[string]*summary
	names   []string // newest first, by their keys
	keys    map[string]string
	listed  time.Time
	reading bool
	left    int // runs that were not read yet
}

func newIndex(store RunStore) *index {
	return &index{store: store, runs: make(map[string]*summary), keys: make(map[string]string)}
}

// The longest that a page waits for summaries. What is not read by then is read in the background.
const indexWait = 100 * time.Millisecond

// filter selects runs.
type filter struct {
	text, model, tool, state, team string
	since, until                   time.Time
}

func (f filter) keeps(s *summary) bool {
	contains := func(value, part string) bool {
		return part == "" || strings.Contains(strings.ToLower(value), strings.ToLower(part))
	}
	return contains(s.Run+" "+s.Task, f.text) && contains(s.Model, f.model) && contains(s.Team, f.team) &&
		(f.state == "" || s.state() == f.state) &&
		(f.tool == "" || slices.ContainsFunc(s.Tools, func(t string) bool { return contains(t, f.tool) })) &&
		(f.since.IsZero() || !s.Began.Before(f.since)) && (f.until.IsZero() || s.Began.Before(f.until))
}

// list returns a part of the selected runs, newest first, their number, and how many runs were not read yet.
func (x *index) list(ctx context.Context, f filter, from, n int) (page []summary, total, left int, err error) {
	if err := x.refresh(ctx); err != nil {
		return nil, 0, 0, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range x.names {
		s := x.runs[name]
		if s == nil || !f.keeps(s) {
			continue
		}
		if total++; total > from && len(page) < n {
			row := *s
			row.State, row.waiting = s.state(), nil
			page = append(page, row)
		}
	}
	return page, total, x.left, nil
}

// choices returns the values of all runs that a filter can have.
func (x *index) choices() (models, tools, teams []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	sets := [3]map[string]bool{{}, {}, {}}
	for _, s := range x.runs {
		sets[0][s.Model], sets[2][s.Team] = true, true
		for _, t := range s.Tools {
			sets[1][t] = true
		}
	}
	var out [3][]string
	for i, set := range sets {
		delete(set, "")
		for v := range set {
			out[i] = append(out[i], v)
		}
		slices.Sort(out[i])
		out[i] = out[i][:min(len(out[i]), 200)]
	}
	return out[0], out[1], out[2]
}

// uses counts the runs with a call of each tool.
func (x *index) uses() map[string]toolUse {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make(map[string]toolUse)
	for _, s := range x.runs {
		for _, name := range s.Tools {
			u := out[name]
			u.runs++
			out[name] = u
		}
		for _, name := range s.failedTools {
			u := out[name]
			u.failed++
			out[name] = u
		}
	}
	return out
}

// waiting returns the names of the runs that wait for a person, the newest first.
func (x *index) waiting(ctx context.Context) ([]string, error) {
	if err := x.refresh(ctx); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, name := range x.names {
		if s := x.runs[name]; s != nil && s.state() == stateWaiting {
			out = append(out, name)
		}
	}
	return out, nil
}

// refresh reads the names of the runs and what is new in open ones.
func (x *index) refresh(ctx context.Context) error {
	x.mu.Lock()
	fresh := time.Since(x.listed) < 500*time.Millisecond
	x.mu.Unlock()
	if fresh {
		return nil
	}
	var names []string
	for name, err := range x.store.Runs(ctx) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	x.mu.Lock()
	there := make(map[string]bool, len(names))
	var open []string // to be read
	for _, name := range names {
		there[name] = true
		if s := x.runs[name]; s == nil || !s.sealed {
			open = append(open, name)
		}
	}
	for name := range x.runs {
		if !there[name] {
			delete(x.runs, name)
			delete(x.keys, name)
		}
	}
	x.names, x.listed = names, time.Now()
	x.sort()
	slices.SortFunc(open, func(a, b string) int { return cmp.Compare(begins(b), begins(a)) })
	start := !x.reading
	if start {
		x.reading, x.left = true, len(open)
	}
	x.mu.Unlock()
	if !start {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.read(open)
	}()
	select {
	case <-done:
	case <-time.After(indexWait):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// begins returns the time in a run's id, which is the end of the ids that this program makes.
func begins(run string) string {
	const form = len("20060102-150405")
	for i := 0; i+form <= len(run) && i < 20; i++ {
		if part := run[i : i+form]; part[8] == '-' && strings.Trim(part[:8]+part[9:], "0123456789") == "" {
			return part
		}
	}
	return ""
}

// sort puts the newest first: by the first entry where it was read, and otherwise by the time in the id.
func (x *index) sort() {
	for _, name := range x.names {
		if x.keys[name] == "" {
			x.keys[name] = begins(name)
		}
	}
	newest := func(a, b string) int { return cmp.Or(cmp.Compare(x.keys[b], x.keys[a]), cmp.Compare(a, b)) }
	if !slices.IsSortedFunc(x.names, newest) {
		slices.SortFunc(x.names, newest)
	}
}

// maxSummarized limits the entries that a summary reads at once.
const maxSummarized = 200_000

// read brings summaries up to date, in the background of the page that needed them.
func (x *index) read(names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, name := range names {
		x.mu.Lock()
		var s summary
		if old := x.runs[name]; old != nil {
			s = *old
			s.Tools, s.failedTools = slices.Clone(old.Tools), slices.Clone(old.failedTools)
			waiting := make(map[string]bool, len(old.waiting))
			for k := range old.waiting {
				waiting[k] = true
			}
			s.waiting = waiting
		}
		x.mu.Unlock()
		s.Run, s.unread = name, false
		read := 0
		for e, err := range x.store.Read(ctx, name, s.Entries+1) {
			if err != nil {
				s.unread = ctx.Err() == nil
				break
			}
			s.add(e)
			if read++; read > maxSummarized {
				break
			}
		}
		x.mu.Lock()
		x.runs[name] = &s
		if !s.Began.IsZero() {
			x.keys[name] = s.Began.UTC().Format("20060102-150405.000")
		}
		x.left--
		x.mu.Unlock()
		if ctx.Err() != nil {
			break
		}
	}
	x.mu.Lock()
	x.reading, x.left = false, 0
	x.sort()
	x.mu.Unlock()
}
