//go:build !unix

package serve

import (
	"os"
	"os/exec"
)

func inGroup(*exec.Cmd) {}

func signalGroup(p *os.Process, s os.Signal) { _ = p.Signal(s) }
