package access

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a store in memory, for tests and for gateways that need not keep state across restarts. The zero value is
// empty and ready to use.
type Memory struct {
	mu      sync.Mutex
	records map[[2]string]Row
	counts  map[Window]Count
	holds   map[string]Hold
	usage   map[Spend]Spend // by all groupings
	log     []LogLine       // oldest first
	bodies  []Bodies        // oldest first
}

// maxMemoryLog and maxMemoryBodies limit the log in memory. When it is full, the older half is dropped.
const (
	maxMemoryLog    = 20_000
	maxMemoryBodies = 200
)

// Get implements [Store].
func (m *Memory) Get(_ context.Context, kind, id string) (Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[[2]string{kind, id}]
	r.Doc = slices.Clone(r.Doc)
	return r, nil
}

// List implements [Store].
func (m *Memory) List(_ context.Context, kind string) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Row
	for _, r := range m.records {
		if r.Kind == kind {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, r Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = make(map[[2]string]Row)
	}
	key := [2]string{r.Kind, r.ID}
	if m.records[key].Rev != r.Rev {
		return ErrConflict
	}
	r.Rev++
	r.Doc = slices.Clone(r.Doc)
	m.records[key] = r
	return nil
}

// Admit implements [Store].
func (m *Memory) Admit(_ context.Context, now time.Time, h Hold, windows []Window, check func(map[Window]Count, map[string]Reservation) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	used, held := make(map[Window]Count, len(windows)), make(map[string]Reservation)
	for _, w := range windows {
		used[w] = m.counts[w].plus(h.counts())
	}
	for _, other := range m.holds {
		if !now.Before(other.Until) || other.Request == h.Request {
			continue
		}
		for _, scope := range other.Scopes {
			held[scope] = held[scope].plus(other.Reservation)
		}
	}
	if err := check(used, held); err != nil {
		return err
	}
	if m.counts == nil {
		m.counts, m.holds = make(map[Window]Count), make(map[string]Hold)
	}
	maps.Copy(m.counts, used)
	m.holds[h.Request] = h
	return nil
}

// Extend implements [Store].
func (m *Memory) Extend(_ context.Context, requests []string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range requests {
		if h, open := m.holds[id]; open {
			h.Until = until
			m.holds[id] = h
		}
	}
	return nil
}

// Settle implements [Store].
func (m *Memory) Settle(_ context.Context, e LogLine, windows []Window) (map[Window]Count, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, open := m.holds[e.ID]; !open {
		return nil, nil
	}
	delete(m.holds, e.ID)
	used := make(map[Window]Count, len(windows))
	for _, w := range windows {
		m.counts[w] = m.counts[w].plus(e.count())
		used[w] = m.counts[w]
	}
	for _, u := range usagesOf(&e) {
		m.add(u)
	}
	e.Shares = nil
	if m.log = append(m.log, e); len(m.log) >= maxMemoryLog {
		m.log = slices.Clone(m.log[maxMemoryLog/2:])
	}
	return used, nil
}

// add adds u to the sums. The caller must hold m.mu.
func (m *Memory) add(u Spend) {
	if m.usage == nil {
		m.usage = make(map[Spend]Spend)
	}
	of := u.common(Groupings)
	m.usage[of] = m.usage[of].plus(u, of)
}

// Add implements [Store].
func (m *Memory) Add(_ context.Context, u Spend) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(u)
	return nil
}

// common returns the values of the groupings in by; the other fields are zero.
func (u Spend) common(by []Grouping) Spend {
	var of Spend
	for _, g := range by {
		*of.at(g) = u.Of(g)
	}
	return of
}

// plus returns the sum of the numbers of u and v, for the group of.
func (u Spend) plus(v, of Spend) Spend {
	of.Requests, of.Failed, of.Cached, of.Refused = u.Requests+v.Requests, u.Failed+v.Failed, u.Cached+v.Cached, u.Refused+v.Refused
	of.Input, of.Output, of.Money = u.Input+v.Input, u.Output+v.Output, u.Money+v.Money
	of.Unpriced, of.Estimated = u.Unpriced+v.Unpriced, u.Estimated+v.Estimated
	return of
}

