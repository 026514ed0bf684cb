//go:build unix

package run_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// begun waits for a record that contains a word.
func begun(t *testing.T, word string) {
	t.Helper()
	for deadline := time.Now().Add(programtest.LongWait); time.Now().Before(deadline); {
		files, _ := filepath.Glob(filepath.Join(settings.StateDir(), "runs", "*.jsonl"))
		for _, file := range files {
			if text, _ := os.ReadFile(file); strings.Contains(string(text), word) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no record with %q", word)
}

// appears waits until a file exists.
func appears(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(programtest.LongWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Fatalf("no file %s", file)
}

var resumable = regexp.MustCompile(`toolpost run --resume (\S+)`)

// TestInterruptDuringAnswer: a run stops at a signal, leaves a record that verifies, and can be resumed.
func TestInterruptDuringAnswer(t *testing.T) {
	for signal, code := range map[os.Signal]int{os.Interrupt: cli.ExitInterrupted, syscall.SIGTERM: cli.ExitTerminated} {
		t.Run(signal.String(), func(t *testing.T) {
			clitest.Bare(t, fruit)
			cmd := programtest.Program(t, "run", "-m", "sim/native+stall=10m", fruitTask)
			errOut := programtest.Start(t, cmd)
			begun(t, `"request"`)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			e := programtest.Await(t, cmd, errOut)
			e.With(t, code, "interrupted: toolpost run --resume ")
			m := resumable.FindStringSubmatch(e.ErrOut)
			if m == nil {
				t.Fatal(e.ErrOut)
			}
			if v := programtest.Run(t, "", "receipts", "verify", m[1]); !strings.Contains(v.Out, "open") {
				t.Errorf("verify: %+v", v)
			}
			r := programtest.Run(t, "", "run", "-m", "sim/native", "--resume", m[1])
			if r.Code != cli.ExitOK || !strings.Contains(r.Out, "Apples keep for weeks.") {
				t.Errorf("resume: %+v", r)
			}
			if v := programtest.Run(t, "", "receipts", "verify", m[1]); v.Code != cli.ExitOK || !strings.Contains(v.Out, "sealed") {
				t.Errorf("verify after resuming: %+v", v)
			}
		})
	}
}

// TestInterruptDuringInput: one signal ends a command that waits for input.
func TestInterruptDuringInput(t *testing.T) {
	for _, args := range [][]string{{"parse"}, {"explain"}, {"parse", "--batch"}, {"tools", "list", "--tools", "-"}, {"tools", "call", "list_files", "-"}, {"run"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			interruptOnce(t, programtest.NewMachine(t, nil), syscall.SIGTERM, args...)
		})
	}
}

// TestInterruptDuringToolCall: the signal also ends the tool, and the record mentions it.
func TestInterruptDuringToolCall(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall run_command {\"program\":\"sh\",\"args\":[\"-c\",\"touch runs; sleep 3333.5\"]}\n-- 2 --\ntext Done.\n"})
	cmd := programtest.Program(t, "run", "-m", "sim/script:s.txtar", "--allow", "exec", "--yes", "sleep")
	errOut := programtest.Start(t, cmd)
	appears(t, "runs")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	e := programtest.Await(t, cmd, errOut)
	e.With(t, cli.ExitInterrupted, "interrupted: toolpost run --resume ")
	m := resumable.FindStringSubmatch(e.ErrOut)
	if m == nil {
		t.Fatal(e.ErrOut)
	}
	if r := programtest.Run(t, "", "receipts", "show", m[1]); !strings.Contains(r.Out, "run_command unknown") {
		t.Errorf("no receipt of the call that was stopped:\n%s", r.Out)
	}
}

// TestResumeOfALiveRun is refused at once, by run and chat, with process and host of the owner, even if the owner is stopped. The run
// itself is not affected.
func TestResumeOfALiveRun(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall run_command {\"program\":\"sh\",\"args\":[\"-c\",\"echo x >>effects; until [ -e enough ]; do sleep 0.1; done\"]}\n-- 2 --\ntext Done.\n"})
	cmd := programtest.Program(t, "run", "-m", "sim/script:s.txtar", "--allow", "exec", "--yes", "go")
	errOut := programtest.Start(t, cmd)
	begun(t, `"kind":"intent"`)
	files, _ := filepath.Glob(filepath.Join(settings.StateDir(), "runs", "*.jsonl"))
	id := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	host, _ := os.Hostname()
	for _, signal := range []os.Signal{nil, syscall.SIGSTOP} {
		if signal != nil {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		again := programtest.Program(t, "run", "-m", "sim/script:s.txtar", "--allow", "exec", "--yes", "--resume", id)
		e := programtest.Await(t, again, programtest.Start(t, again))
		refusal := fmt.Sprintf("run %s is at work: process %d on %s", id, cmd.Process.Pid, host)
		e.Clear(t, refusal)
		if _, err := exec.LookPath("tmux"); err == nil { // chat needs a terminal
			term := programtest.NewTerminal(t)
			term.Work, _ = os.Getwd()
			term.Env["HOME"], term.Env["XDG_STATE_HOME"] = os.Getenv("HOME"), os.Getenv("XDG_STATE_HOME")
			term.Size([]string{"160", "24"})
			term.Enter("toolpost chat -m sim/script:s.txtar --allow exec --yes --resume " + id)
			term.Wait("your next message continues it", true)
			term.Enter("go on")
			term.Wait(fmt.Sprintf("run %s is owned by process %d on %s", id, cmd.Process.Pid, host), true)
		}
	}
	if err := os.WriteFile("enough", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if e := programtest.Await(t, cmd, errOut); e.Code != cli.ExitOK || !strings.Contains(e.ErrOut, "changed command executed") {
		t.Errorf("the run ended with %+v", e)
	}
	if b, _ := os.ReadFile("effects"); string(b) != "x\n" {
		t.Errorf("the effects are %q", b)
	}
	if v := programtest.Run(t, "", "receipts", "verify", id); v.Code != cli.ExitOK || !strings.Contains(v.Out, "sealed") {
		t.Errorf("verify: %+v", v)
	}
}

// TestLockedRecordDoesNotBlockInterrupt: a process that keeps a record locked is named, and a signal ends the program in
// bounded time.
func TestLockedRecordDoesNotBlockInterrupt(t *testing.T) {
	clitest.Bare(t, fruit)
	cmd := programtest.Program(t, "run", "-m", "sim/native+stall=10m", fruitTask)
	errOut := programtest.Start(t, cmd)
	begun(t, `"request"`)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	programtest.Await(t, cmd, errOut)
	files, _ := filepath.Glob(filepath.Join(settings.StateDir(), "runs", "*.jsonl"))
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	if v := programtest.Run(t, "", "receipts", "verify", "--allow-open", id); v.Code != cli.ExitOK { // reading needs no lock
		t.Errorf("verify: %+v", v)
	}
	e := afterSignal(t, programtest.ThisMachine(), syscall.SIGTERM, "run", "-m", "sim/native", "--resume", id)
	if e.Code != cli.ExitTerminated {
		t.Errorf("it took %v to end: %+v", e.Took, e)
	}
	if runtime.GOOS == "linux" && !strings.Contains(e.ErrOut, "interrupted") && !strings.Contains(e.ErrOut, fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("nobody is named:\n%s", e.ErrOut)
	}
}

func TestClosedPipe(t *testing.T) {
	clitest.Bare(t, fruit)
	const stopped = "the reader of the output is gone; the run was stopped"
	for want, args := range map[string][]string{
		stopped:                              {"run", fruitTask}, // the answer is written when it is whole, and the run has ended then
		stopped + ": toolpost run --resume ": {"run", "--json", fruitTask},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := programtest.Program(t, args...)
		cmd.Stdout = write
		read.Close()
		errOut := programtest.Start(t, cmd)
		write.Close()
		programtest.Await(t, cmd, errOut).Clear(t, want)
	}
}

func TestFullDisk(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	clitest.Bare(t, fruit)
	if runtime.GOOS == "linux" {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("there is no /dev/full")
		}
		defer full.Close()
		cmd := programtest.Program(t, "run", fruitTask)
		cmd.Stdout = full
		errOut := programtest.Start(t, cmd)
		programtest.Await(t, cmd, errOut).Clear(t, "no space left on device; the run was stopped")
	}
	for _, blocks := range []string{"0", "4", "8"} { // no space; space for the start; space for more
		attacks++
		cmd := exec.Command("sh", "-c", `ulimit -f `+blocks+`; exec "$0" "$@"`, os.Args[0], "run", fruitTask)
		cmd.Env = append(os.Environ(), programtest.BeTheProgram, "TOOLPOST_STORE="+t.TempDir())
		errOut := programtest.Start(t, cmd)
		programtest.Await(t, cmd, errOut).Clear(t, "the record cannot be written, so nothing more was done")
	}
}

func TestUnreadableConfiguration(t *testing.T) {
	clitest.Bare(t, map[string]string{"dir.yaml/x": "", "secret.yaml": "model: x\n", "bad.yaml": "\x00\xff"})
	for _, file := range []string{"dir.yaml", "bad.yaml", "nowhere.yaml"} {
		cmd := programtest.Program(t, "run", "--config", file, "hi")
		errOut := programtest.Start(t, cmd)
		programtest.Await(t, cmd, errOut).Clear(t, file)
	}
	if err := os.Chmod("secret.yaml", 0); err != nil || os.Getuid() == 0 {
		t.Log("the administrator may read everything: the case of a file without permission is left out")
		return
	}
	cmd := programtest.Program(t, "run", "--config", "secret.yaml", "hi")
	errOut := programtest.Start(t, cmd)
	programtest.Await(t, cmd, errOut).Clear(t, "permission denied")
}

func TestHugeTask(t *testing.T) {
	clitest.Bare(t, nil)
	cmd := programtest.Program(t, "run", "-")
	cmd.Stdin = io.LimitReader(endless{}, 10<<20)
	errOut := programtest.Start(t, cmd)
	programtest.Await(t, cmd, errOut).Clear(t, "the task is longer than 1048576 bytes; put long material into a file")
}

// endless is text without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// interruptOnce starts the program, sends one signal during its work, and checks that it ended with a message about it.
func interruptOnce(t *testing.T, m programtest.Machine, signal os.Signal, args ...string) programtest.Ended {
	t.Helper()
	want := cli.ExitInterrupted
	if signal == syscall.SIGTERM {
		want = cli.ExitTerminated
	}
	e := afterSignal(t, m, signal, args...)
	e.With(t, want, "interrupted")
	return e
}

// afterSignal starts the program, sends one signal during its work, and returns how it ended. If the program did not
// listen for signals yet, it is started again and given more time.
func afterSignal(t *testing.T, m programtest.Machine, signal os.Signal, args ...string) programtest.Ended {
	t.Helper()
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		cmd := m.Program(args...)
		silent, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		errOut := programtest.Start(t, cmd)
		time.Sleep(wait)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if e := programtest.Await(t, cmd, errOut); e.Signal != signal || wait > programtest.LongWait {
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
			m := programtest.NewMachine(t, nil)
			makePipe(t, filepath.Join(m.Dir, "pipe"))
			e := interruptOnce(t, m, syscall.SIGTERM, strings.Fields(row)...)
			t.Logf("it took %v to end", e.Took)
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
	e := interruptOnce(t, programtest.NewMachine(t, map[string]string{"tools.yaml": manyTools(50_000)}), syscall.SIGINT, "run", "-m", "sim/native+stall=10m", "--tools", "tools.yaml", "x")
	t.Logf("it took %v to end", e.Took)
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
			m := programtest.NewMachine(t, nil)
			if _, err := os.Stat("/dev/zero"); err != nil {
				t.Skip(err)
			}
			cmd := m.Program(strings.Fields(row)...)
			programtest.Await(t, cmd, programtest.Start(t, cmd)).Clear(t, "")
			// On Linux, the peak memory of a process includes that of its parent at the start. A program that does
			// nothing shows this part.
			idle := m.Program("version")
			programtest.Await(t, idle, programtest.Start(t, idle))
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
