//go:build !unix && !windows

package contain

import "os/exec"

// A group is only a program: this system cannot group it with the processes it
// starts.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd} }

func (g *group) start() error { return g.cmd.Start() }

func (g *group) end() error { return nil }

func (g *group) close() {}

func (g *group) wake() {}
