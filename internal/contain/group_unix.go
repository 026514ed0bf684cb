//go:build unix

package contain

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group of its own, so that stopping it
// stops what it started, too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endGroup(cmd) }
}

// endGroup stops whatever is left of a program's group.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// wake lets a program go on that was stopped.
func wake(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGCONT) }
