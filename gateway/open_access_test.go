package gateway_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
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
