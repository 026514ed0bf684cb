//go:build unix

package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// launched starts a program that stands in for Claude Code, with an empty home. The script runs in the folder dir.
func launched(t *testing.T, script string, args ...string) (m programtest.Machine, cmd *exec.Cmd) {
	t.Helper()
	m = programtest.NewMachine(t, nil)
	bin := filepath.Join(m.Dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	m.Env = append(m.Env, "PATH="+bin+":"+os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-secret", "TOOLPOST_LOCAL=none")
	return m, m.Program(append([]string{"launch", "claude-code"}, args...)...)
}

// TestLaunch: the agent gets the address and names of a gateway that answers while it runs, its arguments, and no key
// for elsewhere. Its exit code is that of the command, and the gateway ends with it.
func TestLaunch(t *testing.T) {
	t.Parallel()
	m, cmd := launched(t, `env > env.tmp && mv env.tmp env
echo "$@" > args
while [ ! -e go ]; do sleep 0.05; done
exit 7
`, "--model", "sim/offline", "--", "-p", "two words")
	errOut := programtest.Start(t, cmd)
	env := await(t, filepath.Join(m.Dir, "env"))
	url := valueOf(env, "ANTHROPIC_BASE_URL")
	for _, name := range []string{"ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"} {
		model := valueOf(env, name)
		resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}`, model)))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || model != "offline" {
			t.Errorf("%s=%s: %d %s", name, model, resp.StatusCode, body)
		}
	}
	if strings.Contains(env, "sk-secret") {
		t.Error("the agent has the key for the vendor")
	}
	if args := await(t, filepath.Join(m.Dir, "args")); args != "-p two words\n" {
		t.Errorf("arguments %q", args)
	}
	programtest.WriteFile(t, filepath.Join(m.Dir, "go"), "")
	if e := programtest.Await(t, cmd, errOut); e.Code != 7 {
		t.Errorf("exit %d\n%s", e.Code, e.ErrOut)
	}
	if _, err := http.Get(url + "/healthz"); err == nil {
		t.Error("the gateway still answers")
	}
}

// TestLaunchPassesSignals: SIGTERM and, without a terminal, Ctrl-C reach the agent, which decides how it ends.
func TestLaunchPassesSignals(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		sent syscall.Signal
		trap string
		code int
	}{
		"TERM":         {syscall.SIGTERM, "trap 'exit 9' TERM", 9},
		"INT":          {syscall.SIGINT, "trap 'exit 8' INT", 8},
		"HUP, no trap": {syscall.SIGHUP, "", 129},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, cmd := launched(t, s.trap+"\n: > ready\nwhile :; do sleep 0.05; done\n", "--model", "sim/offline")
			errOut := programtest.Start(t, cmd)
			await(t, filepath.Join(m.Dir, "ready"))
			if err := cmd.Process.Signal(s.sent); err != nil {
				t.Fatal(err)
			}
			if e := programtest.Await(t, cmd, errOut); e.Code != s.code {
				t.Errorf("exit %d %v, want %d\n%s", e.Code, e.Signal, s.code, e.ErrOut)
			}
		})
	}
}

// TestLaunchSignalsReachChildren: without a terminal a signal also reaches the programs that the agent started.
func TestLaunchSignalsReachChildren(t *testing.T) {
	t.Parallel()
	m, cmd := launched(t, `(trap 'echo got > got; exit 0' TERM; : > ready; while :; do sleep 0.05; done) &
wait
`, "--model", "sim/offline")
	errOut := programtest.Start(t, cmd)
	await(t, filepath.Join(m.Dir, "ready"))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e := programtest.Await(t, cmd, errOut); e.Code != 143 {
		t.Errorf("exit %d\n%s", e.Code, e.ErrOut)
	}
	await(t, filepath.Join(m.Dir, "got"))
}

// TestLaunchRefuses: mistakes are reported before anything starts.
func TestLaunchRefuses(t *testing.T) {
	programtest.OwnHome(t)
	t.Setenv("PATH", t.TempDir())
	programtest.Must(t, programtest.Run(t, "", "launch", "vim"), 2, `nothing is known of "vim"`)
	programtest.Must(t, programtest.Run(t, "", "launch"), 2, "name one agent")
	programtest.Must(t, programtest.Run(t, "", "launch", "codex", "exec"), 2, "after --")
	programtest.Must(t, programtest.Run(t, "", "launch", "zed"), 2, "toolpost serve --for zed")
	programtest.Must(t, programtest.Run(t, "", "launch", "codex"), 1, "Codex is not installed")
}

// await waits for a file and returns its text.
func await(t *testing.T, file string) string {
	t.Helper()
	for end := time.Now().Add(programtest.LongWait); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil && (len(text) > 0 || filepath.Base(file) == "ready") {
			return string(text)
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come", file)
		}
	}
}

func valueOf(env, name string) string {
	for _, line := range strings.Split(env, "\n") {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}
