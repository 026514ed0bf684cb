package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/internal/access"
)

// TestUsageRefusesUnusedFlags: an invalid count, a count without a list, and a duplicate column are refused
// before the store is opened.
func TestUsageRefusesUnusedFlags(t *testing.T) {
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a")
	for args, says := range map[string]string{
		"--by request --last -1":    "--last: -1 is not a number of requests",
		"--by request --last 0":     "--last: 0 is not a number of requests",
		"--by request --last 10001": "--last: 10001 is not a number of requests; it can be 1 to 10000",
		"--last 3":                  "--last says how many requests are listed, and goes only with --by request",
		"--by team --last 3":        "goes only with --by request",
		"--request req_1 --last 3":  "takes no --by, --last",
		"--by team,team":            "--by: team is named twice",
		"--by team,key,team --csv":  "--by: team is named twice",
	} {
		must(t, toolpost(t, "", append([]string{"usage", "--keys", keysFile}, strings.Fields(args)...)...), 2, says)
	}
	must(t, toolpost(t, "", "usage", "--by", "request", "--last", "1", "--keys", keysFile), 0, "the log has no request")
}

// TestUsageRowsAreLines: a name with a line break stays in its row.
func TestUsageRowsAreLines(t *testing.T) {
	var out bytes.Buffer
	cmd := new(cobra.Command)
	cmd.SetOut(&out)
	list := []access.Spend{{Route: "one\ntwo\tthree", Team: "a\r\nb"}, {Route: "plain", Team: "c"}}
	if err := keys.PrintSpend(cmd, list, []access.Grouping{access.ByRoute, access.ByTeam}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "one two three  a␍ b  0") || !strings.HasPrefix(lines[2], "plain          c     0") {
		t.Errorf("%q", lines)
	}
}
