package gateway_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
)

// methodOf is the method of the request that a store is asked for, in its context.
type methodOf struct{}

// meeting is a store in which a request and the deletion of its answer meet at chosen steps: before the step of the request that is
// number first after its answer can be found, the deletion begins, and before its own step of number second it waits for the
// end of the request.
type meeting struct {
	state.Store
	first, second int
	remove        func(id string)

	mu           sync.Mutex
	id           string // of the answer, once it can be found
	steps, later int    // of the request and of the deletion
	met          bool   // the deletion began
	waited       bool   // and waited
	reached      chan struct{}
	ended        chan struct{}
	removed      chan struct{}
}

// step is called before anything is asked of the store.
func (m *meeting) step(ctx context.Context) {
	m.mu.Lock()
	switch method := ctx.Value(methodOf{}); {
	case method == http.MethodPost && m.id != "" && !m.met:
		if m.met = m.steps == m.first; m.met {
			go func() { m.remove(m.id); close(m.removed) }()
			m.mu.Unlock()
			select {
			case <-m.reached:
			case <-m.removed:
			}
			return
		}
		m.steps++
	case method == http.MethodDelete && !m.waited:
		if m.waited = m.later == m.second; m.waited {
			close(m.reached)
			m.mu.Unlock()
			<-m.ended
			return
		}
		m.later++
	}
	m.mu.Unlock()
}

func (m *meeting) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	m.step(ctx)
	return m.Store.Get(ctx, kind, owner, hashes...)
}

func (m *meeting) Put(ctx context.Context, entries ...state.Kept) error {
	m.step(ctx)
	err := m.Store.Put(ctx, entries...)
	for _, e := range entries {
		if e.Kind == state.Answer {
			m.mu.Lock()
			m.id = js.Text(js.Get(js.Get(e.Value, "answer"), "id"))
			m.mu.Unlock()
		}
	}
	return err
}

func (m *meeting) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	m.step(ctx)
	return m.Store.Claim(ctx, e, mine)
}

func (m *meeting) Delete(ctx context.Context, k state.Place, mine []byte) (bool, error) {
	m.step(ctx)
	return m.Store.Delete(ctx, k, mine)
}

// TestAnswersDeletedWhileTheyEnd: an answer that its owner deletes while it ends is not given again, whichever of the steps of both come first.
func TestAnswersDeletedWhileTheyEnd(t *testing.T) {
	for name, open := range map[string]func() state.Store{
		"memory": func() state.Store { return new(state.Memory) },
		"sqlite": func() state.Store {
			db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			db.SetMaxOpenConns(1)
			s, err := state.OpenSQL(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		for _, stream := range []bool{false, true} {
			met := 0
			for first, more := 0, true; more; first++ {
				for second, again := 0, true; again; second++ {
					more, again = deletedAtItsEnd(t, &meeting{Store: open(), first: first, second: second}, stream)
					if more {
						met++
					}
				}
			}
			if met < 9 {
				t.Errorf("%s, stream=%t: they met in %d ways only", name, stream, met)
			}
		}
	}
}

// deletedAtItsEnd has a request and the deletion of its answer meet, and asks again. It reports whether the request had such a step, and
// whether the deletion had.
func deletedAtItsEnd(t *testing.T, m *meeting, stream bool) (met, waited bool) {
	t.Helper()
	m.reached, m.ended, m.removed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	g, err := gateway.New(gateway.Setup{Open: opening(upstreams(t)), Routes: []gateway.ModelRoute{to("m", "up-responses/sim/native")}, State: m})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), methodOf{}, r.Method)))
	}))
	defer server.Close()
	m.remove = func(id string) {
		if resp, body := send(t, "DELETE", server.URL+"/v1/responses/"+id, "", ""); resp.StatusCode != 200 {
			t.Errorf("it cannot be deleted: %d %s", resp.StatusCode, body)
		}
	}
	ask := func() (int, string) {
		resp, body := send(t, "POST", server.URL+"/v1/responses", "application/json", fmt.Sprintf(`{"model":"m","stream":%t,"input":"What is the weather in Paris?"}`, stream), "Idempotency-Key", "a")
		return resp.StatusCode, body
	}
	if status, body := ask(); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	close(m.ended)
	if !m.met {
		return false, false
	}
	<-m.removed
	if status, body := ask(); status != 404 {
		t.Errorf("steps %d and %d, stream=%t: after it was deleted: %d %s", m.first, m.second, stream, status, body)
	}
	return true, m.waited
}
