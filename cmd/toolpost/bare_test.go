package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/provider"
)

// bareEnv is the environment of a machine without any configuration.
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

// bare runs the test as on a machine without any configuration. It changes to a new folder with the given files and
// returns it.
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

// machine is a machine without any configuration, for the processes of a parallel test. Unlike bare, it does not change
// the environment or the folder of the test.
type machine struct {
	dir string // start folder of programs
	env []string
}

// newMachine returns a machine whose folder holds the given files.
func newMachine(t *testing.T, files map[string]string) machine {
	t.Helper()
	m := machine{dir: t.TempDir(), env: append(os.Environ(), beTheProgram)}
	for name, value := range bareEnv(t.TempDir()) {
		m.env = append(m.env, name+"="+value)
	}
	writeFiles(t, m.dir, files)
	return m
}

// program returns the program as a separate process of the machine.
func (m machine) program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	return cmd
}

// thisMachine returns the machine with the environment of the test.
func thisMachine() machine { return machine{env: append(os.Environ(), beTheProgram)} }

// beTheProgram makes the test binary run as the program: see TestMain.
const beTheProgram = "TOOLPOST_BE_THE_PROGRAM=1"

// programPath returns a folder for $PATH with the program as "toolpost".
func programPath(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s exec '%s' \"$@\"\n", beTheProgram, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "toolpost"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
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

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
