package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/provider"
)

// bareEnv is the environment of a machine where nothing is configured.
func bareEnv(home string) map[string]string {
	env := map[string]string{"TOOLPOST_CONFIG": "", "TOOLPOST_LOCAL": "none", "NO_COLOR": "1"}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData", "USERPROFILE"} {
		env[name] = home
	}
	for _, row := range settingTable {
		if row.env != "" && row.env != "TOOLPOST_LOCAL" {
			env[row.env] = ""
		}
	}
	for _, v := range provider.Vendors() {
		if v.KeyEnv != "" {
			env[v.KeyEnv] = ""
		}
	}
	return env
}

// bare makes the test run as on a machine where nothing is configured, with
// files in the folder it returns, which is also where the test stands.
func bare(t *testing.T, files map[string]string) string {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	for name, value := range bareEnv(home) {
		t.Setenv(name, value)
	}
	t.Chdir(work)
	writeFiles(t, work, files)
	return work
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
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
