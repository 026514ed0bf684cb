package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
)

// TestKeysSelectedByName: keys can be selected by name. The error for an unknown name suggests a close one.
func TestKeysSelectedByName(t *testing.T) {
	clitest.Bare(t, nil)
	first := makeKey(t, "--team", "research", "--name", "laptop")[:13]
	must(t, toolpost(t, "", "keys", "revoke", "labtop", "--keys", keysFile), 1, `key "labtop": it is not there: no key has this id or name; did you mean laptop?`)
	must(t, toolpost(t, "", "keys", "set", "laptop", "--limit", "requests/day=5", "--keys", keysFile), 0, first)
	must(t, toolpost(t, "", "keys", "rotate", "laptop", "--keys", keysFile), 0, first)
	second := makeKey(t, "--team", "research", "--name", "laptop")[:13]
	must(t, toolpost(t, "", "keys", "revoke", "laptop", "--keys", keysFile), 1, "several keys have the name", first, second)
	must(t, toolpost(t, "", "keys", "revoke", first, "--keys", keysFile), 0)
	must(t, toolpost(t, "", "keys", "revoke", "laptop", "--keys", keysFile), 0, second)
}

// TestKeysWarnOfUnusedLimits: limits of a team without keys, and bounds without a route, are stored with a
// warning.
func TestKeysWarnOfUnusedLimits(t *testing.T) {
	clitest.Bare(t, nil)
	place(t, "gateway.yaml", "gateway:\n  keys: sqlite:keys.db\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n    - {model: claude-*, to: [{model: anthropic/claude-*}]}\n")
	makeKey(t, "--team", "research")
	must(t, toolpost(t, "", "keys", "team", "reserch", "--limit", "tokens/day=5", "--keys", keysFile), 0, "no key belongs to the team reserch; did you mean research?")
	if r := toolpost(t, "", "keys", "team", "research", "--limit", "tokens/day=5", "--keys", keysFile); r.code != 0 || r.errOut != "" {
		t.Errorf("%d %s", r.code, r.errOut)
	}
	for args, says := range map[string]string{
		"--models fats":            "--models: no route of the configuration is for fats; did you mean fast?",
		"--models gpt-*,fast":      "--models: no route of the configuration is for gpt-*",
		"--routes claude-sonnet":   "--routes: no route of the configuration is for claude-sonnet",
		"--models claude-sonnet":   "",
		"--models c*":              "",
		"--models *fast,claude-*":  "",
		"--routes claude-*,f*":     "",
		"--models claude-*-sonnet": "",
	} {
		r := toolpost(t, "", append([]string{"keys", "create", "--team", "research", "--config", "gateway.yaml"}, strings.Fields(args)...)...)
		if r.code != 0 || says != "" && !strings.Contains(r.errOut, says) || says == "" && strings.Contains(r.errOut, "no route") {
			t.Errorf("%s: %d %s", args, r.code, r.errOut)
		}
	}
}

// TestUsageSince: sums are kept by day, and shorter periods are refused. Requests are listed individually.
func TestUsageSince(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a")
	for args, says := range map[string]string{
		"--since 1m":                   "--since 1m: sums are kept by day",
		"--since 23h":                  "give a day like",
		"--since 2026-11-17T15:00:00Z": "less than one cannot be told",
		"--by request,team":            "--by: request stands alone",
		"--by team,request":            "--by: request stands alone",
	} {
		must(t, toolpost(t, "", append([]string{"usage", "--keys", keysFile}, strings.Fields(args)...)...), 2, says)
	}
	for _, since := range []string{"24h", "1d", "30d", "2026-11-01", "2026-11-01T00:00:00Z"} {
		must(t, toolpost(t, "", "usage", "--since", since, "--keys", keysFile), 0, "nothing was used")
	}
}

// TestTablesFitTerminal: a table is at most as wide as the terminal and keeps the columns that identify its rows. It is
// complete if there is room or no terminal.
func TestTablesFitTerminal(t *testing.T) {
	table := func() [][]string {
		return [][]string{{"KEY", "TEAM", "NAME", "TOOLS", "LIMITS"},
			{"tp-k3f9x2qabc", "research", "a laptop with a long name", "all", "money/month=50.00 requests/minute=60"},
			{"tp-aaaaaaaaaa", "ops", "-", "all", "none"}}
	}
	for width, lacks := range map[int]string{0: "", 200: "", 80: "TOOLS", 60: "TOOLS", 40: "TOOLS NAME", 14: "TOOLS NAME LIMITS"} {
		got, left := keys.Fitted(table(), width, []string{"KEY"}, []string{"TOOLS", "NAME", "LIMITS"})
		if strings.Join(left, " ") != lacks || got[1][0] != "tp-k3f9x2qabc" {
			t.Errorf("%d: %v %v", width, left, got)
		}
		if width > 20 && keys.TableWidth(got) > width {
			t.Errorf("%d: %d", width, keys.TableWidth(got))
		}
		for _, row := range got {
			for _, cell := range row {
				if !utf8.ValidString(cell) || cell == "" {
					t.Errorf("%d: %q", width, cell)
				}
			}
		}
	}
}
