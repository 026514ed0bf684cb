//go:build unix

package main

import (
	"bytes"
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

	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/tool/builtin"
)

// TestMain lets the test binary run as the program. Tests can then use real processes with signals, pipes and
// terminals.
func TestMain(m *testing.M) {
	builtin.Supervise()
	mcptest.Main()
	beforeCommand = clitest.RecordCommand
	if os.Getenv("TOOLPOST_BE_THE_PROGRAM") == "1" {
		if d, err := time.ParseDuration(os.Getenv("TOOLPOST_TEST_SETTLE")); err == nil {
			ask.Settle = d
		}
		if os.Getenv("TOOLPOST_TEST_LIMIT_STACK") != "" {
			go limitStack()
		}
		main()
	}
	state, err := os.MkdirTemp("", "toolpost-state")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state)       // tests must not write to the user's store
	os.Setenv("GORACE", "atexit_sleep_ms=0") // programs do not sleep at exit under the race detector
	testkit.MostlyWait()
	code := clitest.RunAll(m, newRoot, "toolpost eval ", "toolpost models drift") // package evaluate tests these
	os.RemoveAll(state)
	os.Exit(code)
}

// program returns the program as a separate process, with the environment of the test.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return thisMachine().program(args...)
}

// ended describes the end of a process.
type ended struct {
	code   int
	signal os.Signal // the signal that ended it, if any
	errOut string
	took   time.Duration
}

// longWait limits how long tests wait for something that should happen at once. Deliberate delays are far longer, and
// no machine is this slow.
const longWait = 2 * time.Minute

// await waits for a process, up to a limit.
func await(t *testing.T, cmd *exec.Cmd, errOut *bytes.Buffer) ended {
	t.Helper()
	began := time.Now()
	timer := time.AfterFunc(longWait, func() { cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	e := ended{code: cmd.ProcessState.ExitCode(), errOut: errOut.String(), took: time.Since(began)}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = status.Signal()
	}
	return e
}

// clear checks that a process failed by itself, with one line that explains why.
func (e ended) clear(t *testing.T, want string) {
	t.Helper()
	e.with(t, cli.ExitFailed, want)
}

// with checks that a process ended by itself, with the given status and one line that explains why.
func (e ended) with(t *testing.T, code int, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(e.errOut), "\n")
	last := lines[len(lines)-1]
	if e.code != code || !strings.HasPrefix(last, "toolpost: ") || !strings.Contains(last, want) || strings.Contains(e.errOut, "goroutine") {
		t.Errorf("exit %d after %v, want a line with %q:\n%s", e.code, e.took, want, e.errOut)
	}
}

// start starts a process and returns its standard error.
func start(t *testing.T, cmd *exec.Cmd) *bytes.Buffer {
	t.Helper()
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &errOut
}

// begun waits for a record that contains a word.
func begun(t *testing.T, word string) {
	t.Helper()
	for deadline := time.Now().Add(longWait); time.Now().Before(deadline); {
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
	for deadline := time.Now().Add(longWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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
			cmd := program(t, "run", "-m", "sim/native+stall=10m", fruitTask)
			errOut := start(t, cmd)
			begun(t, `"request"`)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			e := await(t, cmd, errOut)
			e.with(t, code, "interrupted: toolpost run --resume ")
			m := resumable.FindStringSubmatch(e.errOut)
			if m == nil {
				t.Fatal(e.errOut)
			}
			if v := toolpost(t, "", "receipts", "verify", m[1]); !strings.Contains(v.out, "open") {
				t.Errorf("verify: %+v", v)
			}
			r := toolpost(t, "", "run", "-m", "sim/native", "--resume", m[1])
			if r.code != cli.ExitOK || !strings.Contains(r.out, "Apples keep for weeks.") {
				t.Errorf("resume: %+v", r)
			}
			if v := toolpost(t, "", "receipts", "verify", m[1]); v.code != cli.ExitOK || !strings.Contains(v.out, "sealed") {
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
			interruptOnce(t, newMachine(t, nil), syscall.SIGTERM, args...)
		})
	}
}

// TestInterruptDuringToolCall: the signal also ends the tool, and the record mentions it.
func TestInterruptDuringToolCall(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall run_command {\"program\":\"sh\",\"args\":[\"-c\",\"touch runs; sleep 3333.5\"]}\n-- 2 --\ntext Done.\n"})
	cmd := program(t, "run", "-m", "sim/script:s.txtar", "--allow", "exec", "--yes", "sleep")
	errOut := start(t, cmd)
	appears(t, "runs")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	e := await(t, cmd, errOut)
	e.with(t, cli.ExitInterrupted, "interrupted: toolpost run --resume ")
	m := resumable.FindStringSubmatch(e.errOut)
	if m == nil {
		t.Fatal(e.errOut)
	}
	if r := toolpost(t, "", "receipts", "show", m[1]); !strings.Contains(r.out, "run_command unknown") {
		t.Errorf("no receipt of the call that was stopped:\n%s", r.out)
	}
}

