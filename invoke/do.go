package invoke

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Do runs calls and yields what happens. Read-only tools run in parallel. The others
// wait for their turn and run alone, and no call overtakes a call that may change
// things. There is one [Outcome] for each call, in the order of the calls. A tool that
// fails is an outcome, not an error: an error means that the session could not record
// its own work. It is the last thing yielded, and no further call is begun.
//
// Stopping early, or cancelling ctx, cancels the calls that run and refuses the calls
// that have not begun; each is recorded all the same. A resumed run continues as after
// a crash: a call that may have changed something has an unknown outcome, and the
// others are run. Do waits no longer than a tool's timeout and the grace after it.
//
// If a person has to decide and has not, Do ends with a [Waiting] event for each such
// call. Calls that are not over then get no outcome.
//
// One Do runs at a time; a second one yields an error.
func (s *Session) Do(ctx context.Context, calls []llm.Call) iter.Seq2[llm.Event, error] {
	if ctx == nil {
		panic("invoke: the context of Do is nil; pass context.Background()")
	}
	return func(yield func(llm.Event, error) bool) {
		if !s.busy.TryLock() {
			yield(nil, errors.New("invoke: another Do of the session is running"))
			return
		}
		defer s.busy.Unlock()
		d := &s.doing
		d.s, d.yield, d.ctx = s, yield, ctx
		defer d.end()
		err := d.run(calls)
		if err != nil && !d.abandoned {
			yield(nil, err)
		}
	}
}

// Results runs calls and returns their results, in order, without the events
// on the way. If one waits for a person, the error is a *[PendingError].
func (s *Session) Results(ctx context.Context, calls []llm.Call) ([]llm.Result, error) {
	var out []llm.Result
	var waits error
	for ev, err := range s.Do(ctx, calls) {
		if err != nil {
			return out, err
		}
		switch ev := ev.(type) {
		case Outcome:
			out = append(out, ev.Result)
		case Waiting:
			waits = &PendingError{ev.Until}
		}
	}
	return out, waits
}

// cancellable gives ctx a separate cancel.
func (d *batch) cancellable() {
	if d.cancel == nil {
		d.ctx, d.cancel = context.WithCancel(d.ctx)
	}
}

// end cancels the context and drops all references, for the next Do.
func (d *batch) end() {
	d.unobserve()
	if d.cancel != nil {
		d.cancel()
	}
	*d = batch{}
}

func (d *batch) run(calls []llm.Call) error {
	if d.jobs = d.only[:]; len(calls) != 1 {
		d.jobs = make([]job, len(calls))
	}
	for i, c := range calls {
		j := &d.jobs[i]
		j.index, j.call, j.args, j.place = i, c, c.Args, -1
		if err := d.check(j); err != nil {
			return err
		}
	}
	ready := d.onlyReady[:0]
	if len(d.jobs) != 1 {
		ready = make([]*job, 0, len(d.jobs))
	}
	for i := range d.jobs {
		if d.jobs[i].outcome == nil {
			ready = append(ready, &d.jobs[i])
		}
	}
	if d.waiting() { // a person decides about the calls of an answer together
		d.deliver()
		return nil
	}
	d.emit(Planned{plan(ready)})
	d.deliver()
	for len(ready) > 0 && !d.waiting() {
		n := together(ready)
		now, err := d.stillApproved(ready[:n])
		if err != nil || d.waiting() {
			return err
		}
		if len(now) > 0 {
			err = d.batch(now)
		}
		d.deliver()
		if err != nil {
			return err
		}
		ready = ready[n:]
	}
	return nil
}

// waiting reports whether a call waits for a person. The calls that are not over then
// are left to a resumed run.
func (d *batch) waiting() bool {
	if !d.waits() {
		return false
	}
	for i := range d.jobs {
		if d.jobs[i].outcome == nil {
			d.s.forget(d.jobs[i].call.ID)
		}
	}
	return true
}

// waits reports whether a call waits for a person.
func (d *batch) waits() bool {
	waits := false
	for i := range d.jobs { // without a copy of each
		waits = waits || d.jobs[i].waits
	}
	return waits
}

// plan returns the ids of the calls, batch after batch.
func plan(ready []*job) [][]string {
	if len(ready) == 1 { // one piece of memory instead of two
		var one struct {
			batches [1][]string
			ids     [1]string
		}
		one.ids[0] = ready[0].call.ID
		one.batches[0] = one.ids[:]
		return one.batches[:]
	}
	batches := make([][]string, 0, 1)
	for len(ready) > 0 {
		ids := make([]string, together(ready))
		for i := range ids {
			ids[i] = ready[i].call.ID
		}
		batches, ready = append(batches, ids), ready[len(ids):]
	}
	return batches
}

// together returns how many of the next calls form a batch: read-only ones that
// follow each other, or any other alone. What a tool does is what it declares,
// never what its name suggests.
func together(ready []*job) int {
	n := 0
	for n < len(ready) && ready[n].tool.Effects.Has(tool.ReadOnly) {
		n++
	}
	return max(n, 1)
}

// batch runs calls side by side. The first error to record ends it, after the
// calls that have begun.
func (d *batch) batch(jobs []*job) error {
	if len(jobs) == 1 {
		err := d.one(jobs[0], d.emit)
		jobs[0].outcome = jobs[0].settled
		d.deliver()
		return err
	}
	type report struct {
		ev   llm.Event
		over *job // and err, if its end could not be recorded
		err  error
	}
	d.cancellable()
	var (
		reports = make(chan report)
		turns   = make(chan struct{}, cmp.Or(d.s.runner.Parallel, 64))
		running sync.WaitGroup
		first   error
		over    bool
	)
	defer func() {
		if !over { // the caller's loop panicked; the calls are recorded all the same
			d.abandoned = true
			d.stop()
			for range reports {
			}
		}
	}()
	for _, j := range jobs {
		running.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			err := d.one(j, func(ev llm.Event) { reports <- report{ev: ev} })
			reports <- report{over: j, err: err}
		})
	}
	go func() {
		running.Wait()
		close(reports)
	}()
	for n := range reports {
		switch {
		case n.ev != nil:
			d.emit(n.ev)
		case n.err != nil && first == nil:
			first = n.err
			d.stop() // what cannot be recorded is not begun
		case n.err == nil:
			n.over.outcome = n.over.settled
			d.deliver()
		}
	}
	over = true
	return first
}

// deliver yields the outcomes that are next in order.
func (d *batch) deliver() {
	for d.told < len(d.jobs) && d.jobs[d.told].outcome != nil {
		o := d.jobs[d.told].outcome
		d.s.count(&d.jobs[d.told])
		d.emit(o)
		d.told++
	}
}

// count keeps the number of failures in a row. Outcomes come in order, and therefore
// the same calls always count the same.
func (s *Session) count(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !j.failed {
		delete(s.failures, j.call.Name)
	} else {
		s.failures[j.call.Name]++
	}
}
