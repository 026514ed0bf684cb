package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder writes one run. It is safe for concurrent use.
//
// It keeps the promise that no effect is announced twice: a call has at most
// one intent and one receipt in a run, across restarts.
type Recorder struct {
	// Now tells the time of entries; nil means time.Now. It must not be
	// changed once the Recorder is in use.
	Now func() time.Time

	store     Store
	run       string
	format    int
	lease     Lease
	leased    bool // the store has leases
	continued bool
	sealed    atomic.Bool

	mu      sync.Mutex
	closed  bool
	calls   map[string]callState
	unknown []Intent             // of earlier processes
	doubts  doubts               // of earlier processes
	pending map[string]announced // the intents of this process without a receipt, by call
	values  onRecord
	// talking says that a request is on record: the results of calls will come
	// again in the next one.
	talking atomic.Bool

	asking sync.Mutex
	// lastRequest is what the next request is recorded against; asking guards it.
	lastRequest *requestForm
}

// announced are the arguments of an intent, canonical, and their hash.
type announced struct {
	args json.RawMessage
	hash Hash
}

type callState uint8

const (
	intended callState = iota + 1 // by this process
	lost                          // intended by an earlier process, no receipt
	settled                       // it has a receipt
)

// Open begins or continues a run. A run that exists is verified first: one that was
// tampered with is a *[BrokenError], one that ended is [ErrSealed], one in a newer
// format is a *[FormatError]. A run in an older format keeps it. After a crash,
// [Recorder.Unknown] has the calls of unknown outcome.
//
// The Recorder owns the run until Close or Seal, if the store has leases: see
// [Leaser]. A run with another owner is a *[HeldError]. In a store without leases Open
// begins runs, and refuses with [ErrNoLease] to continue one.
func Open(ctx context.Context, store Store, run string) (*Recorder, error) {
	if err := ValidRun(run); err != nil {
		return nil, err
	}
	lease, leased, err := acquire(ctx, store, run)
	if err != nil {
		return nil, err
	}
	r := &Recorder{store: store, run: run, lease: lease, leased: leased, format: CurrentFormat,
		calls: make(map[string]callState), pending: make(map[string]announced), values: newOnRecord()}
	if err := r.read(ctx); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// read takes up what the run holds.
func (r *Recorder) read(ctx context.Context) error {
	var refs Resolver
	var dangling *ReferenceError // nothing can be recalled after it: Verify reports what is missing
	report, err := Verify(func(yield func(Entry, error) bool) {
		for e, err := range r.store.Read(ctx, r.run, 0) {
			if err == nil && dangling == nil {
				if err = r.recall(e, &refs); errors.As(err, &dangling) {
					err = nil
				}
			}
			if !yield(e, err) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return err
	case report.Sealed:
		return fmt.Errorf("%w: %s", ErrSealed, r.run)
	case !r.leased && report.Entries > 0:
		return fmt.Errorf("%w: %s", ErrNoLease, r.run)
	}
	r.continued = report.Entries > 0
	r.unknown = report.Unknown
	for _, in := range r.unknown {
		r.calls[in.Call] = lost
	}
	return nil
}

// Close gives up the run, which another Recorder may then continue. Nothing can
// be written after it. A Recorder that is not closed owns its run until the
// process ends.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed || !r.leased {
		return nil
	}
	return release(ctx, r.store, r.lease)
}

// recall takes from an old entry what the Recorder must know.
func (r *Recorder) recall(e Entry, refs *Resolver) error {
	r.format = e.Format
	if e.Format >= formatRefs {
		r.values.learn(e)
	}
	whole, err := refs.Whole(e)
	if err != nil {
		return err
	}
	switch e.Kind {
	case KindIntent:
		var old Intent
		if err := e.Decode(&old); err != nil {
			return err
		}
		r.doubts.begin(old)
	case KindQuestion:
		var old QuestionRecord
		if err := e.Decode(&old); err != nil {
			return err
		}
		if old.Prompt > 0 {
			r.doubts.drop(old.Call)
		}
	case KindReceipt, KindRefusal:
		var old struct {
			Call   string   `json:"call"`
			Status Status   `json:"status"`
			Error  *Failure `json:"error"`
		}
		if err := e.Decode(&old); err != nil {
			return err
		}
		if r.doubts.has(old.Call) || !(Receipt{Error: old.Error}).Interrupted() {
			r.calls[old.Call] = settled
		}
		r.doubts.end(old.Call, old.Status)
	case KindRequest:
		var old Request
		if err := whole.Decode(&old); err != nil {
			return err
		}
		form, err := old.apply(r.lastRequest)
		if err != nil {
			return err
		}
		r.lastRequest = form
		r.talking.Store(true)
	}
	return nil
}

// Continued reports whether the run had entries when it was opened.
func (r *Recorder) Continued() bool { return r.continued }

// Run returns the id of the run.
func (r *Recorder) Run() string { return r.run }

// Unknown returns the intents that earlier processes left without a receipt,
// oldest first. Their effects may or may not have happened. They stay here
// until a receipt settles them, and Intent refuses to announce them again.
func (r *Recorder) Unknown() []Intent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.unknown)
}

