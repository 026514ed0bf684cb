package gateway_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// TestOpenAccess creates a key with the administrators' API. A second gateway sees it only in the same database.
func TestOpenAccess(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	for _, c := range []struct {
		db   *sql.DB
		kept bool
	}{{nil, false}, {db, true}} {
		var answers []string
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			book, err := gateway.OpenAccess(t.Context(), c.db)
			if err != nil {
				t.Fatal(err)
			}
			secret := strings.Repeat("a", access.MinAdminKey)
			admin, err := gateway.Administration{Book: book, Key: secret}.Handler()
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(method, "http://127.0.0.1/admin/keys", strings.NewReader(`{"team":"green","name":"for a test"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			admin.ServeHTTP(w, r)
			answers = append(answers, w.Body.String())
		}
		if !strings.Contains(answers[0], "for a test") || strings.Contains(answers[1], "for a test") != c.kept {
			t.Errorf("database %v: %q", c.kept, answers)
		}
	}
}

// TestKeysOfAProgram: a program that embeds the gateway makes its keys without the administrators' API. Their limits
// and models hold, and a revoked key ends.
func TestKeysOfAProgram(t *testing.T) {
	t.Parallel()
	keys, err := gateway.OpenAccess(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.SetTeam(t.Context(), gateway.Team{Name: "acme"}, "requests/total=3"); err != nil {
		t.Fatal(err)
	}
	key, secret, err := keys.Create(t.Context(), gateway.Key{Team: "acme", Models: []string{"house"}}, "requests/minute=2")
	if err != nil || len(key.Limits) != 1 {
		t.Fatal(key, err)
	}
	for _, bad := range []string{"money/month", "money/year=1", "requests/day=-1", "cats/day=1"} {
		if _, _, err := keys.Create(t.Context(), gateway.Key{Team: "acme"}, bad); err == nil {
			t.Errorf("the limit %q was accepted", bad)
		}
	}
	route := []gateway.ModelRoute{{Model: "house", Upstreams: []gateway.Upstream{{Model: "sim/offline"}}}, {Model: "other", Upstreams: []gateway.Upstream{{Model: "sim/offline"}}}}
	g, err := gateway.New(gateway.Setup{Access: keys, Routes: route, Open: func(string, gateway.Way) (llm.Model, error) { return sim.Offline{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(secret, model string) int {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Hello"}]}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	_, second, err := keys.Create(t.Context(), gateway.Key{Team: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		secret, model string
		want          int
	}{{"tp-wrong", "house", 401}, {secret, "other", 403}, {secret, "house", 200}, {secret, "house", 200}, {secret, "house", 429}, {second, "house", 200}, {second, "house", 429}} {
		if code := ask(c.secret, c.model); code != c.want {
			t.Errorf("request %d: %d, want %d", i, code, c.want)
		}
	}
	if _, err := keys.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if code := ask(secret, "house"); code != 401 {
		t.Errorf("a revoked key: %d", code)
	}
}

// TestServedToolsOfARunner: a program that serves tools needs only a runner with its tools.
func TestServedToolsOfARunner(t *testing.T) {
	t.Parallel()
	look := tool.Func("get_weather", "Current weather in a city.", func(_ context.Context, in struct{ City string }) (string, error) {
		return "sunny in " + in.City, nil
	})
	for name, tools := range map[string]*gateway.ServedTools{"sunny in Rome": {Runner: &invoke.Runner{Tools: tool.MustSet(look)}}, "no tool": {}} {
		g, err := gateway.New(gateway.Setup{Open: func(string, gateway.Way) (llm.Model, error) { return sim.Offline{}, nil },
			Routes: []gateway.ModelRoute{{Model: "house", Upstreams: []gateway.Upstream{{Model: "sim/offline"}}, Tools: tools}}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"house","messages":[{"role":"user","content":"What is the weather in Rome?"}]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), name) {
			t.Errorf("%q: %d %s", name, w.Code, w.Body)
		}
	}
}
