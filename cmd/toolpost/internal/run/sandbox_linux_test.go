package run_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/tool/builtin"
)

// A command that a tool runs finds no key in any process that it can see. None of its child processes survive it.
func TestCommandsAreContained(t *testing.T) {
	const key = "sk-contained-0123456789"
	seconds := fmt.Sprint(5000 + rand.IntN(1e9))
	script := "setsid sleep " + seconds + ` >/dev/null 2>&1 & for f in /proc/[0-9]*/environ; do tr '\0' '\n' <$f; done 2>/dev/null | grep -c ` + key + "; true"
	args, err := json.Marshal(map[string]any{"program": "sh", "args": []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := programtest.Program(t, "tools", "call", "run_command", string(args), "--allow", "exec")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY="+key)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "exit code 0\n0\n") {
		t.Errorf("%v: %s", err, out)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if line, _ := os.ReadFile(f); strings.Contains(string(line), "sleep\x00"+seconds) {
			t.Errorf("%s is left", f)
		}
	}
}

// With --sandbox the programs of built-in and declared tools reach nothing outside the root. Without it they do.
func TestSandboxFlag(t *testing.T) {
	if err := builtin.CanSandbox(); err != nil {
		t.Skip(err)
	}
	base := clitest.Bare(t, nil)
	root := filepath.Join(base, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"outside.txt": "outside", "root/inside.txt": "inside",
		"s.txtar":    "-- 1 --\ncall run_command {\"program\":\"cat\",\"args\":[\"inside.txt\",\"../outside.txt\"]}\n-- 2 --\ncall show {}\n-- 3 --\ntext done\n",
		"tools.yaml": "tools:\n- name: show\n  description: Shows the files.\n  command: [cat, inside.txt, ../outside.txt]\n  effects: [read_only]\n",
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, boxed := range []bool{false, true} {
		cmd := programtest.Program(t, "run", "-m", "sim/script:s.txtar", "--root", "root", "--tools", "tools.yaml", "--allow", "exec", "--yes", "--json", fmt.Sprintf("--sandbox=%v", boxed), "go")
		cmd.Dir = base
		out, err := cmd.CombinedOutput()
		if got := strings.Count(string(out), "insideoutside"); err != nil || (got > 0) == boxed {
			t.Errorf("sandbox %v: %v\n%s", boxed, err, out)
		}
		if boxed && strings.Count(string(out), "Permission denied") < 2 {
			t.Errorf("what was refused is not said:\n%s", out)
		}
	}
}
