package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/config"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

func TestConfigInitAndPath(t *testing.T) {
	clitest.Bare(t, nil)
	file := strings.TrimSpace(programtest.Expect(t, cli.ExitOK, []string{"config.yaml"}, "config", "path").Out)
	if _, err := os.Stat(file); err == nil {
		t.Fatal("path made a file")
	}
	programtest.Expect(t, cli.ExitOK, []string{file}, "config", "init")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"is there already"}, "config", "init")
	programtest.Expect(t, cli.ExitOK, nil, "config", "init", "--force")
	programtest.Expect(t, cli.ExitOK, []string{file + " is fine"}, "config", "check")
	text := files(t, file)
	for _, row := range settings.Table { // each setting has an explanation and a valid example
		if !strings.Contains(text, "\n#"+row.Key+":") || strings.HasSuffix(config.ExampleOf(row), ": ") {
			t.Errorf("%s is not in the file", row.Key)
		}
	}
	on := filepath.Join(t.TempDir(), "on.yaml")
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(rest, " ") || strings.HasPrefix(line, "#  ") {
			line = strings.TrimPrefix(line, "#")
		}
		b.WriteString(line)
	}
	os.WriteFile(on, []byte(b.String()), 0o600)
	os.WriteFile(filepath.Join(filepath.Dir(on), "tools.yaml"), []byte(ownYAML), 0o600)
	programtest.Expect(t, cli.ExitOK, []string{"is fine"}, "config", "check", "--config", on)
}

func TestConfigSet(t *testing.T) {
	clitest.Bare(t, nil)
	const start = "# mine\nmodel: a/b   # the small one\n\nallow:\n  - write\n  - exec\n# the end\nmax_turns: 3\nproviders:\n  gpu: {base_url: http://g} # keep\n"
	for _, c := range []struct{ why, start, key, value, want string }{
		{"a value", start, "max_turns", "7", strings.Replace(start, "max_turns: 3", "max_turns: 7", 1)},
		{"a value with a comment behind it", start, "model", "c/d", strings.Replace(start, "model: a/b   # the small one", "model: c/d # the small one", 1)},
		{"a list over several lines", start, "allow", "net", strings.Replace(start, "allow:\n  - write\n  - exec\n", "allow: [net]\n", 1)},
		{"one that is not there", start, "timeout", "10m", start + "timeout: 10m0s\n"},
		{"one that has an example", "# Text.\n#model: x\n#root: .\n", "model", "a/b", "# Text.\n#model: x\nmodel: a/b\n#root: .\n"},
		{"no file", "", "sandbox", "false", "sandbox: false\n"},
		{"a text that YAML would read otherwise", "", "system", "yes: # no", "system: \"yes: # no\"\n"},
		{"a number for a text", "", "model", "007", "model: \"007\"\n"},
		{"a small temperature", "", "temperature", "0", "temperature: 0.0\n"},
		{"no newline at the end", "max_turns: 3", "model", "a/b", "max_turns: 3\nmodel: a/b\n"},
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if c.start != "" {
			os.WriteFile(file, []byte(c.start), 0o640)
		}
		programtest.Expect(t, cli.ExitOK, nil, "config", "set", "--config", file, c.key, c.value)
		if got := files(t, file); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.why, got, c.want)
		}
		if info, err := os.Stat(file); err == nil && c.start != "" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: the mode became %v", c.why, info.Mode())
		}
		got := programtest.Expect(t, cli.ExitOK, nil, "config", "show", "--config", file, "--json", c.key).Out
		var rows []config.PublicSetting
		if err := json.Unmarshal([]byte(got), &rows); err != nil || rows[0].From != file {
			t.Errorf("%s: %s", c.why, got)
		}
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	os.WriteFile(file, []byte(start), 0o600)
	for _, c := range []struct {
		key, value string
		code       int
		says       string
	}{
		{"modle", "x", 2, "did you mean model"}, {"max_turns", "many", 2, "not a number"}, {"max_turns", "0", 2, "1 to 500"}, {"allow", "all", 2, "not one of"},
		{"providers", "x", 2, "parts of its own"}, {"limits", "x", 2, "parts of its own"}, {"temperature", "9", 2, "0 to 2"},
	} {
		programtest.Expect(t, c.code, []string{c.says}, "config", "set", "--config", file, c.key, c.value)
	}
	if got := files(t, file); got != start {
		t.Errorf("a refused value changed the file:\n%s", got)
	}
	programtest.Expect(t, cli.ExitOK, nil, "config", "unset", "--config", file, "allow")
	programtest.Expect(t, cli.ExitOK, nil, "config", "unset", "--config", file, "timeout")
	if got := files(t, file); got != strings.Replace(start, "allow:\n  - write\n  - exec\n", "", 1) {
		t.Errorf("unset:\n%s", got)
	}
	const broken = "model: [\n"
	os.WriteFile(file, []byte(broken), 0o600)
	programtest.Expect(t, cli.ExitFailed, []string{"c.yaml"}, "config", "set", "--config", file, "model", "x")
	if got := files(t, file); got != broken {
		t.Errorf("a broken file was changed:\n%s", got)
	}
}

// config show hides secrets.
func TestConfigShowHidesSecrets(t *testing.T) {
	clitest.Bare(t, map[string]string{"c.yaml": `journal: postgres://me:hunter2-password@db/x
system: The key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789
providers:
  gpu:
    base_url: http://user:swordfish-pass@gpu.example.org/v1
    key_env: GPU_KEY
    headers: {X-Token: header-secret-value}
`})
	t.Setenv("GPU_KEY", "the-value-of-the-gpu-key")
	for _, args := range [][]string{{}, {"--json"}, {"providers"}, {"journal"}, {"system"}} {
		r := programtest.Expect(t, cli.ExitOK, nil, append([]string{"config", "show", "--config", "c.yaml"}, args...)...)
		for _, secret := range []string{"hunter2", "swordfish", "header-secret", "abcdefghijklmnop", "the-value-of"} {
			if strings.Contains(r.Out+r.ErrOut, secret) {
				t.Errorf("config show %v shows %s:\n%s", args, secret, r.Out)
			}
		}
	}
	programtest.Expect(t, cli.ExitOK, []string{"key_env: GPU_KEY (set)", "X-Token", "# c.yaml", "# default"}, "config", "show", "--config", "c.yaml")
	if got := programtest.Expect(t, cli.ExitOK, nil, "config", "show", "max_turns").Out; got != "20\n" {
		t.Errorf("%q", got)
	}
	programtest.Expect(t, cli.ExitUsage, []string{"did you mean max_turns"}, "config", "show", "max_turn")
}
