//go:build unix

package serve

import (
	"os"
	"os/exec"
	"syscall"
)

// inGroup gives a program a process group, so that signals reach the programs that it starts too. A program at a terminal
// stays in ours, which is the one that the terminal talks to.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the process group of a program.
func signalGroup(p *os.Process, s os.Signal) {
	if number, ok := s.(syscall.Signal); !ok || syscall.Kill(-p.Pid, number) != nil {
		_ = p.Signal(s)
	}
}
