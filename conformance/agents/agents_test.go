// Package agents points coding agents that others made at the gateway: each, without a terminal,
// reads, edits and tests a file in a folder of its own. The program, the gateway and the scripted
// upstream are processes of their own.
package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// built is the command, which is built once.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "toolpost-agents-")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "toolpost")
	cmd := exec.Command("go", "build", "-o", built, "./cmd/toolpost")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const (
	broken = "def add(a, b):\n    return a - b\n"
	mended = "def add(a, b):\n    return a + b\n"
	// The test says in a file that it has run, and what it found.
	trial = "from calc import add\nopen('result.txt', 'w').write('passed' if add(2, 3) == 5 else 'failed')\nprint('tested')\n"
	task  = "The function in calc.py is wrong. Read it, mend it and run python3 trial.py."
	last  = "Mended and tested."
)

// upstream is a model behind the gateway.
type upstream struct {
	name, scheme string
	native       bool // its API has tools; else calls stand in its text
}

// upstreams returns those that a program is tried with: one in its own format, one in another, and one
// that has no tools.
func upstreams(format string) []upstream {
	other := upstream{"another format", "anthropic", true}
	if format == "messages" {
		other.scheme = "openai"
	}
	own := map[string]string{"chat": "vllm", "responses": "openai", "messages": "anthropic", "gemini": "gemini"}[format]
	return []upstream{{"its own format", own, true}, other, {"no tools", "vllm", false}}
}

func TestCodingAgents(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			program := a.find(t)
			for _, up := range upstreams(a.format) {
				t.Run(up.name, func(t *testing.T) { a.try(t, program, up) })
			}
		})
	}
}

// try has a program do the task with an upstream.
func (a agent) try(t *testing.T, program string, up upstream) {
	home, work := t.TempDir(), t.TempDir()
	write(t, work, map[string]string{"calc.py": broken, "trial.py": trial})
	sim := listen(t, home, "sim", "--addr", "127.0.0.1:0", "--unknown", "sim/native", "--script", a.script(t, work, up))
	gateway := listen(t, home, "serve", "--addr", "127.0.0.1:0", "--config", a.route(t, up, sim))
	fill := strings.NewReplacer("{URL}", gateway, "{HOME}", home, "{WORK}", work, "{MODEL}", a.model, "{TASK}", task)
	for name, text := range a.files {
		write(t, home, map[string]string{name: fill.Replace(text)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var args []string
	for _, arg := range a.args {
		args = append(args, fill.Replace(arg))
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = work, 5*time.Second
	cmd.Env = []string{"PATH=" + path(t), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "CI=1"}
	for _, v := range a.env {
		cmd.Env = append(cmd.Env, fill.Replace(v))
	}
	out, err := cmd.CombinedOutput()
	code, _ := os.ReadFile(filepath.Join(work, "calc.py"))
	result, _ := os.ReadFile(filepath.Join(work, "result.txt"))
	if err != nil || string(code) != mended || string(result) != "passed" || a.says && !strings.Contains(string(out), last) {
		t.Errorf("%v; the test %q, the file:\n%s\nit said:\n%s", err, result, code, tail(out))
	}
}

func tail(b []byte) string { return string(b[max(0, len(b)-4000):]) }

// script writes what the model says: the three calls, each with a word before it, and a last word.
func (a agent) script(t *testing.T, work string, up upstream) string {
	t.Helper()
	text := "A coding agent mends a file.\n"
	for i, s := range a.steps {
		args := strings.ReplaceAll(s.args, "{WORK}", work)
		switch {
		case up.native:
			text += fmt.Sprintf("-- %d --\ntext Step %d.\ncall %s %s\n", i+1, i+1, s.tool, args)
		default:
			if args[0] == '"' {
				args = `{"input":` + args + `}`
			}
			call, err := json.Marshal(map[string]any{"name": s.tool, "arguments": json.RawMessage(args)})
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintf("-- %d.raw --\nStep %d.\n<tool_call>\n%s\n</tool_call>\n", i+1, i+1, call)
		}
	}
	if a.says {
		text += fmt.Sprintf("-- %d --\ntext %s\n", len(a.steps)+1, last)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"script.txtar": text})
	return filepath.Join(dir, "script.txtar")
}

// route writes a configuration that leads every name to the upstream.
func (a agent) route(t *testing.T, up upstream, sim string) string {
	t.Helper()
	tools := "native"
	if !up.native {
		tools = "prompted, style: hermes"
	}
	base, model := sim+"/v1", "sim/native"
	switch {
	case up.scheme == "gemini":
		base = sim + "/v1beta"
	case up.scheme == "openai" && a.format == "responses":
		model = "gpt-5" // which is asked in that format
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"gateway.yaml": fmt.Sprintf("gateway:\n  routes:\n    - model: \"*\"\n      to: [{model: \"%s+%s#%s\", tools: %s}]\n", up.scheme, base, model, tools)})
	return filepath.Join(dir, "gateway.yaml")
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// listen starts the command as a server and returns its address.
func listen(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.Command(built, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home}
	for _, k := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "VLLM"} {
		cmd.Env = append(cmd.Env, k+"_API_KEY=conformance")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	read := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", args[0], strings.Join(said[max(0, len(said)-30):], "\n"))
		}
	})
	lines := bufio.NewScanner(out)
	found := make(chan string, 1)
	go func() {
		defer close(read)
		defer close(found)
		for lines.Scan() {
			said = append(said, lines.Text())
			if a := address.FindString(lines.Text()); a != "" && len(said) < 5 && len(found) == 0 {
				found <- a
			}
		}
	}()
	a, ok := <-found
	if !ok {
		t.Fatalf("%s does not say where it is", args[0])
	}
	return a
}

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
