package access_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// slow is a store with slow writes.
type slow struct {
	access.Memory
	mu   sync.Mutex
	puts int
}

func (s *slow) Put(ctx context.Context, r access.Row) error {
	s.mu.Lock()
	s.puts++
	s.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	return s.Memory.Put(ctx, r)
}

// TestReadyWritesOnce checks that of many concurrent calls one writes, and that the others do not wait for a store that
// does not answer.
func TestReadyWritesOnce(t *testing.T) {
	store := new(slow)
	book := &access.Book{Store: store}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if err := book.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if store.puts > 3 { // one, and more only if this machine took seconds
		t.Errorf("%d writes", store.puts)
	}
}
