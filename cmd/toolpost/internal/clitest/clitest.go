// Package clitest holds what tests of the command share: a machine without configuration, and tools.
package clitest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// BareEnv is the environment of a machine without any configuration.
func BareEnv(home string) map[string]string {
	env := map[string]string{"TOOLPOST_CONFIG": "", "TOOLPOST_LOCAL": "none", "NO_COLOR": "1"}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData", "USERPROFILE"} {
		env[name] = home
	}
	for _, row := range settings.Table {
		if row.Env != "" && row.Env != "TOOLPOST_LOCAL" {
			env[row.Env] = ""
		}
	}
	for _, v := range provider.Vendors() {
		if v.KeyEnv != "" {
			env[v.KeyEnv] = ""
		}
	}
	return env
}

// Bare runs the test as on a machine without any configuration. It changes to a new folder with the given files and
// returns it.
func Bare(t *testing.T, files map[string]string) string {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	for name, value := range BareEnv(home) {
		t.Setenv(name, value)
	}
	t.Chdir(work)
	WriteFiles(t, work, files)
	return work
}

func WriteFiles(t *testing.T, dir string, files map[string]string) {
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

func ConsentTools(t *testing.T, dir string) *tool.Set {
	t.Helper()
	files, err := builtin.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	other := tool.Tool{Name: "other", Origin: tool.MCP, Source: "a server", Call: func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil }}
	return tool.MustSet(append(files.Tools(), builtin.Command{Dir: dir}.Tool(), builtin.Fetch{}.Tool(), other)...)
}

// Writes records each write.
type Writes struct {
	mu   sync.Mutex
	each []string
}

func (w *Writes) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.each = append(w.each, string(b))
	return len(b), nil
}

func (w *Writes) All() (text string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.each, ""), len(w.each)
}
