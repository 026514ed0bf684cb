package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// Replay gives the answers of a recorded run again: the answers of the model as a
// [llm.Model], and the results of the tools with [Replay.Call]. It calls neither. Each
// request must be the recorded one; the first that differs ends the replay with a
// *[Difference]. It is safe for concurrent use.
//
// A question or call that equals a recorded one gets the recorded answer, wherever it
// occurs: calls that ran in parallel may come in another order.
type Replay struct {
	mu        sync.Mutex
	asked     []*askedOnce
	called    []*calledOnce
	different *Difference
}

// askedOnce is a request on record with its answer.
type askedOnce struct {
	seq    int64
	hashes [2]Hash // of the question, and of the recorded one, without secrets
	form   *requestForm
	answer *Answer
	used   bool
}

// calledOnce is a call on record.
type calledOnce struct {
	seq     int64
	receipt Receipt
	hashes  [2]Hash
	used    bool
}

// NewReplay reads a run. It does not verify it.
func NewReplay(entries iter.Seq2[Entry, error]) (*Replay, error) {
	r := new(Replay)
	var last *requestForm
	for e, err := range Whole(entries) {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case KindRequest:
			last, err = r.recallRequest(e, last)
		case KindAnswer:
			err = r.recallAnswer(e)
		case KindReceipt, KindRefusal:
			err = r.recallReceipt(e)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Replay) recallRequest(e Entry, last *requestForm) (*requestForm, error) {
	var req Request
	if err := e.Decode(&req); err != nil {
		return nil, err
	}
	form, err := req.apply(last)
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	r.asked = append(r.asked, &askedOnce{seq: e.Seq, hashes: [2]Hash{req.Hash, form.hash()}, form: form})
	return form, nil
}

func (r *Replay) recallAnswer(e Entry) error {
	var a Answer
	if err := e.Decode(&a); err != nil {
		return err
	}
	for _, q := range slices.Backward(r.asked) {
		if q.seq == a.Request {
			q.answer = &a
			return nil
		}
	}
	return fmt.Errorf("journal: entry %d answers entry %d, which is not a request", e.Seq, a.Request)
}

func (r *Replay) recallReceipt(e Entry) error {
	c := &calledOnce{seq: e.Seq}
	if err := e.Decode(&c.receipt); err != nil {
		return err
	}
	c.hashes = [2]Hash{c.receipt.ParamsHash, ParamsHash(c.receipt.Args)}
	r.called = append(r.called, c)
	return nil
}

// Difference returns the first difference so far, nil if there is none.
func (r *Replay) Difference() *Difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.different
}

// Left returns how many requests and calls on record have not been asked for.
func (r *Replay) Left() (requests, calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.asked {
		if !q.used {
			requests++
		}
	}
	for _, c := range r.called {
		if !c.used {
			calls++
		}
	}
	return requests, calls
}

// Skip marks the entries up to that number as used: they were played before, or are
// not going to be.
func (r *Replay) Skip(seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.asked {
		q.used = q.used || q.seq <= seq
	}
	for _, c := range r.called {
		c.used = c.used || c.seq <= seq
	}
}

// differ keeps the first difference and returns it.
func (r *Replay) differ(d *Difference) error {
	if r.different == nil {
		r.different = d
	}
	return r.different
}

// Stream implements [llm.Model]: it yields the recorded answer to req, in the
// shortest stream that says the same.
func (r *Replay) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		a, err := r.answer(req)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		events := a.response().Events()
		if a.Finish == nil {
			events = events[:len(events)-1]
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		switch {
		case a.Error != nil:
			yield(nil, a.Error)
		case a.Finish == nil:
			yield(nil, &llm.Error{Op: "replay", Kind: llm.Incomplete, Err: errors.New("the answer broke off when it was recorded")})
		}
	}
}

func (r *Replay) answer(req *llm.Request) (*Answer, error) {
	form, err := formOf(req)
	if err != nil {
		return nil, fmt.Errorf("journal: request: %w", err)
	}
	hash := form.hash()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.different != nil {
		return nil, r.different
	}
	var next *askedOnce
	for _, q := range r.asked {
		if q.used {
			continue
		}
		if slices.Contains(q.hashes[:], hash) {
			q.used = true
			if q.answer == nil {
				return nil, fmt.Errorf("journal: entry %d is a request that was never answered", q.seq)
			}
			return q.answer, nil
		}
		if next == nil {
			next = q
		}
	}
	return nil, r.differ(r.requestDifference(next, form))
}

// requestDifference compares a request with the recorded one.
func (r *Replay) requestDifference(next *askedOnce, form *requestForm) *Difference {
	if next == nil {
		return &Difference{What: "request " + strconv.Itoa(len(r.asked)+1), Is: "a request more than on record"}
	}
	d := &Difference{What: "request " + strconv.Itoa(slices.Index(r.asked, next)+1), Seq: next.seq}
	return d.compare(next.form.json(), form.json())
}

// json returns the whole request as one document.
func (f *requestForm) json() json.RawMessage {
	b := append([]byte(`{"messages":[`), bytes.Join(rawBytes(f.messages), []byte(","))...)
	b = append(append(b, `],"settings":`...), f.settings...)
	b = append(append(b, `,"tools":`...), f.tools...)
	return append(b, '}')
}

// Call returns the recorded result of a call, which must have the id, the name
// and the arguments it had then. Nothing is run.
func (r *Replay) Call(ctx context.Context, call llm.Call) (llm.Result, error) {
	if err := ctx.Err(); err != nil {
		return llm.Result{}, err
	}
	hash := ParamsHash(call.Args)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.different != nil {
		return llm.Result{}, r.different
	}
	what := fmt.Sprintf("call %s of %s", call.ID, call.Name)
	for _, c := range r.called {
		if c.used || c.receipt.Call != call.ID {
			continue
		}
		switch {
		case c.receipt.Tool != call.Name:
			return llm.Result{}, r.differ(&Difference{What: what, Seq: c.seq, Path: "/name", Was: c.receipt.Tool, Is: call.Name})
		case !slices.Contains(c.hashes[:], hash):
			d := &Difference{What: what, Seq: c.seq, Path: "/args"}
			return llm.Result{}, r.differ(d.compare(c.receipt.Args, params(call.Args)))
		}
		c.used = true
		return c.receipt.result(), nil
	}
	return llm.Result{}, r.differ(&Difference{What: what, Is: brief(params(call.Args))})
}

// result is what the model was shown, or what is known without that.
func (r Receipt) result() llm.Result {
	if r.Result != nil {
		return *r.Result
	}
	return llm.Result{CallID: r.Call, Name: r.Tool, Failed: r.Status != OK, Parts: []llm.Part{llm.Text{Text: r.Reason}}}
}
