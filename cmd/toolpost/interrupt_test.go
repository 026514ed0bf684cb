//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// interruptOnce starts the program, sends one signal during its work, and checks that it ended with a message about it.
func interruptOnce(t *testing.T, m machine, signal os.Signal, args ...string) ended {
	t.Helper()
	want := cli.ExitInterrupted
	if signal == syscall.SIGTERM {
		want = cli.ExitTerminated
	}
	e := afterSignal(t, m, signal, args...)
	e.with(t, want, "interrupted")
	return e
}

// afterSignal starts the program, sends one signal during its work, and returns how it ended. If the program did not
// listen for signals yet, it is started again and given more time.
func afterSignal(t *testing.T, m machine, signal os.Signal, args ...string) ended {
	t.Helper()
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		cmd := m.program(args...)
		silent, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		errOut := start(t, cmd)
		time.Sleep(wait)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if e := await(t, cmd, errOut); e.signal != signal || wait > longWait {
			return e
		}
	}
}

// TestInterruptDuringFileRead: one signal ends a command that waits for a pipe in place of any of its files.
func TestInterruptDuringFileRead(t *testing.T) {
	rows := []string{
		"run --tools pipe x",
		"run --config pipe x",
		"run --output-schema pipe x",
		"run -m sim/script:pipe x",
		"parse pipe",
		"parse --tools pipe",
		"explain pipe",
		"explain --template pipe",
		"repair pipe",
		"repair --schema pipe",
		"validate --schema pipe",
		"schema --vendor openai pipe",
		"tools list --tools pipe",
		"tools audit --tools pipe",
		"tools select --tools pipe x",
		"models show --models pipe gpt-4o",
		"models update --from pipe",
		"sim --script pipe",
		"config check --config pipe",
		"doctor --config pipe",
		"receipts verify --key pipe x",
		"receipts anchor --key pipe anchors",
	}
	for _, row := range rows {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, nil)
			makePipe(t, filepath.Join(m.dir, "pipe"))
			e := interruptOnce(t, m, syscall.SIGTERM, strings.Fields(row)...)
			t.Logf("it took %v to end", e.took)
		})
	}
}

// manyTools returns a file of n tools.
func manyTools(n int) string {
	var b strings.Builder
	b.WriteString("tools:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {name: tool_%d, description: number %d, command: [\"true\"]}\n", i, i)
	}
	return b.String()
}

// TestInterruptDuringToolsFile: one signal ends a run that loads a large file of tools, or starts with it.
func TestInterruptDuringToolsFile(t *testing.T) {
	t.Parallel()
	e := interruptOnce(t, newMachine(t, map[string]string{"tools.yaml": manyTools(50_000)}), syscall.SIGINT, "run", "-m", "sim/native+stall=10m", "--tools", "tools.yaml", "x")
	t.Logf("it took %v to end", e.took)
}

// TestUntilInterrupted: an interrupted command that ignores its context is abandoned, unless it called MustEnd.
func TestUntilInterrupted(t *testing.T) {
	interrupted, stop := context.WithCancel(context.Background())
	stop()
	var errOut strings.Builder
	never := make(chan error)
	if code := cli.UntilInterrupted(interrupted, &errOut, func(context.Context) error { return <-never }); code != cli.ExitInterrupted || errOut.String() != "toolpost: interrupted\n" {
		t.Errorf("exit %d: %s", code, &errOut)
	}
	code := cli.UntilInterrupted(interrupted, &errOut, func(ctx context.Context) error {
		cli.MustEnd(ctx)
		time.Sleep(3 * cli.Grace)
		return nil
	})
	if code != cli.ExitOK {
		t.Errorf("exit %d of a command that was to be waited for", code)
	}
}

// TestEndlessFiles: an endless file is refused and does not fill the memory.
func TestEndlessFiles(t *testing.T) {
	for _, row := range []string{"run --config /dev/zero x", "run --tools /dev/zero x", "sim --script /dev/zero", "receipts verify --key /dev/zero x", "receipts anchor --key /dev/zero x"} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, nil)
			if _, err := os.Stat("/dev/zero"); err != nil {
				t.Skip(err)
			}
			cmd := m.program(strings.Fields(row)...)
			await(t, cmd, start(t, cmd)).clear(t, "")
			// On Linux, the peak memory of a process includes that of its parent at the start. A program that does
			// nothing shows this part.
			idle := m.program("version")
			await(t, idle, start(t, idle))
			if used := peakMemory(cmd) - peakMemory(idle); used > 1<<20 {
				t.Errorf("it used %d KiB of memory", used)
			}
		})
	}
}

// peakMemory returns the peak memory of a finished program in KiB.
func peakMemory(cmd *exec.Cmd) int64 {
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}
