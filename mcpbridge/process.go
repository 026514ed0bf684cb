package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/contain"
)

// maxFrame bounds one message of a server.
const maxFrame = 16 << 20

// A process is a server that we started. It has a process group of its own and, on
// Linux, a supervisor, so that all it started ends with it and with us.
type process struct {
	stdin  *os.File
	stdout *os.File
	stderr lastBytes
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing of it runs any more
	err    error         // how it ended; to be read after ended
	write  time.Duration // how long it may take to read what we send
}

// startProcess starts the program of s, whose variables are resolved.
func startProcess(s ServerConfig, supervised bool) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), stdin.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stdin: stdin, stdout: stdout, cancel: cancel, ended: make(chan struct{}), write: s.callTimeout()}
	cmd := exec.CommandContext(ctx, s.Command, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, contain.PlainEnv()
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	slices.Sort(cmd.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, &p.stderr
	go func() {
		defer close(p.ended)
		defer cancel()
		p.err = contain.Options{Supervised: supervised}.Run(cmd)
		// Only now: before, the program may not have them yet.
		childIn.Close()
		childOut.Close()
	}()
	return p, nil
}

// Connect implements [mcp.Transport].
func (p *process) Connect(ctx context.Context) (mcp.Connection, error) {
	return (&mcp.IOTransport{Reader: p.stdout, Writer: p, MaxLineLength: maxFrame}).Connect(ctx)
}

// Write sends to the program. One that does not read what it is sent is ended:
// others wait to write. Pipes of Windows have no deadlines.
func (p *process) Write(b []byte) (int, error) {
	if err := p.stdin.SetWriteDeadline(time.Now().Add(p.write)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	n, err := p.stdin.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.cancel()
		err = errors.New("the server does not read what it is sent")
	}
	return n, err
}

// patience is how long a program may take to end by itself.
const patience = 2 * time.Second

// Close ends the program: first by closing its input, then by force.
func (p *process) Close() error {
	err := p.stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.cancel()
	}
	return err
}

// kill ends the program and waits until it has.
func (p *process) kill() {
	p.cancel()
	<-p.ended
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}

// why says how the program ended and the last it wrote to stderr, for a person.
func (p *process) why() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	said := p.stderr.lastLines(3)
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

// maxStderr is how much of what a server writes to stderr is kept: the end of it.
const maxStderr = 16 << 10

// lastBytes keeps the end of what is written to it. It never fails: a program must
// not notice.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements [io.Writer].
func (l *lastBytes) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	b = b[max(0, len(b)-maxStderr):]
	l.kept = append(l.kept, b...)
	if over := len(l.kept) - maxStderr; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	return n, nil
}

// String returns what was kept as text that a terminal can show.
func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return plainText(string(l.kept))
}

func (l *lastBytes) lastLines(n int) string {
	lines := slices.DeleteFunc(strings.Split(l.String(), "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
	return clip(strings.Join(lines[max(0, len(lines)-n):], " / "), 400)
}

var _ io.WriteCloser = (*process)(nil)

// plainText takes what a terminal would obey out of text.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case isControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// clip cuts text to n bytes, between two runes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
