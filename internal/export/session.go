package export

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/toolpost/toolpost/journal"
)

// session is a run, put in the order of an export.
type session struct {
	run           string
	start         journal.Start
	begun, ended  time.Time
	plan          journal.SessionPlan
	calls         []*call // in the order in which they began
	verifications []journal.Verification
	end           *journal.End
	sealed        bool
	entries       int64
	head          journal.Hash
	events        []event // between start and end
}

// call is one call with all that is known of it.
type call struct {
	journal.Receipt
	settled  bool
	stripped bool // secrets were taken out of the arguments or the result
}

// event is a line of the replay, of one of these kinds, with what it is about.
type event struct {
	kind eventKind
	at   time.Time
	call *call
	body any
}

type eventKind uint8

const (
	sessionStart eventKind = iota
	planStart
	toolCall
	toolResult
	stepComplete
	verification
	sessionEnd
)

// errOpen is the error of exporting a run that has not ended.
var errOpen = errors.New("the run is open")

// gather reads a run, which must be whole.
func gather(entries iter.Seq2[journal.Entry, error]) (*session, error) {
	s := new(session)
	byID := make(map[string]*call)
	var refs journal.Resolver
	report, err := journal.Verify(func(yield func(journal.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				err = s.addWhole(e, &refs, byID)
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if report.Entries == 0 {
		return nil, errors.New("there is no such run, or it is empty")
	}
	s.run, s.entries, s.head, s.sealed = report.Run, report.Entries, report.Head, report.Sealed
	return s, nil
}

// addWhole adds an entry with its references resolved. An entry whose reference cannot
// be resolved is left to Verify.
func (s *session) addWhole(e journal.Entry, refs *journal.Resolver, byID map[string]*call) error {
	whole, err := refs.Whole(e)
	if err != nil {
		return nil
	}
	return s.add(whole, byID)
}

func (s *session) add(e journal.Entry, byID map[string]*call) error {
	if s.begun.IsZero() {
		s.begun = e.At
	}
	s.ended = e.At
	switch e.Kind {
	case journal.KindStart:
		return e.Decode(&s.start)
	case journal.KindPlan:
		s.events = append(s.events, event{kind: planStart, at: e.At})
		return e.Decode(&s.plan)
	case journal.KindIntent:
		return s.addIntent(e, byID)
	case journal.KindReceipt, journal.KindRefusal:
		return s.addReceipt(e, byID)
	case journal.KindStep:
		return addBody[journal.Step](s, e, stepComplete)
	case journal.KindVerification:
		var v journal.Verification
		if err := e.Decode(&v); err != nil {
			return err
		}
		s.verifications = append(s.verifications, v)
		s.events = append(s.events, event{kind: verification, at: e.At, body: v})
	case journal.KindEnd:
		s.end = new(journal.End)
		return e.Decode(s.end)
	}
	return nil
}

func addBody[T any](s *session, e journal.Entry, kind eventKind) error {
	var body T
	err := e.Decode(&body)
	s.events = append(s.events, event{kind: kind, at: e.At, body: body})
	return err
}

func (s *session) addIntent(e journal.Entry, byID map[string]*call) error {
	var in journal.Intent
	if err := e.Decode(&in); err != nil {
		return err
	}
	if c := byID[in.Call]; c != nil && !c.settled {
		return nil // it waited for an answer, and goes on
	}
	c := &call{Receipt: journal.Receipt{
		Call: in.Call, StepID: in.StepID, Tool: in.Tool, Args: in.Args, ParamsHash: in.ParamsHash, Status: journal.Unknown,
	}, stripped: e.Stripped != nil}
	byID[in.Call] = c
	s.calls = append(s.calls, c)
	s.events = append(s.events, event{kind: toolCall, at: e.At, call: c})
	return nil
}

// addReceipt adds the result of a call and, unless its intent has done so, the
// call. A call that was interrupted before it began is another call than the one
// that the resumed run makes under the same id.
func (s *session) addReceipt(e journal.Entry, byID map[string]*call) error {
	var r journal.Receipt
	if err := e.Decode(&r); err != nil {
		return err
	}
	c := byID[r.Call]
	if c == nil || c.settled && c.Interrupted() {
		c = new(call)
		byID[r.Call] = c
		s.calls = append(s.calls, c)
		s.events = append(s.events, event{kind: toolCall, at: e.At.Add(-time.Duration(r.LatencyMS) * time.Millisecond), call: c})
	}
	if c.settled {
		return fmt.Errorf("entry %d: call %s has a receipt already", e.Seq, r.Call)
	}
	c.Receipt, c.settled, c.stripped = r, true, e.Stripped != nil
	s.events = append(s.events, event{kind: toolResult, at: e.At, call: c})
	return nil
}

// status is how the session ended, in the journal's words: success, failure,
// cancelled or timeout.
func (s *session) status() string {
	if s.end != nil {
		return s.end.Status
	}
	for _, c := range s.calls {
		if !c.settled {
			return "cancelled"
		}
	}
	return "success"
}

func (s *session) confidence() float64 {
	if s.end == nil || s.end.Confidence == nil {
		return 0
	}
	return *s.end.Confidence
}

func (s *session) latency() (total int64) {
	for _, c := range s.calls {
		total += c.LatencyMS
	}
	return total
}

// delta sums the changes in failing checks.
func (s *session) delta() (total int) {
	for _, v := range s.verifications {
		if v.FailuresFixed != nil {
			total += *v.FailuresFixed
		}
	}
	return total
}

func (s *session) passed() bool {
	for _, v := range s.verifications {
		if v.ExitCode != 0 {
			return false
		}
	}
	return true
}

// utility is how much a call helped, from -1 to 1, as the loop judged or else
// as its success suggests.
func (c *call) utility() float64 {
	switch {
	case c.StepUtility != nil:
		return *c.StepUtility
	case c.Status == journal.OK:
		return 0.2
	}
	return -0.4
}