// Doubtful returns the intents of earlier processes whose calls are of unknown
// outcome, oldest first, except those that a later call with the same key has done
// since. Unlike Unknown, it includes calls whose receipt reports that too.
func (r *Recorder) Doubtful() []Intent { return slices.Clone(r.doubts.open) }

// doubts are the calls whose outcome is unknown.
type doubts struct{ open []Intent }

// begin adds the intent of a call that is not over.
func (d *doubts) begin(in Intent) {
	in.Args = nil // may be a reference
	d.open = append(d.open, in)
}

func (d *doubts) has(call string) bool {
	return slices.ContainsFunc(d.open, func(in Intent) bool { return in.Call == call })
}

// drop forgets a call that did nothing and waits.
func (d *doubts) drop(call string) {
	d.open = slices.DeleteFunc(d.open, func(in Intent) bool { return in.Call == call })
}

// end adds the status of a call. A call that is done settles the earlier ones with the
// same key.
func (d *doubts) end(call string, status Status) {
	i := slices.IndexFunc(d.open, func(in Intent) bool { return in.Call == call })
	if i < 0 || status == Unknown || status == Abandoned {
		return
	}
	key := cmp.Or(d.open[i].Key, call)
	d.open = slices.DeleteFunc(d.open, func(in Intent) bool {
		return in.Call == call || status == OK && cmp.Or(in.Key, in.Call) == key
	})
}

// Settled reports whether a call of that id has a receipt.
func (r *Recorder) Settled(call string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[call] == settled
}

// UnknownOutcomeError is the refusal to announce a call that an earlier
// process announced and did not settle.
type UnknownOutcomeError struct{ Call string }

// Error names the call and its intent.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("journal: call %s was begun before a crash and its outcome is unknown; it must not be run again unasked", e.Call)
}

// Intent announces a call that may change the world. It must return without
// error before the call is run. ParamsHash is computed, if empty, from Args.
// The error is a *[UnknownOutcomeError] or wraps [ErrTwice] if the run has the
// call already.
func (r *Recorder) Intent(ctx context.Context, in Intent) (Entry, error) {
	if err := r.reserve(in.Call); err != nil {
		return Entry{}, err
	}
	if in.ParamsHash == "" {
		in.ParamsHash = ParamsHash(in.Args)
	}
	e, err := r.writeIntent(ctx, &in)
	if err != nil { // it may be on disk all the same, so the call must not be tried again
		r.mu.Lock()
		r.calls[in.Call] = lost
		r.unknown = append(r.unknown, in)
		r.mu.Unlock()
	}
	return e, err
}

func (r *Recorder) reserve(call string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.calls[call] {
	case lost:
		return &UnknownOutcomeError{call}
	case intended, settled:
		return fmt.Errorf("%w: %s", ErrTwice, call)
	}
	r.calls[call] = intended
	return nil
}

