package mcpbridge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// browser opens an address as a person would, and returns where it ended and what it
// showed.
func browser(t *testing.T, address string, follow bool) (ended, shown string) {
	t.Helper()
	last := address
	client := &http.Client{CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		last = req.URL.String()
		if !follow && strings.HasSuffix(req.URL.Path, "/callback") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Get(address)
	if err != nil {
		t.Errorf("the browser: %v", err)
		return last, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return last, string(text)
}

func protected(t *testing.T, fault string) (*mcptest.Authority, config.ServerConfig, client.LoginOptions) {
	t.Helper()
	a := mcptest.NewAuthority(t, mcptest.Ordinary(), fault)
	o := client.LoginOptions{Dir: t.TempDir(), Show: func(address string) { go browser(t, address, true) }}
	return a, config.ServerConfig{Name: "mine", URL: a.URL}, o
}

// pasting is a login in which the person pastes where the browser ended.
func pasting(t *testing.T, o client.LoginOptions) client.LoginOptions {
	var ended string
	o.Show = func(address string) { ended, _ = browser(t, address, false) }
	o.Paste = func(context.Context) (string, error) { return ended + "\n", nil }
	return o
}

// TestLogin logs in to a server, by the port of this machine and by pasting, uses it,
// has the token renewed, and logs out.
func TestLogin(t *testing.T) {
	for _, way := range []string{"loopback", "paste", "metadata"} {
		t.Run(way, func(t *testing.T) {
			a, s, o := protected(t, "")
			switch way {
			case "paste":
				o = pasting(t, o)
			case "metadata":
				o.ClientMetadata = "https://toolpost.example.org/client.json"
			}
			before, told := open(t, client.Options{Dir: o.Dir}, s)
			toolsOf(t, before)
			if !strings.Contains(told.String(), "toolpost mcp login mine") {
				t.Errorf("nobody is told to log in: %s", told)
			}
			before.Close()
			if err := client.Login(t.Context(), s, o); err != nil {
				t.Fatal(err)
			}
			if registered := slices.Contains(a.Asked(), "/register"); registered == (way == "metadata") {
				t.Errorf("asked were %s", a.Asked())
			}
			file := filepath.Join(o.Dir, "tokens", "mine.json")
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the token stands in a file of mode %v, %v", info.Mode(), err)
			}
			use(t, o.Dir, s, "hello")
			a.Revoke() // the token is renewed, and the request made again
			use(t, o.Dir, s, "hello again")
			status, err := client.LoginOf(s, o)
			if err != nil || !status.LoggedIn || !status.Renewed || status.Issued == "" {
				t.Errorf("the status is %+v, %v", status, err)
			}
			if there, err := client.Logout(o.Dir, "mine"); !there || err != nil {
				t.Errorf("there was no login: %v", err)
			}
			if status, _ := client.LoginOf(s, o); status.LoggedIn {
				t.Error("still logged in")
			}
		})
	}
}

func use(t *testing.T, dir string, s config.ServerConfig, text string) {
	t.Helper()
	servers, told := open(t, client.Options{Dir: dir}, s)
	defer servers.Close()
	if err := servers.Connect(context.Background(), s.Name); err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	out, err := call(t, toolsOf(t, servers), s.Name+"__echo", `{"text":"`+text+`"}`)
	if err != nil || textOf(out) != text {
		t.Errorf("%q, %v", textOf(out), err)
	}
}

// TestTokensAreRenewed: a token that is over is renewed before it is used.
func TestTokensAreRenewed(t *testing.T) {
	a, s, o := protected(t, "")
	a.Lifetime = 1
	if err := client.Login(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	use(t, o.Dir, s, "renewed")
	if n := len(slices.DeleteFunc(a.Asked(), func(p string) bool { return p != "/token" })); n < 2 {
		t.Errorf("the token was fetched %d times", n)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "tokens", "mine.json"))
	if err != nil || !strings.Contains(string(text), "refresh-") {
		t.Errorf("%v", err)
	}
}

// TestTokensStayWithTheirServer: a token is for one address. The same name at another
// one does not get it.
func TestTokensStayWithTheirServer(t *testing.T) {
	_, s, o := protected(t, "")
	if err := client.Login(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 16)
	other := mcptest.HTTP(t, mcptest.Ordinary(), func(r *http.Request) {
		if h := r.Header.Get("Authorization"); h != "" {
			seen <- h
		}
	})
	moved := s
	moved.URL = other + "/mcp"
	use(t, o.Dir, moved, "without a token")
	select {
	case h := <-seen:
		t.Errorf("another server got %.12s…", h)
	default:
	}
	if err := client.Login(t.Context(), moved, o); !errors.Is(err, client.ErrNoLogin) {
		t.Errorf("a server that asks nobody: %v", err)
	}
}

// TestHostileAuthorities: whatever is wrong with an authorization server, there is no
// token, and nothing goes where it should not.
func TestHostileAuthorities(t *testing.T) {
	for fault, want := range map[string]string{
		"another issuer":           "does not match issuer",
		"answer of another issuer": "does not match expected issuer",
		"another state":            "state mismatch",
		"no proof":                 "does not implement PKCE",
		"token over http":          "does not use HTTPS",
		"a script as address":      "disallowed scheme",
		"token elsewhere":          "no token was given",
		"endless metadata":         "",
		"another resource":         "",
		"no":                       "it was not agreed to: access_denied",
	} {
		t.Run(fault, func(t *testing.T) {
			a, s, o := protected(t, fault)
			err := client.Login(t.Context(), s, pasting(t, o))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the login says %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "access-") || strings.Contains(err.Error(), "refresh-") || len(err.Error()) > 1000) {
				t.Errorf("the error says too much: %v", err)
			}
			if _, err := os.Stat(filepath.Join(o.Dir, "tokens", "mine.json")); err == nil {
				t.Error("there is a token")
			}
			if stolen := a.Stolen(); len(stolen) > 0 {
				t.Errorf("somebody else got %s", stolen)
			}
		})
	}
}

