package config

import (
	"slices"
	"strings"
	"testing"
)

// TestReadServersWithAnchors: a server may have an anchor, be an alias of another, or merge one and say something else besides.
func TestReadServersWithAnchors(t *testing.T) {
	got, err := ReadServers([]byte(`common: &common {command: npx, args: [one]}
mcp_servers:
  a: &a
    <<: *common
    args: [two]
  b: *common
  c: {<<: *a, env: &env {X: "1"}}
  d: {command: x, env: *env}
`))
	if err != nil || len(got) != 4 {
		t.Fatal(got, err)
	}
	for i, want := range []struct {
		command, arg, env string
	}{{"npx", "two", ""}, {"npx", "one", ""}, {"npx", "two", "1"}, {"x", "", "1"}} {
		e := got[i].Entry
		if e.Command != want.command || want.arg != "" && !slices.Equal(e.Args, []string{want.arg}) || e.Env["X"] != want.env {
			t.Errorf("%s: %+v", got[i].Name, e)
		}
	}
}

// TestReadServersInACircle: an anchor that names itself is an error with its line.
func TestReadServersInACircle(t *testing.T) {
	for _, text := range []string{
		"mcp_servers:\n  s: &a {command: x, env: *a}\n", "mcp_servers:\n  s: {command: x, env: &a {A: *a}}\n",
		"mcp_servers:\n  s: {command: x, args: &a [*a]}\n", "mcp_servers:\n  s: &a {<<: *a, command: x}\n",
	} {
		if got, err := ReadServers([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 2: *a names what it is a part of") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
