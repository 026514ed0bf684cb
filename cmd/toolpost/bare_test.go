package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/provider"
)

// bare makes the test run as on a machine where nothing is configured, with
// files in the folder it returns, which is also where the test stands.
func bare(t *testing.T, files map[string]string) string {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	for _, row := range settingTable {
		if row.env != "" {
			t.Setenv(row.env, "")
		}
	}
	for _, v := range provider.Vendors() {
		if v.KeyEnv != "" {
			t.Setenv(v.KeyEnv, "")
		}
	}
	t.Setenv("TOOLPOST_CONFIG", "")
	t.Setenv("TOOLPOST_LOCAL", "none")
	t.Setenv("NO_COLOR", "1")
	t.Chdir(work)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return work
}
