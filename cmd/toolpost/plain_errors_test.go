package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
)

// TestKeyStoreErrors checks that the keys commands explain problems with the store and how to fix them, as serve
// does.
func TestKeyStoreErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("This is no database, but quite a long text.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{
		"sqlite:":               "--keys: sqlite: names no file; write sqlite:FILE",
		"sqlite:notes.txt":      "--keys: notes.txt is not an SQLite database; name one, or a new file",
		"notes.txt":             "--keys: unknown kind of store; write sqlite:FILE",
		"sqlite:${HOME}/k.db":   "variables are not replaced here",
		"sqlite:no-folder/k.db": "",
	} {
		for _, args := range [][]string{{"keys", "create", "--team", "red"}, {"keys", "team", "red", "--limit", "money/month=1"}, {"keys", "list"}, {"usage"}} {
			makes := args[len(args)-1] != "list" && args[0] == "keys"
			said := want
			if keys == "sqlite:no-folder/k.db" {
				said = map[bool]string{true: "--keys: no-folder/k.db cannot be created: there is no folder no-folder", false: "there are no keys"}[makes]
			} else if strings.Contains(keys, "HOME") && !makes {
				said = "there are no keys" // under that name
			}
			r := toolpost(t, "", append(args, "--keys", keys)...)
			if r.code == cli.ExitOK || !strings.Contains(r.errOut, said) {
				t.Errorf("%v --keys %s: %d %s", args, keys, r.code, r.errOut)
			}
		}
	}
	t.Setenv(keys.StoreEnv, "sqlite:notes.txt")
	must(t, toolpost(t, "", "keys", "list"), 1, keys.StoreEnv+": notes.txt is not an SQLite database")
}

// TestServeDurationErrors checks the errors for durations without a unit, and that mistakes in the environment are not
// attributed to the file.
func TestServeDurationErrors(t *testing.T) {
	dir := t.TempDir()
	for value, want := range map[string]string{
		"0.5": `gateway.drain: "0.5" is not a duration like 90s or 10m: it has no unit; write 0.5s for seconds`,
		"5":   `gateway.drain: "5" is not a duration like 90s or 10m: it has no unit; write 5s for seconds`,
	} {
		file := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(file, []byte("gateway:\n  drain: "+value+"\n  routes: [{model: m, to: [{model: sim/offline}]}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := toolpost(t, "", "serve", "--check", "--config", file); r.code == cli.ExitOK || !strings.Contains(r.errOut, want) {
			t.Errorf("%s: %d %s", value, r.code, r.errOut)
		}
	}
	file := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(file, []byte("gateway:\n  drain: 500ms\n  routes: [{model: m, to: [{model: sim/offline}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "odd")
	for _, test := range []struct{ sampler, arg, want string }{
		{"sometimes", "", `the environment: OTEL_TRACES_SAMPLER is "sometimes", and no such sampler is known; write one of always_off, always_on, `},
		{"traceidratio", "50%", `the environment: OTEL_TRACES_SAMPLER_ARG is "50%", and traceidratio wants the share of traces that are recorded: write a number from 0 to 1`},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", test.sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", test.arg)
		r := toolpost(t, "", "serve", "--check", "--config", file)
		if r.code == cli.ExitOK || !strings.Contains(r.errOut, test.want) || !strings.Contains(r.errOut, "the environment: OTEL_RESOURCE_ATTRIBUTES is not a list") || strings.Contains(r.errOut, "good.yaml") {
			t.Errorf("%s: %d %s", test.sampler, r.code, r.errOut)
		}
	}
}
