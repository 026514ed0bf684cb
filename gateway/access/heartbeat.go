package access

import (
	"context"
	"sync"
	"time"
)

// A reservation lasts holdTime. The gateway that made it renews it every heartbeat while the request runs, so the
// reservations of a dead gateway are released within a minute.
const (
	holdTime  = time.Minute
	heartbeat = holdTime / 3
)

// requestTime is the longest a request may take.
const requestTime = time.Hour

// holds are the reservations of running requests.
type holds struct {
	mu    sync.Mutex
	open  map[string]bool // by request
	timer *time.Timer     // nil while no request runs
}

// hold begins the renewal of a reservation.
func (b *Book) hold(request string) {
	h := &b.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[string]bool)
	}
	if h.open[request] = true; h.timer == nil {
		h.timer = time.AfterFunc(heartbeat, b.beat)
	}
}

// release ends the renewal of a reservation.
func (b *Book) release(request string) {
	h := &b.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.open, request); len(h.open) == 0 && h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// beat renews the reservations of all running requests, and schedules the next renewal.
func (b *Book) beat() {
	h := &b.holds
	h.mu.Lock()
	requests := make([]string, 0, len(h.open))
	for id := range h.open {
		requests = append(requests, id)
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), heartbeat)
	_ = b.wrote(b.Store.Extend(ctx, requests, b.now().Add(holdTime))) // the next beat tries again, and requests report a store that is down
	cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Reset(heartbeat)
	}
}