// Usage implements [Store].
func (m *Memory) Usage(_ context.Context, only Filter, since string, by []Grouping) ([]Spend, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sums := make(map[Spend]Spend)
	for _, u := range m.usage {
		if u.Day >= since && only.has(&u) {
			of := u.common(by)
			sums[of] = sums[of].plus(u, of)
		}
	}
	out := slices.Collect(maps.Values(sums))
	sortUsage(out, by)
	return out, nil
}

// sortUsage sorts by the given groupings.
func sortUsage(list []Spend, by []Grouping) {
	slices.SortFunc(list, func(a, b Spend) int {
		for _, g := range by {
			if c := strings.Compare(a.Of(g), b.Of(g)); c != 0 {
				return c
			}
		}
		return 0
	})
}

// Log implements [Store].
func (m *Memory) Log(_ context.Context, q LogQuery) ([]LogLine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []LogLine
	older := q.Before == ""
	for _, e := range slices.Backward(m.log) {
		if len(out) >= q.Most {
			break
		}
		if older && q.has(&e) {
			out = append(out, e)
		}
		older = older || e.ID == q.Before
	}
	return out, nil
}

// KeepBodies implements [Store].
func (m *Memory) KeepBodies(_ context.Context, v Bodies) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.bodies, func(b Bodies) bool { return b.ID == v.ID }) {
		return nil
	}
	if m.bodies = append(m.bodies, v); len(m.bodies) >= maxMemoryBodies {
		m.bodies = slices.Clone(m.bodies[maxMemoryBodies/2:])
	}
	return nil
}

// Bodies implements [Store].
func (m *Memory) Bodies(_ context.Context, id string) (Bodies, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.bodies, func(b Bodies) bool { return b.ID == id }); i >= 0 {
		return m.bodies[i], nil
	}
	return Bodies{}, nil
}

// Erase implements [Store].
func (m *Memory) Erase(_ context.Context, e Erasure) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	erased := make(map[string]bool)
	m.log = slices.DeleteFunc(m.log, func(l LogLine) bool {
		erased[l.ID] = l.Team == e.Team && (e.User == "" || l.User == e.User)
		return erased[l.ID]
	})
	m.bodies = slices.DeleteFunc(m.bodies, func(v Bodies) bool { return erased[v.ID] || e.User == "" && v.Team == e.Team })
	for of, u := range maps.Clone(m.usage) {
		if of.Team != e.Team || e.User != "" && of.User != e.User {
			continue
		}
		if delete(m.usage, of); e.User != "" {
			of.User = ""
			m.usage[of] = m.usage[of].plus(u, of)
		}
	}
	for _, r := range e.Records {
		delete(m.records, [2]string{r.Kind, r.ID})
	}
	maps.DeleteFunc(m.counts, func(w Window, _ Count) bool { return slices.Contains(e.Scopes, w.Scope) })
	return nil
}

// Clean implements [Store].
func (m *Memory) Clean(_ context.Context, now, before time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = slices.DeleteFunc(m.log, func(e LogLine) bool { return e.At.Before(before) })
	m.bodies = slices.DeleteFunc(m.bodies, func(v Bodies) bool { return v.At.Before(before) })
	// Reservations need no cleaning: this gateway made them and is still running, so it will settle them.
	maps.DeleteFunc(m.counts, func(w Window, _ Count) bool { return over(w, now) })
	return nil
}

// countsKept is how long counts of a minute, a day or a month are kept after the period ends: requests that began in
// the period may still be running.
const countsKept = 2 * requestTime

// over reports whether a window can be deleted because nothing counts in it any more.
func over(w Window, now time.Time) bool {
	end := w.Per.end(time.Unix(w.Begin, 0))
	return !end.IsZero() && now.After(end.Add(countsKept))
}
