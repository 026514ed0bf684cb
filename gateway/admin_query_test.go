package gateway_test

import (
	"strings"
	"testing"
)

// TestAdminQueriesAreReadWhole: parameters that cannot be read, are not known or stand there twice are refused at every
// path. Without them the answer would be about all teams.
func TestAdminQueriesAreReadWhole(t *testing.T) {
	f := build(t)
	paths := map[string][]string{
		"GET":   {"/admin/usage", "/admin/requests", "/admin/requests/req_x", "/admin/keys", "/admin/teams"},
		"POST":  {"/admin/keys", "/admin/keys/tp-x/rotate", "/admin/keys/tp-x/revoke"},
		"PATCH": {"/admin/keys/tp-x"},
		"PUT":   {"/admin/teams/green"},
	}
	for method, list := range paths {
		for _, path := range list {
			for query, says := range map[string]string{
				"team=100%":          `the parameters cannot be read: invalid URL escape`,
				"team=nope;":         `invalid semicolon`,
				"team=team_x;by=key": `invalid semicolon`,
				"key=%zz&by=team":    `invalid URL escape`,
				"te%am=x":            `invalid URL escape`,
				"moon=1":             `is not known here`,
			} {
				refused(t, f, method, path+"?"+query, says)
			}
		}
	}
	for _, query := range []string{"team=a&team=b", "format=csv&format=json", "key=a&key="} {
		refused(t, f, "GET", "/admin/usage?"+query, "is named 2 times")
		refused(t, f, "GET", "/admin/requests?"+query, "is named 2 times")
	}
	refused(t, f, "GET", "/admin/usage?by=team&by=key", "is named 2 times")
	refused(t, f, "GET", "/admin/usage?by=team,key,team", "team is named twice")
	refused(t, f, "GET", "/admin/requests?limit=1&limit=2", "is named 2 times")
	if status, body := f.try(t, attack{admin: true, method: "GET", path: "/admin/usage?by=team&model=100%25%3B", header: bearing(adminKey)}); status != 200 {
		t.Errorf("what is encoded is refused: %d %s", status, body)
	}
}

// refused checks that administrators get status 400 with these words.
func refused(t *testing.T, f *fort, method, path, says string) {
	t.Helper()
	status, body := f.try(t, attack{admin: true, method: method, path: path, header: bearing(adminKey)})
	if status != 400 || !strings.Contains(body, says) {
		t.Errorf("%s %s: %d %s, not 400 with %q", method, path, status, body, says)
	}
}
