package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that forgets when the process ends. The zero value is
// ready to use. It must not be copied.
type Memory struct {
	// Secrets finds the secrets to strip; nil means the known forms. It must not be
	// changed once the store is in use.
	Secrets *Secrets

	mu   sync.Mutex
	runs map[string]*memoryRun
}

type memoryRun struct {
	mu    sync.Mutex
	owned bool
	lease Lease // if owned
	// blocks are full, except for the last: an entry is never copied to make room.
	blocks [][]memoryEntry
	last   Entry
	line   []byte // space for the next
	bodies []byte // of the last entries, one after the other
	ledger ledger
}

// memoryEntry is what an entry does not share with its run and its neighbours.
type memoryEntry struct {
	at       time.Time
	kind     Kind
	body     json.RawMessage
	stripped *Stripped
	hash     Hash
}

// blockLen is how many entries a block holds: 8 KiB of them.
const blockLen = 93

// add appends e. The first block grows as it must, since most runs are short.
func (r *memoryRun) add(e *Entry) {
	r.last = *e
	n := len(r.blocks)
	if n == 0 || len(r.blocks[n-1]) == blockLen {
		r.blocks = append(r.blocks, make([]memoryEntry, 0, min(n*blockLen, blockLen)))
		n++
	}
	r.blocks[n-1] = append(r.blocks[n-1], memoryEntry{e.At, e.Kind, e.Body, e.Stripped, e.Hash})
}

// keep returns a copy of a body. Small ones stand side by side, which takes less
// time than memory for each.
func (r *memoryRun) keep(body []byte) []byte {
	const most = 16 << 10
	if len(body) > most/8 {
		return bytes.Clone(body)
	}
	if cap(r.bodies)-len(r.bodies) < len(body) {
		r.bodies = make([]byte, 0, max(min(2*cap(r.bodies), most), len(body)))
	}
	start := len(r.bodies)
	r.bodies = append(r.bodies, body...)
	return r.bodies[start:len(r.bodies):len(r.bodies)]
}

// from yields the entries from the nth on, counting from 0.
func (r *memoryRun) from(n int64) iter.Seq[Entry] {
	r.mu.Lock()
	blocks := slices.Clone(r.blocks) // what they hold is only ever appended to
	run, format, count := r.last.Run, r.last.Format, r.last.Seq
	r.mu.Unlock()
	at := func(i int64) *memoryEntry { return &blocks[i/blockLen][i%blockLen] }
	return func(yield func(Entry) bool) {
		for i := n; i < count; i++ {
			m := at(i)
			e := Entry{Run: run, Seq: i + 1, At: m.at, Kind: m.kind, Body: m.body, Format: format, Stripped: m.stripped, Hash: m.hash}
			if i > 0 {
				e.Prev = at(i - 1).hash
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (m *Memory) run(name string, create bool) *memoryRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[name]
	if r == nil && create {
		if m.runs == nil {
			m.runs = make(map[string]*memoryRun)
		}
		r = new(memoryRun)
		m.runs[name] = r
	}
	return r
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, e Entry) (Entry, error) {
	return m.append(ctx, e, &known{})
}

func (m *Memory) append(ctx context.Context, e Entry, k *known) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	if err := ValidRun(e.Run); err != nil {
		return Entry{}, err
	}
	r := m.run(e.Run, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayAppend(&e); err != nil {
		return Entry{}, err
	}
	line, err := e.follow(&r.last, k, m.Secrets, r.line)
	if err != nil {
		return Entry{}, err
	}
	c, err := r.ledger.admit(r.last.Seq, &e, k, nil) // which has seen all entries
	if err != nil {
		return Entry{}, err
	}
	if k.borrowed {
		e.Body = r.keep(e.Body)
	}
	r.line = reusable(line)
	r.ledger.learn(&e, c)
	r.add(&e)
	return e, nil
}

// mayAppend refuses an entry that is not its owner's.
func (r *memoryRun) mayAppend(e *Entry) error {
	switch {
	case e.Lease != "" && e.Lease != r.lease.Token:
		return leaseLost(e.Run)
	case e.Lease == "" && r.owned:
		return &HeldError{e.Run, r.lease.Owner}
	}
	return nil
}

// Lease implements [Leaser].
func (m *Memory) Lease(ctx context.Context, run string) (Lease, error) {
	if err := errors.Join(ctx.Err(), ValidRun(run)); err != nil {
		return Lease{}, err
	}
	r := m.run(run, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owned {
		return Lease{}, &HeldError{run, r.lease.Owner}
	}
	r.owned, r.lease = true, newLease(run)
	return r.lease, nil
}

// Release implements [Leaser].
func (m *Memory) Release(_ context.Context, l Lease) error {
	r := m.run(l.Run, false)
	if r == nil {
		return nil
	}
	r.mu.Lock() // not between the check and the end of an Append
	defer r.mu.Unlock()
	if r.lease.Token == l.Token {
		r.owned, r.lease = false, Lease{}
	}
	return nil
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, run string, from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := m.run(run, false)
		if r == nil {
			return
		}
		for e := range r.from(max(from-1, 0)) {
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Runs implements [Lister].
func (m *Memory) Runs(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		m.mu.Lock()
		names := slices.Sorted(maps.Keys(m.runs))
		m.mu.Unlock()
		for _, name := range names {
			if r := m.run(name, false); r.empty() { // its first entry was refused
				continue
			}
			if !yield(name, nil) {
				return
			}
		}
	}
}

func (r *memoryRun) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.blocks) == 0
}
