//go:build !unix && !windows

package contain

import "os/exec"

// A group is a program alone: this system has nothing to hold together what it
// starts.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd} }

func (g *group) start() error { return g.cmd.Start() }

func (g *group) end() error { return nil }

func (g *group) close() {}

func (g *group) wake() {}
