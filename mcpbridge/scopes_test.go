package mcpbridge_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// attempt calls a tool as a run does, and returns what the call or the start of the
// server says.
func attempt(t *testing.T, dir string, s config.ServerConfig) error {
	t.Helper()
	servers, _ := open(t, client.Options{Dir: dir}, s)
	defer servers.Close()
	if err := servers.Connect(t.Context(), s.Name); err != nil {
		return err
	}
	_, err := call(t, toolsOf(t, servers), s.Name+"__echo", `{"text":"hello"}`)
	return err
}

// TestLoginsForLaterRequests: a server may let the first request in and want a token
// only for the list, or only for a call, and more scopes for one than for the other.
// Whoever does what is said gets there.
func TestLoginsForLaterRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		scopes map[string]string
		want   []string // the scopes of each login
	}{
		{"the list", map[string]string{"tools/list": "basic", "tools/call": "basic"}, []string{"basic"}},
		{"a call", map[string]string{"tools/call": "write"}, []string{"write"}},
		{"more for the list", map[string]string{"server/discover": "hello", "initialize": "hello", "tools/list": "basic", "tools/call": "basic"}, []string{"hello", "basic hello"}},
		{"more for a call", map[string]string{"tools/list": "basic", "tools/call": "write"}, []string{"basic", "basic write"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, s, o := protected(t, "")
			a.Scopes = c.scopes
			for range 4 {
				err := attempt(t, o.Dir, s)
				if err == nil {
					break
				}
				if !strings.Contains(err.Error(), "'toolpost mcp login mine'") {
					t.Fatalf("it is said: %v", err)
				}
				var e *tool.Error
				if errors.As(err, &e) && e.Code == tool.Uncertain {
					t.Errorf("a call that was refused is in doubt: %v", err)
				}
				if err := client.Login(t.Context(), s, pasting(t, o)); err != nil {
					t.Fatal(err)
				}
			}
			if err := attempt(t, o.Dir, s); err != nil {
				t.Error(err)
			}
			var got []string
			for _, scopes := range a.Agreed() {
				all := slices.DeleteFunc(strings.Fields(scopes), func(s string) bool { return s == "offline_access" })
				slices.Sort(all)
				got = append(got, strings.Join(all, " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the logins asked for %q, want %q", got, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(o.Dir, "tokens", "*"))
			if len(left) != 1 {
				t.Errorf("there is left %s", left)
			}
		})
	}
}

// TestLoginsThatDoNotHelp: a server that is never content ends in words that say so,
// not in another login.
func TestLoginsThatDoNotHelp(t *testing.T) {
	for _, method := range []string{"tools/list", "tools/call", "any"} {
		t.Run(method, func(t *testing.T) {
			a, s, o := protected(t, "never enough "+method)
			a.Scopes = map[string]string{"tools/list": "basic", "tools/call": "write"}
			if method == "any" {
				a.Scopes = nil
			}
			var err error
			for range 5 {
				if err = attempt(t, o.Dir, s); err == nil || !strings.Contains(err.Error(), "'toolpost mcp login mine'") {
					break
				}
				if err = client.Login(t.Context(), s, pasting(t, o)); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), "another login will not help") {
				t.Errorf("it is said: %v", err)
			}
			if n := len(a.Agreed()); n > 2 {
				t.Errorf("a person had to agree %d times", n)
			}
		})
	}
}

// TestChallengesAreForgotten: what a server asked for is kept for the next login only,
// where others cannot read it, and ends with a logout.
func TestChallengesAreForgotten(t *testing.T) {
	a, s, o := protected(t, "")
	a.Scopes = map[string]string{"tools/call": "write"}
	if err := attempt(t, o.Dir, s); err == nil {
		t.Fatal("the call needs no token")
	}
	files, _ := filepath.Glob(filepath.Join(o.Dir, "tokens", "*"))
	if len(files) != 1 {
		t.Fatalf("there are %s", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	moved := s
	moved.URL += "?another"
	if err := client.Login(t.Context(), moved, pasting(t, o)); !errors.Is(err, client.ErrNoLogin) {
		t.Errorf("another address: %v", err)
	}
	if there, err := client.Logout(o.Dir, "mine"); there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	if files, _ := filepath.Glob(filepath.Join(o.Dir, "tokens", "*")); len(files) != 0 {
		t.Errorf("there are %s", files)
	}
}
