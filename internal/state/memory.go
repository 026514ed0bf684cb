package state

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a store in memory: what it keeps ends with the program. The zero value is empty and ready
// to use.
type Memory struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time

	mu    sync.Mutex
	kinds map[Kind]*shelf
}

// shelf holds the entries of one kind.
type shelf struct {
	at     map[Place][]*kept // the oldest first
	size   int               // of those that may be dropped
	owners map[string]*holding
	puts   int // ever
}

// holding is what one owner has of a kind.
type holding struct {
	order list.List // of *kept that may be dropped, the one unused for longest first
	size  int       // of those
	held  int       // entries that may not
}

type kept struct {
	Kept
	n     int           // how many were put before it
	place *list.Element // in the order of its owner; nil if it is held
}

// Empty reports whether a kind has no entries. It saves a lookup.
func (m *Memory) Empty(kind Kind) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.kinds[kind]
	return s == nil || len(s.at) == 0
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, kind Kind, owner string, hashes ...Hash) (map[Hash][][]byte, error) {
	at := now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.kinds[kind]
	if s == nil {
		return nil, nil
	}
	var found map[Hash][][]byte
	for _, h := range hashes {
		list := s.at[Place{kind, owner, h}]
		if len(list) == 0 || found[h] != nil {
			continue
		}
		for _, k := range slices.Backward(list) {
			if at.Before(k.Until) {
				if found == nil {
					found = make(map[Hash][][]byte)
				}
				found[h] = append(found[h], k.Value)
				if k.place != nil {
					s.owners[owner].order.MoveToBack(k.place)
				}
			}
		}
	}
	return found, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, entries ...Kept) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range entries {
		if err := e.check(); err != nil {
			return err
		}
		m.shelf(e.Kind).put(e)
	}
	return nil
}

// Claim implements [Store].
func (m *Memory) Claim(_ context.Context, e Kept, mine []byte) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	at := now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shelf(e.Kind)
	for _, k := range s.at[e.Place] {
		if at.Before(k.Until) && !bytes.Equal(k.Value, mine) {
			return k.Value, nil
		}
	}
	if o := s.owners[e.Owner]; e.Hold && mine == nil && o != nil && o.held >= limits[e.Kind].held {
		s.sweep(at)
		if o := s.owners[e.Owner]; o != nil && o.held >= limits[e.Kind].held {
			return nil, ErrFull
		}
	}
	s.put(e)
	return e.Value, nil
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key Place, mine []byte) (bool, error) {
	at := now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shelf(key.Kind)
	was := false
	for _, k := range slices.Clone(s.at[key]) {
		if mine == nil || bytes.Equal(k.Value, mine) {
			was = was || at.Before(k.Until)
			s.drop(k)
		}
	}
	return was, nil
}

// Erase implements [Store].
func (m *Memory) Erase(_ context.Context, owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.kinds {
		for key, list := range maps.Clone(s.at) {
			if key.Owner != owner {
				continue
			}
			for _, k := range slices.Clone(list) {
				s.drop(k)
			}
		}
	}
	return nil
}

// Held implements [Store].
func (m *Memory) Held(_ context.Context, kind Kind, most int) ([]Kept, error) {
	at := now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*kept
	if s := m.kinds[kind]; s != nil {
		for _, list := range s.at {
			for _, k := range list {
				if k.Hold && at.Before(k.Until) {
					found = append(found, k)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b *kept) int { return cmp.Compare(a.n, b.n) })
	found = found[:min(most, len(found))]
	out := make([]Kept, len(found))
	for i, k := range found {
		out[i] = k.Kept
	}
	return out, nil
}

// Sweep implements [Store].
func (m *Memory) Sweep(context.Context) error {
	at := now(m.Now)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.kinds {
		s.sweep(at)
	}
	return nil
}

// shelf returns the entries of a kind. The caller holds m.mu.
func (m *Memory) shelf(kind Kind) *shelf {
	if m.kinds == nil {
		m.kinds = make(map[Kind]*shelf)
	}
	if m.kinds[kind] == nil {
		m.kinds[kind] = &shelf{at: make(map[Place][]*kept), owners: make(map[string]*holding)}
	}
	return m.kinds[kind]
}

// put keeps an entry and makes room for it.
func (s *shelf) put(e Kept) {
	for _, k := range s.at[e.Place] {
		if k.Item == e.Item {
			s.drop(k)
			break
		}
	}
	s.puts++
	k := &kept{Kept: e, n: s.puts}
	o := s.owners[e.Owner]
	if o == nil {
		o = new(holding)
		s.owners[e.Owner] = o
	}
	s.at[e.Place] = append(s.at[e.Place], k)
	if e.Hold {
		o.held++
		return
	}
	k.place = o.order.PushBack(k)
	s.size += e.size()
	o.size += e.size()
	most := limits[e.Kind]
	if len(s.at[e.Place]) > most.alike {
		s.drop(s.at[e.Place][0])
	}
	for s.size > most.size {
		s.drop(s.largest().order.Front().Value.(*kept))
	}
}

// largest returns the owner with the most bytes that may be dropped.
func (s *shelf) largest() (most *holding) {
	for _, o := range s.owners {
		if most == nil || o.size > most.size {
			most = o
		}
	}
	return most
}

// drop forgets an entry.
func (s *shelf) drop(k *kept) {
	list := s.at[k.Place]
	if list = slices.DeleteFunc(list, func(other *kept) bool { return other == k }); len(list) == 0 {
		delete(s.at, k.Place)
	} else {
		s.at[k.Place] = list
	}
	o := s.owners[k.Owner]
	if k.place == nil {
		o.held--
	} else {
		o.order.Remove(k.place)
		s.size -= k.size()
		o.size -= k.size()
	}
	if o.held == 0 && o.order.Len() == 0 {
		delete(s.owners, k.Owner)
	}
}

// sweep deletes expired entries.
func (s *shelf) sweep(at time.Time) {
	for _, list := range s.at {
		for _, k := range slices.Clone(list) {
			if !at.Before(k.Until) {
				s.drop(k)
			}
		}
	}
}
