package gateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
)

// TestAdminNamesWhatItTakes: another method is told all that there are, and a change of nothing is refused, as by the command.
func TestAdminNamesWhatItTakes(t *testing.T) {
	book := &access.Book{Store: new(access.Memory)}
	k, _, err := book.Create(t.Context(), access.Key{Name: "k", Team: "t"})
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Repeat("s", gateway.MinAdminKey)
	admin, err := gateway.Admin(book, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		allow, says        string
	}{
		{"PUT", "/admin/keys", "{}", 405, "GET, POST", "takes GET and POST, not PUT"},
		{"GET", "/admin/keys/" + k.ID, "", 405, "PATCH", "takes PATCH, not GET"},
		{"PATCH", "/admin/keys/" + k.ID, "{}", 400, "", "nothing says what to change"},
		{"PATCH", "/admin/keys/" + k.ID, `{"name":"n"}`, 200, "", k.ID},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %q %s", c.method, c.path, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
}
