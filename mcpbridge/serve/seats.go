package serve

import (
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
)

// seats are the sessions of clients over HTTP: whose they are, and when they were used.
type seats struct {
	mu sync.Mutex
	of map[string]*seat
}

type seat struct {
	user   string
	used   time.Time
	active int // requests under way, but for streams that clients listen to
}

// admit makes room for another session of a user, and reports whether there is any.
func (s *seats) admit(server *mcp.Server, g HTTPAccess, user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make(map[string]*mcp.ServerSession)
	var all []caller.Seat
	for session := range server.Sessions() {
		id := session.ID()
		one := s.of[id]
		if one == nil {
			continue // of a pipe, or a request that is not over
		}
		open[id] = session
		idle := max(time.Since(one.used), 1)
		if one.active > 0 {
			idle = 0
		}
		all = append(all, caller.Seat{ID: id, User: one.user, Idle: idle})
	}
	for id := range s.of {
		if open[id] == nil {
			delete(s.of, id) // it has ended
		}
	}
	evict, room := caller.Admit(all, user, g.MaxSessions, g.MaxPerKey)
	if room && evict != "" {
		delete(s.of, evict)
		go func() { _ = open[evict].Close() }() // which waits for its streams
	}
	return room
}

// noticing notes the use of the session of a request, and the session that it begins.
func (s *seats) noticing(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.Header.Get("Mcp-Session-Id")
	if one := s.of[id]; one != nil && r.Method == http.MethodPost {
		one.used = time.Now()
		one.active++
	}
	if id != "" || r.Method != http.MethodPost {
		return w
	}
	return &seating{ResponseWriter: w, seats: s, user: caller.UserOf(r)}
}

// left notes that a request is over.
func (s *seats) left(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.of[r.Header.Get("Mcp-Session-Id")]; one != nil && r.Method == http.MethodPost && one.active > 0 {
		one.used = time.Now()
		one.active--
	}
}

// seating notices the session that a request begins.
type seating struct {
	http.ResponseWriter
	seats *seats
	user  string
}

// WriteHeader implements [http.ResponseWriter].
func (w *seating) WriteHeader(status int) {
	w.take()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (w *seating) Write(b []byte) (int, error) {
	w.take()
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher].
func (w *seating) Flush() {
	w.take()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives [http.ResponseController] the writer below.
func (w *seating) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *seating) take() {
	id := w.Header().Get("Mcp-Session-Id")
	if id == "" {
		return
	}
	w.seats.mu.Lock()
	defer w.seats.mu.Unlock()
	if w.seats.of == nil {
		w.seats.of = make(map[string]*seat)
	}
	if w.seats.of[id] == nil {
		w.seats.of[id] = &seat{user: w.user, used: time.Now()}
	}
}