// TestResumeOfALiveRun is refused at once, by run and chat, with process and host of the owner, even if the owner is stopped. The run
// itself is not affected.
func TestResumeOfALiveRun(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall run_command {\"program\":\"sh\",\"args\":[\"-c\",\"echo x >>effects; until [ -e enough ]; do sleep 0.1; done\"]}\n-- 2 --\ntext Done.\n"})
	cmd := program(t, "run", "-m", "sim/script:s.txtar", "--allow", "exec", "--yes", "go")
	errOut := start(t, cmd)
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
		again := program(t, "run", "-m", "sim/script:s.txtar", "--allow", "exec", "--yes", "--resume", id)
		e := await(t, again, start(t, again))
		refusal := fmt.Sprintf("run %s is at work: process %d on %s", id, cmd.Process.Pid, host)
		e.clear(t, refusal)
		if _, err := exec.LookPath("tmux"); err == nil { // chat needs a terminal
			term := newTerminal(t)
			term.work, _ = os.Getwd()
			term.env["HOME"], term.env["XDG_STATE_HOME"] = os.Getenv("HOME"), os.Getenv("XDG_STATE_HOME")
			term.size([]string{"160", "24"})
			term.enter("toolpost chat -m sim/script:s.txtar --allow exec --yes --resume " + id)
			term.wait("your next message continues it", true)
			term.enter("go on")
			term.wait(fmt.Sprintf("run %s is owned by process %d on %s", id, cmd.Process.Pid, host), true)
		}
	}
	if err := os.WriteFile("enough", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if e := await(t, cmd, errOut); e.code != cli.ExitOK || !strings.Contains(e.errOut, "changed command executed") {
		t.Errorf("the run ended with %+v", e)
	}
	if b, _ := os.ReadFile("effects"); string(b) != "x\n" {
		t.Errorf("the effects are %q", b)
	}
	if v := toolpost(t, "", "receipts", "verify", id); v.code != cli.ExitOK || !strings.Contains(v.out, "sealed") {
		t.Errorf("verify: %+v", v)
	}
}

// TestLockedRecordDoesNotBlockInterrupt: a process that keeps a record locked is named, and a signal ends the program in
// bounded time.
func TestLockedRecordDoesNotBlockInterrupt(t *testing.T) {
	clitest.Bare(t, fruit)
	cmd := program(t, "run", "-m", "sim/native+stall=10m", fruitTask)
	errOut := start(t, cmd)
	begun(t, `"request"`)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, cmd, errOut)
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
	if v := toolpost(t, "", "receipts", "verify", "--allow-open", id); v.code != cli.ExitOK { // reading needs no lock
		t.Errorf("verify: %+v", v)
	}
	e := afterSignal(t, thisMachine(), syscall.SIGTERM, "run", "-m", "sim/native", "--resume", id)
	if e.code != cli.ExitTerminated {
		t.Errorf("it took %v to end: %+v", e.took, e)
	}
	if runtime.GOOS == "linux" && !strings.Contains(e.errOut, "interrupted") && !strings.Contains(e.errOut, fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("nobody is named:\n%s", e.errOut)
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
		cmd := program(t, args...)
		cmd.Stdout = write
		read.Close()
		errOut := start(t, cmd)
		write.Close()
		await(t, cmd, errOut).clear(t, want)
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
		cmd := program(t, "run", fruitTask)
		cmd.Stdout = full
		errOut := start(t, cmd)
		await(t, cmd, errOut).clear(t, "no space left on device; the run was stopped")
	}
	for _, blocks := range []string{"0", "4", "8"} { // no space; space for the start; space for more
		attacks++
		cmd := exec.Command("sh", "-c", `ulimit -f `+blocks+`; exec "$0" "$@"`, os.Args[0], "run", fruitTask)
		cmd.Env = append(os.Environ(), beTheProgram, "TOOLPOST_STORE="+t.TempDir())
		errOut := start(t, cmd)
		await(t, cmd, errOut).clear(t, "the record cannot be written, so nothing more was done")
	}
}

func TestUnreadableConfiguration(t *testing.T) {
	clitest.Bare(t, map[string]string{"dir.yaml/x": "", "secret.yaml": "model: x\n", "bad.yaml": "\x00\xff"})
	for _, file := range []string{"dir.yaml", "bad.yaml", "nowhere.yaml"} {
		cmd := program(t, "run", "--config", file, "hi")
		errOut := start(t, cmd)
		await(t, cmd, errOut).clear(t, file)
	}
	if err := os.Chmod("secret.yaml", 0); err != nil || os.Getuid() == 0 {
		t.Log("the administrator may read everything: the case of a file without permission is left out")
		return
	}
	cmd := program(t, "run", "--config", "secret.yaml", "hi")
	errOut := start(t, cmd)
	await(t, cmd, errOut).clear(t, "permission denied")
}

func TestHugeTask(t *testing.T) {
	clitest.Bare(t, nil)
	cmd := program(t, "run", "-")
	cmd.Stdin = io.LimitReader(endless{}, 10<<20)
	errOut := start(t, cmd)
	await(t, cmd, errOut).clear(t, "the task is longer than 1048576 bytes; put long material into a file")
}

// endless is text without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
