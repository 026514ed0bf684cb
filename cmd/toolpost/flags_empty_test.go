package main

import (
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestEmptyFlagsAreRefused: a flag with an unset variable as value is an error. It does not mean the same as no flag.
func TestEmptyFlagsAreRefused(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a", "--name", "laptop")
	place(t, "gateway.yaml", "gateway:\n  keys: sqlite:keys.db\n  routes: [{model: a, to: [{model: sim/offline}]}]\n")
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"keys", []string{"serve", "--keys", "", "--config", "gateway.yaml"}},
		{"keys", []string{"serve", "--check", "--keys", "", "--config", "gateway.yaml"}},
		{"keys", []string{"serve", "--check", "--json", "--keys=", "--config", "gateway.yaml"}},
		{"addr", []string{"serve", "--addr", "", "--config", "gateway.yaml"}},
		{"addr", []string{"serve", "--check", "--addr", "", "--config", "gateway.yaml"}},
		{"config", []string{"serve", "--config", ""}},
		{"for", []string{"serve", "--for", "", "--config", "gateway.yaml"}},
		{"keys", []string{"keys", "list", "--keys", "", "--config", "gateway.yaml"}},
		{"config", []string{"keys", "list", "--config", ""}},
		{"team", []string{"keys", "create", "--team", "", "--config", "gateway.yaml"}},
		{"models", []string{"keys", "create", "--team", "a", "--models", "", "--config", "gateway.yaml"}},
		{"expires", []string{"keys", "create", "--team", "a", "--expires", "", "--config", "gateway.yaml"}},
		{"grace", []string{"keys", "rotate", "tp-k3f9x2qabc", "--grace", "", "--config", "gateway.yaml"}},
		{"keys", []string{"usage", "--keys", "", "--config", "gateway.yaml"}},
		{"by", []string{"usage", "--by", "", "--config", "gateway.yaml"}},
		{"team", []string{"usage", "--team", "", "--config", "gateway.yaml"}},
		{"request", []string{"usage", "--request", "", "--config", "gateway.yaml"}},
	} {
		must(t, toolpost(t, "", c.args...), 2, "--"+c.flag+" is empty: ")
	}
	if _, err := os.Stat("keys.db"); err != nil {
		t.Error(err)
	}
}

// TestInvalidKeyIsUsageError: an invalid key is a usage error, described in the words of the command.
func TestInvalidKeyIsUsageError(t *testing.T) {
	clitest.Bare(t, nil)
	id := makeKey(t, "--team", "a")[:13]
	for says, args := range map[string][]string{
		"the team is missing":                       {"create"},
		"there are two limits of requests/day":      {"create", "--team", "a", "--limit", "requests/day=1", "--limit", "requests/day=2"},
		"the key would have expired already":        {"create", "--team", "a", "--expires", "2020-01-31"},
		`models: " x" is not a name`:                {"create", "--team", "a", "--models", " x"},
		"it would have expired already":             {"set", id, "--expires", "2020-01-31"},
		"there are two limits of tokens/minute":     {"set", id, "--limit", "tokens/minute=1", "--limit", "tokens/minute=2"},
		"there are two limits of money/month":       {"team", "a", "--limit", "money/month=1", "--limit", "money/month=2"},
		`the team " a" has more than 100 bytes, or`: {"team", " a", "--limit", "money/month=1"},
	} {
		r := toolpost(t, "", append([]string{"keys", "--keys", keysFile}, args...)...)
		must(t, r, 2, says)
		if strings.Contains(r.errOut, "access:") {
			t.Error(r.errOut)
		}
	}
	r := toolpost(t, "", "keys", "revoke", "tp-k3f9x2qabc", "--keys", keysFile)
	must(t, r, 1, "is not there")
	if strings.Contains(r.errOut, "access:") {
		t.Error(r.errOut)
	}
}