// Receipt records how a call ended and returns the receipt with Entry filled
// in. It fills ParamsHash, if empty, from Args. A call has one receipt; a
// second wraps [ErrTwice], unless the first says that the call was interrupted
// and it had no intent. A receipt is written even if ctx has been cancelled:
// what happened, happened.
func (r *Recorder) Receipt(ctx context.Context, rec Receipt) (Receipt, error) {
	r.mu.Lock()
	before := r.calls[rec.Call]
	var intended announced
	if before != settled {
		r.calls[rec.Call] = settled
	}
	if before != settled && before != 0 {
		intended = r.pending[rec.Call]
	}
	r.mu.Unlock()
	if before == settled {
		return rec, fmt.Errorf("%w: %s", ErrTwice, rec.Call)
	}
	if rec.ParamsHash == "" {
		rec.ParamsHash = ParamsHash(rec.Args)
	}
	kind := KindReceipt
	if rec.Status == Refused {
		kind = KindRefusal
	}
	hash, err := r.writeReceipt(r.lasting(ctx), kind, &rec, intended)
	if err != nil {
		r.mu.Lock()
		r.calls[rec.Call] = before
		r.mu.Unlock()
		return rec, err
	}
	rec.Entry = hash
	if before == 0 && rec.Interrupted() {
		r.mu.Lock()
		delete(r.calls, rec.Call)
		r.mu.Unlock()
	}
	if before != 0 { // there was an intent
		r.mu.Lock()
		delete(r.pending, rec.Call)
		r.unknown = slices.DeleteFunc(r.unknown, func(in Intent) bool { return in.Call == rec.Call })
		r.mu.Unlock()
	}
	return rec, nil
}

// Abandon settles an intent of [Recorder.Unknown] with a receipt of status abandoned,
// without running anything.
func (r *Recorder) Abandon(ctx context.Context, in Intent) (Receipt, error) {
	return r.Receipt(ctx, Receipt{
		Call: in.Call, StepID: in.StepID, Tool: in.Tool, Args: in.Args, ParamsHash: in.ParamsHash,
		Status: Unknown, Reason: "the process ended after the intent and before the receipt; the call may have run",
	})
}

// Write records anything else: an approval, a plan, a kind of another package. The
// body is v's JSON; it must be an object. JSON inside v without a canonical form, as
// models and vendors sometimes write it, is recorded as nearly as possible, and the
// entry is marked.
func (r *Recorder) Write(ctx context.Context, kind Kind, v any) (Entry, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return Entry{}, fmt.Errorf("journal: %s: %w", kind, err)
	}
	e := Entry{Kind: kind}
	var bad *CanonicalError
	switch e.Body, err = Canonical(raw); {
	case errors.As(err, &bad):
		if e.Body, err = loosen(raw); err == nil {
			e.Stripped = &Stripped{Whole: hashText(raw), Rules: []string{ruleMended}}
		}
	}
	if err != nil {
		return Entry{}, fmt.Errorf("%s of run %s: %w", kind, r.run, err)
	}
	if r.format < formatRefs || places[kind] == nil {
		return r.append(ctx, e, &known{canonical: true})
	}
	return r.writeValues(ctx, e)
}

// writeValues writes an entry of a kind that holds values, with references to the
// values that are on record.
func (r *Recorder) writeValues(ctx context.Context, e Entry) (Entry, error) {
	r.mu.Lock()
	e.Body = r.values.refer(e.Kind, e.Body)
	r.mu.Unlock()
	written, err := r.append(ctx, e, &known{canonical: true})
	if err != nil {
		return written, err
	}
	e.Format = r.format // and with its secrets, which its hashes speak for
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values.learn(e)
	if e.Kind == KindRequest {
		r.talking.Store(true)
	}
	return written, nil
}

