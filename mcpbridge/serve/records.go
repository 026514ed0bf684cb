package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
)

// connectionIdle is how long a connection without a session may be silent until its record is sealed.
const connectionIdle = 5 * time.Minute

// records are those of HTTP connections since revision 2026-07-28, which has no sessions. The requests of a connection
// from one client share a record.
type records struct {
	mu     sync.Mutex
	of     map[string]*sharedRecord
	closed bool
	ending sync.WaitGroup
}

type sharedRecord struct {
	*caller.Account
	user   string
	active int // calls under way
	used   time.Time
	timer  *time.Timer // seals it
}

// origin is the connection that a request without a session came by.
type origin struct {
	address, user string
	access        HTTPAccess
}

type originKey struct{}

// withOrigin returns a request whose calls know their connection.
func withOrigin(r *http.Request, g HTTPAccess) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), originKey{}, origin{r.RemoteAddr, caller.UserOf(r), g}))
}

// account returns what the calls of a connection share, and begins a call of it. It is the one of the request if the
// connection has a session, or if there are too many connections.
func (s *Service) account(ctx context.Context, one *served, req *mcp.CallToolRequest) (*caller.Account, func()) {
	from, ok := ctx.Value(originKey{}).(origin)
	if !ok {
		return one.Account, func() {}
	}
	place := []string{from.address, from.user}
	if p := req.Session.InitializeParams(); p != nil {
		abilities, _ := json.Marshal(p.Capabilities) // a client that says nothing of itself is one, too
		place = append(place, string(abilities))
		if p.ClientInfo != nil {
			place = append(place, p.ClientInfo.Name)
		}
	}
	rec := s.records.begin(strings.Join(place, "\x00"), from, func() *caller.Account {
		return caller.NewAccount(s.life, s.options.Record, s.options.Failed)
	})
	if rec == nil {
		return one.Account, func() {}
	}
	return rec.Account, func() { s.records.end(rec) }
}

// begin begins a call of the connection at a place. It returns nil if there are too many connections.
func (v *records) begin(place string, from origin, open func() *caller.Account) *sharedRecord {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	rec := v.of[place]
	if rec == nil {
		if !v.admit(from) {
			return nil
		}
		if v.of == nil {
			v.of = make(map[string]*sharedRecord)
		}
		rec = &sharedRecord{Account: open(), user: from.user}
		limit := min(from.access.IdleTime, connectionIdle)
		rec.timer = time.AfterFunc(limit, func() { v.expire(place, rec, limit) })
		v.of[place] = rec
	}
	if !rec.Begin() {
		return nil
	}
	rec.active++
	return rec
}

func (v *records) end(rec *sharedRecord) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rec.active--
	rec.used = time.Now()
	rec.Running.Done()
}

// admit makes room for another connection, and reports whether there is any. The caller holds the lock.
func (v *records) admit(from origin) bool {
	all := make([]caller.Seat, 0, len(v.of))
	for place, rec := range v.of {
		idle := max(time.Since(rec.used), 1)
		if rec.active > 0 {
			idle = 0
		}
		all = append(all, caller.Seat{ID: place, User: rec.user, Idle: idle})
	}
	evict, room := caller.Admit(all, from.user, from.access.MaxSessions, from.access.MaxPerKey)
	if room && evict != "" {
		v.seal(evict)
	}
	return room
}

// expire seals a record that was not used for long.
func (v *records) expire(place string, rec *sharedRecord, limit time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch idle := time.Since(rec.used); {
	case v.of[place] != rec:
	case rec.active > 0:
		rec.timer.Reset(limit)
	case idle < limit:
		rec.timer.Reset(limit - idle)
	default:
		v.seal(place)
	}
}

// seal ends a connection. The caller holds the lock.
func (v *records) seal(place string) {
	rec := v.of[place]
	delete(v.of, place)
	rec.timer.Stop()
	rec.Leave()
	v.ending.Go(rec.Finish)
}

// close seals all records, and waits until that is done.
func (v *records) close() {
	v.mu.Lock()
	v.closed = true
	for place := range v.of {
		v.seal(place)
	}
	v.mu.Unlock()
	v.ending.Wait()
}
