package sim

import (
	"net/http"

	"github.com/toolpost/toolpost/internal/vendorapi"
)

// maxSeen limits the names whose requests are counted.
const maxSeen = 4096

// tally counts the requests to a model.
type tally struct {
	Requests  int `json:"requests"`
	Open      int `json:"open"`      // not answered yet
	Cancelled int `json:"cancelled"` // the client went away before the end
}

// saw counts a request. The function it returns records its end.
func (s *Server) saw(model string) func(cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tallies == nil || len(s.tallies) >= maxSeen {
		s.tallies = make(map[string]*tally)
	}
	t := s.tallies[model]
	if t == nil {
		t = new(tally)
		s.tallies[model] = t
	}
	t.Requests++
	t.Open++
	return func(cancelled bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Open--
		if cancelled {
			t.Cancelled++
		}
	}
}

// serveSeen reports the tally of a model to the tests of clients.
func (s *Server) serveSeen(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var t tally
	if found := s.tallies[r.URL.Query().Get("model")]; found != nil {
		t = *found
	}
	s.mu.Unlock()
	vendorapi.WriteJSON(w, t)
}
