package journal

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Memory is a Store that forgets when the process ends. The zero value is
// ready to use. It must not be copied.
type Memory struct {
	// Secrets says what to strip; nil means the known forms. It must not be
	// changed once the store is in use.
	Secrets *Secrets

	mu   sync.Mutex
	runs map[string]*memoryRun
}

type memoryRun struct {
	mu      sync.RWMutex
	entries []Entry
	line    []byte // space for the next
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
func (m *Memory) Append(ctx context.Context, e Entry) (Entry, error) { return m.append(ctx, e, false) }

func (m *Memory) append(ctx context.Context, e Entry, canonical bool) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	if err := ValidRun(e.Run); err != nil {
		return Entry{}, err
	}
	r := m.run(e.Run, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	var last Entry
	if n := len(r.entries); n > 0 {
		last = r.entries[n-1]
	}
	e, line, err := next(last, e, canonical, m.Secrets, r.line)
	if err != nil {
		return Entry{}, err
	}
	r.line = reusable(line)
	r.entries = append(r.entries, e)
	return e, nil
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, run string, from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := m.run(run, false)
		if r == nil {
			return
		}
		r.mu.RLock()
		entries := r.entries // only ever appended to
		r.mu.RUnlock()
		for _, e := range entries[min(max(from-1, 0), int64(len(entries))):] {
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
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.entries) == 0
}
