package journal

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"
)

// Locker is one lock for each run, in a medium that the processes of a store share: a row, a key, an
// advisory lock. A lock ends with Unlock, and should end when the process that took it dies; one that
// can end earlier, such as a key with a time to live, must outlast every pause of its process.
// Implementations are safe for concurrent use.
type Locker interface {
	// TryLock takes the lock of l.Run for l and returns the zero Lease. If a lease has the lock, it
	// returns that lease at once.
	TryLock(ctx context.Context, l Lease) (holder Lease, err error)
	// Holder returns the lease that has the lock of a run, the zero Lease if none has.
	Holder(ctx context.Context, run string) (Lease, error)
	// Unlock gives the lock up if l has it.
	Unlock(ctx context.Context, l Lease) error
}

// Leased returns a store that has the leases of a [Leaser] by the locks of l, so that runs in s can be
// resumed. s needs no leases of its own. Everything that writes to the runs must go through such a
// store: a writer to s itself is not noticed.
func Leased(s Store, l Locker) Store {
	locked := &lockedStore{Store: s, locks: l, runs: make(map[string]*lockedRun)}
	if lister, ok := s.(Lister); ok {
		return struct {
			*lockedStore
			Lister
		}{locked, lister}
	}
	return locked
}

// lockedStore is a store with a lock for each run.
type lockedStore struct {
	Store
	locks Locker
	mu    sync.Mutex
	runs  map[string]*lockedRun
}

// lockedRun is the state of a run that this process writes to.
type lockedRun struct {
	mu    sync.Mutex // one entry at a time
	users int        // guarded by the mutex of the store
	owned bool       // likewise
	ledger
}

// passing marks the lease of a single entry by a writer that does not own the run.
const passing = "entry-"

// maxPasses limits how often a writer waits for another that holds the run for one entry.
const maxPasses = 1000

// inner returns the store without locks.
func (s *lockedStore) inner() Store { return s.Store }

// Lease takes the lock of a run.
func (s *lockedStore) Lease(ctx context.Context, run string) (Lease, error) {
	if err := ValidRun(run); err != nil {
		return Lease{}, err
	}
	l := newLease(run)
	if err := s.take(ctx, l); err != nil {
		return Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(run).owned = true
	return l, nil
}

// take takes the lock of a run. It waits for writers of a single entry.
func (s *lockedStore) take(ctx context.Context, l Lease) error {
	for n := 0; ; n++ {
		holder, err := s.locks.TryLock(ctx, l)
		switch {
		case err != nil:
			return fmt.Errorf("journal: the lock of run %s: %w", l.Run, err)
		case holder.Token == "" || holder.Token == l.Token:
			return nil
		case !strings.HasPrefix(holder.Token, passing) || n == maxPasses:
			return &HeldError{l.Run, holder.Owner}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Release gives the lock of a run up.
func (s *lockedStore) Release(ctx context.Context, l Lease) error {
	err := s.locks.Unlock(ctx, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[l.Run]; r != nil {
		r.owned = false
		s.forget(l.Run, r)
	}
	return err
}

// at returns the state of a run. The caller holds s.mu.
func (s *lockedStore) at(run string) *lockedRun {
	r := s.runs[run]
	if r == nil {
		r = new(lockedRun)
		s.runs[run] = r
	}
	return r
}

// forget drops the state of a run that is not in use. The caller holds s.mu.
func (s *lockedStore) forget(run string, r *lockedRun) {
	if r.users == 0 && !r.owned && s.runs[run] == r {
		delete(s.runs, run)
	}
}

// Append adds an entry for the owner of its run, or for a writer of a run without an owner.
func (s *lockedStore) Append(ctx context.Context, e Entry) (Entry, error) {
	if err := ValidRun(e.Run); err != nil {
		return Entry{}, err
	}
	s.mu.Lock()
	r := s.at(e.Run)
	r.users++
	s.mu.Unlock()
	r.mu.Lock()
	defer func() {
		r.mu.Unlock()
		s.mu.Lock()
		r.users--
		s.forget(e.Run, r)
		s.mu.Unlock()
	}()
	if e.Lease != "" {
		holder, err := s.locks.Holder(ctx, e.Run)
		switch {
		case err != nil:
			return Entry{}, fmt.Errorf("journal: the lock of run %s: %w", e.Run, err)
		case holder.Token != e.Lease:
			return Entry{}, leaseLost(e.Run)
		}
		return s.append(ctx, r, e)
	}
	l := newLease(e.Run)
	l.Token = passing + l.Token
	if err := s.take(ctx, l); err != nil {
		return Entry{}, err
	}
	written, err := s.append(ctx, r, e)
	if uerr := s.locks.Unlock(context.WithoutCancel(ctx), l); err == nil {
		err = uerr
	}
	return written, err
}

// append adds an entry while the lock is held.
func (s *lockedStore) append(ctx context.Context, r *lockedRun, e Entry) (Entry, error) {
	c, err := r.follow(e, func(from int64) iter.Seq2[Entry, error] { return s.Store.Read(ctx, e.Run, from) })
	if err != nil {
		return Entry{}, err
	}
	e.Lease = ""
	written, err := s.Store.Append(ctx, e)
	if err == nil {
		r.learn(&written, c)
	}
	return written, err
}

// follow refuses a second intent for a call in a run whose last entry is not known. The result is for
// learn, once e is written.
func (l *ledger) follow(e Entry, read func(from int64) iter.Seq2[Entry, error]) (counted, error) {
	if e.Kind != KindIntent {
		return counted{}, nil
	}
	body, err := Canonical(e.Body)
	if err != nil {
		return counted{}, fmt.Errorf("%s of run %s: %w", e.Kind, e.Run, err)
	}
	e.Body = body
	l.mu.Lock()
	seq := l.seq
	l.mu.Unlock()
	last := seq
	for before, err := range read(seq + 1) {
		if err != nil {
			return counted{}, err
		}
		last = before.Seq
	}
	return l.admit(last, &e, &known{}, read)
}
