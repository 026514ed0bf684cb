//go:build unix

package contain

import (
	"os/exec"
	"syscall"
)

// A group is a program and the processes it started that stay in its separate
// process group. The program is also in a separate session without a terminal:
// it can neither show text that looks like ours nor read typed input.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group {
	g := &group{cmd}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = g.end
	return g
}

// start starts the program.
func (g *group) start() error { return g.cmd.Start() }

// end stops whatever is left of the group.
func (g *group) end() error { return syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }

// close ends the group for good.
func (g *group) close() { _ = g.end() }

// wake continues a stopped program.
func (g *group) wake() { _ = g.cmd.Process.Signal(syscall.SIGCONT) }
