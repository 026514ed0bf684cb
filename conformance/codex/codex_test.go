// Package codex drives the agent program Codex over the bridge: the program, the bridge and
// the model behind the program, a scripted simulator, are processes of their own.
package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
)

// codex is the installed program.
func codex(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("node_modules/@openai/codex-*/vendor/*/bin/codex")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("no codex: run conformance/run mcp, which installs it")
	}
	file, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// built is the command, which is built once.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "toolpost-codex-")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "toolpost")
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func command(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(built); err == nil {
		return built
	}
	cmd := exec.Command("go", "build", "-o", built, "./cmd/toolpost")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return built
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// simulator starts a simulator that says what a script says, and returns its address.
func simulator(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.txtar")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command(t), "sim", "--addr", "127.0.0.1:0", "--script", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if a := address.FindString(lines.Text()); a != "" {
			go func() {
				for lines.Scan() {
				}
			}()
			return a
		}
	}
	t.Fatal("the simulator does not say where it is")
	return ""
}

const key = "sk-codex-conformance-0123456789"

// settings writes the part of Codex's configuration that names its model.
func settings(t *testing.T, sim, model string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "codex.toml")
	text := fmt.Sprintf("model = %q\nmodel_provider = \"sim\"\n[model_providers.sim]\nname = \"sim\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"SIM_KEY\"\nstream_max_retries = 0\nrequest_max_retries = 0\n", model, sim+"/v1")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// run has the command do a task with Codex. It returns what it printed.
func run(t *testing.T, script, model string, args ...string) (out string, code int) {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "note.txt"), []byte("meet at noon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"model": "agent/codex", "agent_programs": map[string]any{"codex": map[string]any{
		"format": "codex", "command": codex(t), "settings": settings(t, simulator(t, script), model),
		"env": map[string]string{"PATH": os.Getenv("PATH"), "HOME": home, "SIM_KEY": "${SIM_KEY}"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "TOOLPOST_CONFIG=" + file, "PATH=" + os.Getenv("PATH"), "SIM_KEY=" + key, "TMPDIR=" + home}
	toolpost := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), command(t), args...)
		cmd.Env = env
		b, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !asExit(err, &exit) {
			t.Fatal(err)
		}
		return string(b), cmd.ProcessState.ExitCode()
	}
	out, code = toolpost(append([]string{"run", "--root", work}, args...)...)
	if m := regexp.MustCompile(`receipts verify (\S+)`).FindStringSubmatch(out); m != nil && code == 0 {
		if verified, bad := toolpost("receipts", "verify", m[1]); bad != 0 {
			t.Errorf("the receipt is not right: %s", verified)
		}
		if replayed, bad := toolpost("replay", m[1]); bad != 0 {
			t.Errorf("the run is not replayed: %s", replayed)
		}
		shown, _ := toolpost("receipts", "show", m[1])
		out += "\n" + shown
	}
	if left, _ := filepath.Glob(filepath.Join(home, "toolpost-agent-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if files := grep(t, home, key); len(files) > 0 {
		t.Errorf("the key is in %v", files)
	}
	return out, code
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

// grep returns the files below a folder that hold text.
func grep(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte(text)) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Codex does a task with a tool of ours, which our runtime runs and records.
func TestCodexUsesOurTools(t *testing.T) {
	out, code := run(t, `A file is read.
-- 1 --
text Let me look.
call read_file {"path":"note.txt"}
extra responses {"namespace":"mcp__toolpost"}
-- 2 --
text They meet at noon.
`, "sim/native", "When do they meet?")
	for _, want := range []string{"Let me look.", "read_file", "meet at noon", "They meet at noon.", "1 call"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing is said of %q", want)
		}
	}
	if code != 0 || t.Failed() {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// What goes wrong with a tool is told to Codex, and to us.
func TestCodexIsToldWhatFailed(t *testing.T) {
	out, code := run(t, `A file is not there.
-- 1 --
call read_file {"path":"no-such-file.txt"}
extra responses {"namespace":"mcp__toolpost"}
-- 2 --
text There is no such file.
`, "sim/native", "Read it.")
	if code != 0 || !strings.Contains(out, "There is no such file.") || !strings.Contains(out, "not_found") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// The means of Codex itself are off: its model asks for a shell in vain.
func TestCodexHasNothingElse(t *testing.T) {
	dir := t.TempDir()
	out, code := run(t, `A shell is asked for.
-- 1 --
call exec_command {"cmd":"touch `+dir+`/made"}
-- 2 --
call shell {"command":["touch","`+dir+`/made"]}
-- 3 --
call apply_patch {"input":"*** Begin Patch\n*** Add File: made\n+x\n*** End Patch"}
-- 4 --
text I cannot.
`, "sim/native", "Make a file.")
	if made, _ := os.ReadDir(dir); len(made) > 0 || code != 0 || !strings.Contains(out, "I cannot.") {
		t.Errorf("exit %d, made %v:\n%s", code, made, out)
	}
}

// A vendor who refuses is an error that says why.
func TestCodexFails(t *testing.T) {
	out, code := run(t, "Never said.\n-- 1 --\ntext x\n", "sim/native+401", "Anything.")
	if code == 0 || !strings.Contains(out, "the key was not accepted") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// Where nobody runs the tools, Codex has one turn, and all its calls are the caller's.
func TestCodexHasOneTurnWithoutExecutors(t *testing.T) {
	sim := simulator(t, `Two calls in one answer.
-- 1 --
text Let me look.
call weather {"city":"Rome"}
extra responses {"namespace":"mcp__toolpost"}
call weather {"city":"Oslo"}
extra responses {"namespace":"mcp__toolpost"}
-- 2 --
text This must not be said.
`)
	p := agentcli.Program{Name: "codex", Format: "codex", Command: codex(t), Settings: settings(t, sim, "sim/native"), Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "SIM_KEY": key}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	def := llm.ToolDef{Name: "weather", Description: "The weather", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	r, err := llm.Generate(t.Context(), &agentcli.Model{Program: p}, &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.User("Weather?")}, Tools: []llm.ToolDef{def}})
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, c := range r.Message.Calls() {
		calls = append(calls, c.Name+string(c.Args))
	}
	slices.Sort(calls) // Codex begins with either
	if !slices.Equal(calls, []string{`weather{"city":"Oslo"}`, `weather{"city":"Rome"}`}) || r.Finish.Reason != llm.ToolCalls || r.Message.Text() != "Let me look." {
		t.Errorf("%v, %s, %q", calls, r.Finish.Reason, r.Message.Text())
	}
}
