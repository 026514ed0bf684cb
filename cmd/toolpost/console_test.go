package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestConsole starts the console on a store with a run, and logs in with the token that it prints.
func TestConsole(t *testing.T) {
	t.Setenv("TOOLPOST_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("TOOLPOST_CONSOLE_ACCOUNTS", "")
	store := t.TempDir() + "/runs"
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "sim/native", "--journal", store, "Say hello"), 0)
	link := startConsole(t, "--addr", "127.0.0.1:0", "--journal", store)
	address, token, found := strings.Cut(link, "/login#token=")
	if !found {
		t.Fatalf("no token in %q", link)
	}
	body := loggedIn(t, address, token, "/")
	if !strings.Contains(body, "Say hello") || !strings.Contains(body, "1 to 1 of 1 run") {
		t.Errorf("the run is not listed: %s", body)
	}
}

// TestConsoleWithAccounts has no token of its own.
func TestConsoleWithAccounts(t *testing.T) {
	t.Setenv("TOOLPOST_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("TOOLPOST_CONSOLE_ACCOUNTS", "vera:viewer:0123456789abcdef, ada:admin:fedcba9876543210")
	link := startConsole(t, "--addr", "127.0.0.1:0", "--journal", t.TempDir()+"/runs")
	address, found := strings.CutSuffix(link, "/login")
	if !found {
		t.Fatalf("the link is %q", link)
	}
	if body := loggedIn(t, address, "fedcba9876543210", "/"); !strings.Contains(body, "ada, admin") {
		t.Errorf("not logged in: %s", body)
	}
}

func TestConsoleRefuses(t *testing.T) {
	t.Setenv("TOOLPOST_ADMIN_KEY", "")
	for _, c := range []struct{ accounts, arg, says string }{
		{"", "--addr=0.0.0.0:0", "not a loopback address"},
		{"", "--base=console/", "must begin with a slash"},
		{"", "--gateway=127.0.0.1:8240", "not an http or https address"},
		{"", "--gateway=http://127.0.0.1:8240", "needs the key of an administrator"},
		{"ada:admin:short", "--addr=127.0.0.1:0", "less than 16 bytes"},
		{"ada:root:0123456789abcdef", "--addr=127.0.0.1:0", "viewer, operator or admin"},
		{"ada", "--addr=127.0.0.1:0", "NAME:ROLE:TOKEN"},
	} {
		t.Setenv("TOOLPOST_CONSOLE_ACCOUNTS", c.accounts)
		r := programtest.Run(t, "", "console", c.arg)
		if r.Code == 0 || !strings.Contains(r.ErrOut, c.says) || strings.Contains(r.ErrOut, "0123456789abcdef") {
			t.Errorf("%s %s: %d %s", c.accounts, c.arg, r.Code, r.ErrOut)
		}
	}
}

// startConsole runs the command until the end of the test, and returns the link that it prints.
func startConsole(t *testing.T, args ...string) string {
	t.Helper()
	line, _ := programtest.StartUntilLine(t, io.Discard, append([]string{"console"}, args...)...)
	return strings.TrimPrefix(line, "open ")
}

// loggedIn returns a page for the person with a token.
func loggedIn(t *testing.T, address, token, path string) string {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	req, _ := http.NewRequest(http.MethodPost, address+"/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", address)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp, err = client.Get(address + path); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}
