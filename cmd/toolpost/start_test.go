package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/testkit"
)

// released builds the command like a release.
func released(t *testing.T) string {
	t.Helper()
	command := filepath.Join(t.TempDir(), "toolpost.exe")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return command
}

// TestStartAndSize reports the start time of the released command. It fails if the command is large or allocates much
// before main. The start time depends on the machine; the allocations do not.
func TestStartAndSize(t *testing.T) {
	testkit.Long(t, "it builds the command again")
	command := released(t)
	fastest := time.Hour
	for range 30 {
		start := time.Now()
		if out, err := exec.Command(command, "version").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		fastest = min(fastest, time.Since(start))
	}
	info, err := os.Stat(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("toolpost version takes %v; the command has %.1f MB", fastest.Round(100*time.Microsecond), float64(info.Size())/1e6)
	if bytes, allocations := initCost(t, command); bytes > 4e6 || allocations > 40_000 {
		t.Errorf("before main it allocates %d bytes in %d pieces", bytes, allocations)
	}
	// A jump above the limit often comes from a package that calls methods by name, like text/template. The linker then
	// keeps all methods of all types.
	//
	// 7.4 MB are the table of word vectors in internal/rank: see docs/design/tool-selection.md. 2.1 MB are the MCP SDK
	// with its JSON parser and its schemas: see docs/design/mcp.md. 4.5 MB are for serving (MCP servers, agent
	// programs, logins, the gateway with its keys, checks, state, repairs, approvals and traces) and for shortening
	// results; 4.1 MB of them were used when this was written. 2 MB are for evaluation, its suites and its page, and for
	// failover, guardrails and reading by evidence. 2.5 MB are for the demo, manual pages, imports of MCP files, the console with its pages, the audit
	// log, metrics of models, coding agents and the rules of strict servers. The total stays under 49 MB.
	if limit := int64(30e6 + 7_430_144 + 2.1e6 + 4.5e6 + 4.5e6); info.Size() > limit {
		t.Errorf("the command has %d bytes, more than %d", info.Size(), limit)
	}
}

// initCost returns the allocations of a command's packages before main.
func initCost(t *testing.T, command string) (bytes, allocations int) {
	t.Helper()
	cmd := exec.Command(command, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range regexp.MustCompile(`(?m)^init .* (\d+) bytes, (\d+) allocs$`).FindAllSubmatch(out, -1) {
		b, _ := strconv.Atoi(string(m[1]))
		a, _ := strconv.Atoi(string(m[2]))
		bytes, allocations = bytes+b, allocations+a
	}
	if allocations == 0 {
		t.Errorf("the trace of a start says nothing:\n%s", out)
	}
	t.Logf("before main it allocates %d bytes in %d pieces", bytes, allocations)
	return bytes, allocations
}
