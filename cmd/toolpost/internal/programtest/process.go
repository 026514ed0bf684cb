//go:build unix

package programtest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Program returns the program as a separate process, with the environment of the test.
func Program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return ThisMachine().Program(args...)
}

// Ended describes the end of a process.
type Ended struct {
	Code   int
	Signal os.Signal // the signal that ended it, if any
	ErrOut string
	Took   time.Duration
}

// Await waits for a process, up to a limit.
func Await(t *testing.T, cmd *exec.Cmd, errOut *bytes.Buffer) Ended {
	t.Helper()
	began := time.Now()
	timer := time.AfterFunc(LongWait, func() { cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	e := Ended{Code: cmd.ProcessState.ExitCode(), ErrOut: errOut.String(), Took: time.Since(began)}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}

// Clear checks that a process failed by itself, with one line that explains why.
func (e Ended) Clear(t *testing.T, want string) {
	t.Helper()
	e.With(t, cli.ExitFailed, want)
}

// With checks that a process ended by itself, with the given status and one line that explains why.
func (e Ended) With(t *testing.T, code int, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(e.ErrOut), "\n")
	last := lines[len(lines)-1]
	if e.Code != code || !strings.HasPrefix(last, "toolpost: ") || !strings.Contains(last, want) || strings.Contains(e.ErrOut, "goroutine") {
		t.Errorf("exit %d after %v, want a line with %q:\n%s", e.Code, e.Took, want, e.ErrOut)
	}
}

// Start starts a process and returns its standard error.
func Start(t *testing.T, cmd *exec.Cmd) *bytes.Buffer {
	t.Helper()
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &errOut
}
