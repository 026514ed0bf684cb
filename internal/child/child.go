// Package child runs a program and talks to it by pipes. The program has its own process group, which ends with the
// program or with this process. The end of its stderr is kept.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/contain"
)

// Spec is a program. It gets the variables of Env, NAME=value each, and no others.
type Spec struct {
	Command string
	Args    []string
	Env     []string
	Dir     string
	// Supervised runs it under a supervisor; see [contain.Options].
	Supervised bool
}

// Process is a program that runs, or has ended.
type Process struct {
	Stdin  *os.File
	Stdout *os.File
	Stderr Tail

	cancel context.CancelFunc
	ended  chan struct{}
	err    error // how it ended; to be read after ended
}

// Start starts a program. If that fails, the returned process has already ended; see [Process.Err].
func Start(s Spec) (*Process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), stdin.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Process{Stdin: stdin, Stdout: stdout, cancel: cancel, ended: make(chan struct{})}
	cmd := exec.CommandContext(ctx, s.Command, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, slices.Clone(s.Env)
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would inherit this process's environment
	}
	slices.Sort(cmd.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, &p.Stderr
	go func() {
		defer close(p.ended)
		defer cancel()
		p.err = contain.Options{Supervised: s.Supervised}.Run(cmd)
		// Only now: before the start, the program does not have them yet.
		childIn.Close()
		childOut.Close()
	}()
	return p, nil
}

// Ended is closed when nothing of the program runs any more.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err is how the program ended: nil if well, or while it runs.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return p.err
	default:
		return nil
	}
}

// Cancel ends the program by force, without waiting for it.
func (p *Process) Cancel() { p.cancel() }

// Patience is how long a program may take to end by itself.
const Patience = 2 * time.Second

// Close ends the program: first by closing its input, then by force.
func (p *Process) Close() error {
	err := p.Stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	select {
	case <-p.ended:
	case <-time.After(Patience):
		p.cancel()
	}
	return err
}

// Kill ends the program by force and waits until it has ended.
func (p *Process) Kill() {
	p.cancel()
	<-p.ended
	_ = p.Stdin.Close()
	_ = p.Stdout.Close()
}

// Why returns, for people, how the program ended and its last output to stderr. It is empty while the program runs.
func (p *Process) Why() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	said := p.Stderr.LastLines(3)
	var unknown *exec.Error
	var exit *exec.ExitError
	text := "the program ended"
	switch {
	case errors.As(p.err, &unknown):
		return fmt.Sprintf("%s cannot be started: %v", unknown.Name, unknown.Err)
	case errors.As(p.err, &exit):
		text = "the program ended with " + exit.String()
	case p.err != nil && !errors.Is(p.err, context.Canceled):
		text = "the program failed: " + p.err.Error()
	}
	return strings.TrimSuffix(text+"; it said: "+said, "; it said: ")
}

// maxTail is how much a Tail keeps.
const maxTail = 16 << 10

// Tail keeps the end of its input. Writing never fails, because the program must not be affected.
type Tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool // something before kept is gone
}

// Write implements [io.Writer].
func (l *Tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	l.cut = l.cut || len(l.kept)+len(b) > maxTail
	b = b[max(0, len(b)-maxTail):]
	l.kept = append(l.kept, b...)
	if over := len(l.kept) - maxTail; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	return n, nil
}

// String returns the kept text in a form that is safe for a terminal. It begins with a whole word, because half of a
// secret would not be recognised.
func (l *Tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := PlainText(string(l.kept))
	if l.cut {
		if i := strings.IndexAny(text, " \t\n"); i >= 0 {
			return text[i+1:]
		}
		return ""
	}
	return text
}

// LastLines returns the last n lines that are not empty, as one line. Callers redact it first and then shorten it.
func (l *Tail) LastLines(n int) string {
	lines := slices.DeleteFunc(strings.Split(l.String(), "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}