// TestCallbacksThatAreNotOurs: any page can ask the port of this machine. Without our
// state it gets nothing and ends nothing.
func TestCallbacksThatAreNotOurs(t *testing.T) {
	_, s, o := protected(t, "")
	o.Show = func(address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		back := u.Query().Get("redirect_uri")
		go func() {
			for _, bad := range []string{back + "?code=stolen&state=guessed", back + "?code=stolen", strings.TrimSuffix(back, "callback"), back + "?error=x"} {
				if _, shown := browser(t, bad, true); !strings.Contains(shown, "not the answer") {
					t.Errorf("%s shows %q", bad, shown)
				}
			}
			browser(t, address, true)
		}()
	}
	if err := client.Login(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
}

// TestLoginsOfOthers: what cannot be pasted, programs, and nobody who agrees.
func TestLoginsOfOthers(t *testing.T) {
	_, s, o := protected(t, "")
	paste := pasting(t, o)
	paste.Paste = func(context.Context) (string, error) { return "4/abcdef", nil }
	if err := client.Login(t.Context(), s, paste); err == nil || !strings.Contains(err.Error(), "whole address") {
		t.Errorf("half an address: %v", err)
	}
	if err := client.Login(t.Context(), stdio("one", "ordinary"), o); err == nil || !strings.Contains(err.Error(), "is a program") {
		t.Errorf("a program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Show = func(string) { cancel() }
	if err := client.Login(ctx, s, o); err == nil || !strings.Contains(err.Error(), "there was no answer in time") {
		t.Errorf("nobody: %v", err)
	}
	if _, err := client.Logout(o.Dir, "../mine"); err == nil {
		t.Error("a name that leads elsewhere is accepted")
	}
}
