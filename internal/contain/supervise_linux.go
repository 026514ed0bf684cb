package contain

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervises reports whether there are supervisors.
const supervises = true

// self is this program, even if its file was replaced or removed since it was started.
const self = "/proc/self/exe"

// supervisorName is the name under which this program is its own supervisor.
const supervisorName = "toolpost-supervisor"

// supervisorArgs are the arguments of a supervisor: the number of folders that
// the program may write to, the folders, its file, and its arguments.
func supervisorArgs(sandbox []string, file string, args []string) []string {
	out := append([]string{supervisorName, strconv.Itoa(len(sandbox))}, sandbox...)
	return append(append(out, file), args...)
}

// Supervise makes a program able to supervise others. Call it first in main: in
// a process that is a supervisor it does not return.
func Supervise() {
	canSupervise.Store(true)
	if len(os.Args) < 2 || os.Args[0] != supervisorName {
		return
	}
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 0 || len(os.Args) < n+4 {
		os.Exit(126)
	}
	s := supervisor{lifeline: os.NewFile(3, "lifeline"), status: os.NewFile(4, "status")}
	os.Exit(s.run(os.Args[2:2+n], os.Args[2+n], os.Args[3+n:]))
}

// supervisor runs one program and ends the processes that remain.
type supervisor struct {
	lifeline, status *os.File
}

// run returns the exit code of the program; 128 and the number of the signal if
// one ended it.
func (s *supervisor) run(sandbox []string, file string, args []string) int {
	runtime.LockOSThread() // restrictions of this thread apply to the programs it starts, and to no other thread
	unix.CloseOnExec(int(s.lifeline.Fd()))
	unix.CloseOnExec(int(s.status.Fd()))
	// A program must not end its supervisor by accident. Programs would inherit
	// ignored signals; they do not inherit caught signals.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return s.fail(fmt.Errorf("no supervisor: %w", err))
	}
	if len(sandbox) > 0 {
		if err := restrict(sandbox); err != nil {
			return s.fail(fmt.Errorf("no sandbox: %w", err))
		}
	}
	pid, err := syscall.ForkExec(file, args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		return s.fail(err)
	}
	end := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(io.Discard, s.lifeline)
		end <- struct{}{}
	}()
	var code atomic.Int32
	code.Store(128 + int32(unix.SIGKILL))
	go func() {
		<-end
		endAll(&code)
	}()
	reap(pid, end, &code)
	return int(code.Load())
}

// fail reports why the program could not be started.
func (s *supervisor) fail(err error) int {
	_, _ = s.status.WriteString(err.Error())
	return 126
}

// reap waits for the program and stores its exit code. Then it has all other
// processes ended and waits for them. A process that loses its parent becomes a
// child of this process.
func reap(pid int, end chan<- struct{}, code *atomic.Int32) {
	for {
		var status unix.WaitStatus
		switch got, err := unix.Wait4(-1, &status, 0, nil); {
		case err == unix.EINTR:
		case err != nil: // no children are left
			return
		case got == pid:
			if status.Signaled() {
				code.Store(128 + int32(status.Signal()))
			} else {
				code.Store(int32(status.ExitStatus()))
			}
			end <- struct{}{}
		}
	}
}

// endAll ends the descendants of this process repeatedly, because they may have
// started others meanwhile. The last wait of reap ends the process; if a
// descendant cannot be ended, the process exits at the deadline.
func endAll(code *atomic.Int32) {
	deadline := time.Now().Add(patience / 2)
	for wait := time.Millisecond; time.Now().Before(deadline); wait = min(2*wait, 50*time.Millisecond) {
		for _, pid := range descendants(os.Getpid()) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(wait)
	}
	os.Exit(int(code.Load()))
}

// descendants returns the children of a process and their descendants.
func descendants(of int) []int {
	children := map[int][]int{}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in brackets, may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	var out []int
	for todo := []int{of}; len(todo) > 0; todo = todo[1:] {
		out = append(out, children[todo[0]]...)
		todo = append(todo, children[todo[0]]...)
	}
	return out
}
