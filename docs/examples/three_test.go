package examples

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/sim"
)

// output runs a program of this folder to its end and returns what it printed and
// its exit status.
func output(t *testing.T, program, dir string, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestResume: a process dies in the middle of a call, another one goes on, and the
// record of both verifies and plays again.
func TestResume(t *testing.T) {
	program, dir := build(t, "resume"), t.TempDir()
	if out, code := output(t, program, dir, []string{"CRASH=Oslo"}, "ask", "first", "What is the weather in Oslo?"); code != 9 || strings.Contains(out, "sunny") {
		t.Fatalf("exit status %d: %s", code, out)
	}
	if out, code := output(t, program, dir, nil, "check", "first"); code != 0 || !strings.Contains(out, "verified: open") {
		t.Errorf("exit status %d: %s", code, out)
	}
	if out, code := output(t, program, dir, nil, "go", "first"); code != 0 || out != "get_weather {\"city\":\"Oslo\"} ok\nget_weather says: sunny in Oslo\nfinished\n" {
		t.Errorf("exit status %d: %q", code, out)
	}
	if out, code := output(t, program, dir, nil, "check", "first"); code != 0 || !strings.Contains(out, "verified: sealed") || !strings.Contains(out, "replayed: <nil>") {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestExtract: the third answer of the model is the first that nothing refuses.
func TestExtract(t *testing.T) {
	out, code := output(t, build(t, "extract"), t.TempDir(), []string{"MODEL="})
	if code != 0 || out != "{Ada Oslo} 2026-01-02 [{lamp 2 1990} {cable 1 500}] 4480 card 4242\n" {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestSwitch: each of these formats goes on with what another one began.
func TestSwitch(t *testing.T) {
	program, dir := build(t, "switch"), t.TempDir()
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	openai, claude, gemini := "openai+"+server.URL+"/v1#sim/native", "anthropic+"+server.URL+"/v1#sim/native", "gemini+"+server.URL+"/v1beta#sim/native"
	env := []string{"OPENAI_API_KEY=any", "ANTHROPIC_API_KEY=any", "GEMINI_API_KEY=any"}
	for _, pair := range [][2]string{{openai, claude}, {claude, gemini}, {gemini, openai}} {
		out, code := output(t, program, dir, env, pair[0], pair[1], "What is the weather in Oslo?")
		for _, want := range []string{"turn 1 by " + pair[0] + "\n", "get_weather {\"city\":\"Oslo\"} ok\n", "turn 2 by " + pair[1] + "\n", "sunny in Oslo", "finished 4 messages"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s to %s: exit status %d, no %q in\n%s", pair[0], pair[1], code, want, out)
			}
		}
	}
}
