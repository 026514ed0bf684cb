package journal_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llmtest"
)

// plainStore is a store of a program: it has neither leases nor a ledger.
type plainStore struct{ journal.Store }

func (s plainStore) Runs(ctx context.Context) func(func(string, error) bool) {
	return s.Store.(journal.Lister).Runs(ctx)
}

// mapLocks is a lock of a program, shared by its processes.
type mapLocks struct {
	mu   sync.Mutex
	held map[string]journal.Lease
}

func (m *mapLocks) TryLock(_ context.Context, l journal.Lease) (journal.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok := m.held[l.Run]; ok {
		return h, nil
	}
	m.held[l.Run] = l
	return journal.Lease{}, nil
}

func (m *mapLocks) Holder(_ context.Context, run string) (journal.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[run], nil
}

func (m *mapLocks) Unlock(_ context.Context, l journal.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held[l.Run].Token == l.Token {
		delete(m.held, l.Run)
	}
	return nil
}

func TestLeasedStoreKeepsThePromises(t *testing.T) {
	llmtest.TestStore(t, func(*testing.T) journal.Store {
		return journal.Leased(plainStore{new(journal.Memory)}, &mapLocks{held: make(map[string]journal.Lease)})
	})
}

func TestLeasedStoresShareAMedium(t *testing.T) {
	medium, locks := plainStore{new(journal.Memory)}, &mapLocks{held: make(map[string]journal.Lease)}
	llmtest.TestSharedStore(t, journal.Leased(medium, locks), journal.Leased(medium, locks))
}

// brokenLocks cannot be reached.
type brokenLocks struct{ *mapLocks }

var errLocks = errors.New("no connection")

func (brokenLocks) TryLock(context.Context, journal.Lease) (journal.Lease, error) {
	return journal.Lease{}, errLocks
}

func TestLeasedStoreWithoutItsLocksWritesNothing(t *testing.T) {
	store := journal.Leased(plainStore{new(journal.Memory)}, brokenLocks{new(mapLocks)})
	if _, err := journal.Open(t.Context(), store, "r"); !errors.Is(err, errLocks) {
		t.Errorf("open: %v", err)
	}
	if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: []byte(`{}`)}); !errors.Is(err, errLocks) {
		t.Errorf("append: %v", err)
	}
	for range store.Read(t.Context(), "r", 0) {
		t.Error("an entry was written")
	}
}

func TestLeasedStoreRedactsLikeItsStore(t *testing.T) {
	secrets := &journal.Secrets{Values: []string{"hunter22"}}
	store := journal.Leased(&journal.Memory{Secrets: secrets}, &mapLocks{held: make(map[string]journal.Lease)})
	if journal.SecretsOf(store) != secrets || journal.SecretsOf(journal.Unleased(store)) != secrets {
		t.Error("the secrets of the store are not known")
	}
}
