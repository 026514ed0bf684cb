package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// Machine is a machine without any configuration, for the processes of a parallel test. Unlike clitest.Bare, it does not change
// the environment or the folder of the test.
type Machine struct {
	Dir string // start folder of programs
	Env []string
}

// NewMachine returns a machine whose folder holds the given files.
func NewMachine(t *testing.T, files map[string]string) Machine {
	t.Helper()
	m := Machine{Dir: t.TempDir(), Env: append(os.Environ(), BeTheProgram)}
	for name, value := range clitest.BareEnv(t.TempDir()) {
		m.Env = append(m.Env, name+"="+value)
	}
	clitest.WriteFiles(t, m.Dir, files)
	return m
}

// Program returns the program as a separate process of the machine.
func (m Machine) Program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = m.Dir, m.Env
	return cmd
}

// ThisMachine returns the machine with the environment of the test.
func ThisMachine() Machine { return Machine{Env: append(os.Environ(), BeTheProgram)} }

// BeTheProgram makes the test binary run as the program: see Main.
const BeTheProgram = "TOOLPOST_TEST_PROGRAM=1"

// Path returns a folder for $PATH with the program as "toolpost".
func Path(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s exec '%s' \"$@\"\n", BeTheProgram, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "toolpost"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
}

// ModuleRoot returns the folder of the module. Tests of a package start in a folder below it.
func ModuleRoot(t *testing.T) string {
	t.Helper()
	if moduleRoot == "" {
		t.Fatal("the tests did not start below a go.mod")
	}
	return moduleRoot
}

// Place writes a file, and the folders above it.
func Place(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// OwnHome gives the test a separate home folder, to isolate it from the user's files.
func OwnHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	t.Setenv("TOOLPOST_MODELS", "")
	return dir
}

// WriteFile writes a file into a folder that exists.
func WriteFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// moduleRoot is the folder of go.mod above the start folder of the tests. Tests change their folder later.
var moduleRoot = folderAbove("go.mod")

func folderAbove(file string) string {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}