// writeIntent is Write for an intent. It makes Args canonical.
func (r *Recorder) writeIntent(ctx context.Context, in *Intent) (Entry, error) {
	refs := references{r: r, params: in.ParamsHash}
	space := bodies.Get().(*[]byte)
	o := in.encode(&refs, *space)
	if o.err != nil || o.loose {
		return r.Write(ctx, KindIntent, *in)
	}
	k := o.known()
	k.counted = in.counted()
	_, k.borrowed = r.store.(*Memory) // whose entries are its own, and are returned
	e, err := r.append(ctx, Entry{Kind: KindIntent, Body: o.b}, &k)
	if k.borrowed {
		giveBack(space, o.b)
	}
	if err == nil {
		refs.learn()
		r.await(in)
	}
	return e, err
}

// await keeps the arguments of an intent for its receipt, which need not repeat
// them: the hash that both have names them. That the hash is theirs is for the
// caller to say, and checked.
func (r *Recorder) await(in *Intent) {
	if r.format < formatRefs || !in.ParamsHash.speaksFor(in.Args) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[in.Call] = announced{in.Args, in.ParamsHash}
}

// lasting returns a context for an entry that is written even if ctx has been
// cancelled.
func (r *Recorder) lasting(ctx context.Context) context.Context {
	switch r.store.(type) {
	case *Memory, *Dir: // they do not use the values of a context
		return context.Background()
	}
	return context.WithoutCancel(ctx)
}

// writeReceipt is Write for a receipt. It makes Args canonical, and returns the
// hash of the entry.
func (r *Recorder) writeReceipt(ctx context.Context, kind Kind, rec *Receipt, intended announced) (Hash, error) {
	refs := references{r: r, intended: intended, params: rec.ParamsHash}
	space := bodies.Get().(*[]byte)
	o := rec.encode(&refs, *space)
	if o.err != nil || o.loose {
		e, err := r.Write(ctx, kind, *rec)
		return e.Hash, err
	}
	k := o.known()
	k.borrowed = true
	e, err := r.append(ctx, Entry{Kind: kind, Body: o.b}, &k)
	if err == nil {
		refs.learn()
	}
	giveBack(space, o.b)
	return e.Hash, err
}

// stamp gives an entry its time. A clock that panics is an error: an entry may be written
// from any goroutine.
func (r *Recorder) stamp(e *Entry) (err error) {
	if r.Now == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("journal: Now panicked: %v", p)
		}
	}()
	e.At = r.Now()
	return nil
}

func (r *Recorder) append(ctx context.Context, e Entry, k *known) (Entry, error) {
	if r.sealed.Load() { // its lease has ended, but that is not the reason
		return Entry{}, fmt.Errorf("%w: %s", ErrSealed, r.run)
	}
	e.Run, e.Format, e.Lease = r.run, r.format, r.lease.Token
	if err := r.stamp(&e); err != nil {
		return Entry{}, err
	}
	// The stores of this package trust our knowledge of a body. They are known by
	// type: a store that embeds one has another Append.
	switch s := r.store.(type) {
	case *Memory:
		return s.append(ctx, e, k)
	case *Dir:
		return s.append(ctx, e, k)
	}
	if k.borrowed {
		e.Body = bytes.Clone(e.Body)
	}
	if s, ok := r.store.(*SQL); ok {
		return s.append(ctx, e, k)
	}
	return r.store.Append(ctx, e)
}

// Seal ends the run and closes the Recorder. A sealed run takes no more entries.
func (r *Recorder) Seal(ctx context.Context) (Entry, error) {
	e, err := r.append(r.lasting(ctx), Entry{Kind: KindSeal}, &known{})
	if err == nil {
		r.sealed.Store(true)
		err = r.Close(ctx)
	}
	return e, err
}

// SecretsOf returns the secrets that a store of this package redacts.
func SecretsOf(s Store) *Secrets {
	switch s := s.(type) {
	case *Memory:
		return s.Secrets
	case *Dir:
		return s.Secrets
	case *SQL:
		return s.Secrets
	case unleased:
		return SecretsOf(s.Store)
	case interface{ inner() Store }:
		return SecretsOf(s.inner())
	}
	return nil
}
