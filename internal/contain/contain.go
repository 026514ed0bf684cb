// Package contain runs programs and ends all processes that they start together
// with them. It confines them to some folders where the system can, and hides
// the keys of this process from them.
package contain

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// canSupervise is set by Supervise. A program that starts itself as a supervisor without that call would run its own main
// again, and again in there, without an end.
var canSupervise atomic.Bool

var errNoSupervise = errors.New("this program cannot supervise commands: its main must call Supervise first")

// Options configure the containment of a program. The zero value gives it a
// separate group, which is ended with it: on Unix a process group, where a
// process that left it survives, and on Windows a job.
type Options struct {
	// Supervised runs the program under a supervisor, which is a second process
	// of this executable: its main must call Supervise first. All processes
	// that the program started end with it, and with this process, in whatever
	// group or session they are. It has an effect only on Linux.
	Supervised bool
	// Sandbox are the folders that the program may write to; it may read them
	// and the system's folders. None means no limits. It needs Supervised, and
	// is an error where Sandboxed returns one.
	Sandbox []string
}

// patience is the time for a stopped program to end.
const patience = 2 * time.Second

// Run runs a program that exec.CommandContext has prepared, until it and all
// processes that it started have ended. It returns the errors of
// [exec.Cmd.Run]; a program that cannot be started is an *exec.Error.
func (o Options) Run(cmd *exec.Cmd) error {
	cmd.WaitDelay = patience
	g := newGroup(cmd)
	if cmd.Err != nil {
		return cmd.Err
	}
	if len(o.Sandbox) > 0 {
		if !o.Supervised {
			return errors.New("a sandbox needs a supervisor")
		}
		if err := Sandboxed(); err != nil {
			return err
		}
	}
	if o.Supervised && supervises {
		if !canSupervise.Load() {
			return errNoSupervise
		}
		return o.supervised(cmd, g)
	}
	if err := g.start(); err != nil {
		return err
	}
	defer g.close()
	return cmd.Wait()
}

// supervised runs a program under a supervisor. The supervisor ends all
// processes when the lifeline is closed, by us or because this process has
// ended.
func (o Options) supervised(cmd *exec.Cmd, g *group) error {
	lifeline, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ours.Close()
	status, theirs, err := os.Pipe()
	if err != nil {
		lifeline.Close()
		return err
	}
	defer status.Close()
	name := cmd.Args[0]
	cmd.Args = supervisorArgs(o.Sandbox, cmd.Path, cmd.Args)
	cmd.Path = self
	cmd.ExtraFiles = []*os.File{lifeline, theirs}
	cmd.Cancel = func() error {
		g.wake() // a program may have stopped its supervisor
		return ours.Close()
	}
	err = cmd.Start()
	lifeline.Close()
	theirs.Close()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	_ = g.end() // a supervisor that was killed
	said, _ := io.ReadAll(io.LimitReader(status, 4<<10))
	if len(said) > 0 {
		return &exec.Error{Name: name, Err: errors.New(string(said))}
	}
	return err
}

// PlainEnv is the part of this process's environment that every program needs,
// without keys, tokens and preferences.
func PlainEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "PATHEXT", "COMSPEC"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "TERM=dumb", "NO_COLOR=1")
}
