package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

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
	for name, value := range clitest.BareEnv(t.TempDir()) {
		m.env = append(m.env, name+"="+value)
	}
	clitest.WriteFiles(t, m.dir, files)
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

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
