package connection

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/contain"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// A process is a server that this program started. It has a separate process group and, on Linux, a
// supervisor. Everything that it started ends with it and with this program.
type Process struct {
	*child.Process
	write time.Duration // how long it may take to read what we send
	noise child.Tail    // what it printed where messages belong
	Heard *Heard        // is told of its messages; may be nil

	connect time.Duration // how long it may take to be ready
	asked   *discovery    // nil before Connect
	sending sync.Mutex
}

// StartProcess starts the program of s, whose variables are resolved.
func StartProcess(s config.ServerConfig, supervised bool) (*Process, error) {
	env := contain.PlainEnv()
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	p, err := child.Start(child.Spec{Command: s.Command, Args: s.Args, Env: env, Dir: s.Dir, Supervised: supervised})
	if err != nil {
		return nil, err
	}
	return &Process{Process: p, write: s.CallTimeout(), connect: s.ConnectTimeout()}, nil
}

// Connect implements [mcp.Transport].
func (p *Process) Connect(ctx context.Context) (mcp.Connection, error) {
	out, in := io.Pipe()
	p.asked = &discovery{limit: min(p.connect/2, longSilence), tell: func(line []byte) { _, _ = in.Write(line) }, send: func(line []byte) {
		_, _ = p.send(line) // a program that is gone is noticed elsewhere
	}}
	go p.pump(in)
	return (&mcp.IOTransport{Reader: &heardFrom{out, p}, Writer: p, MaxLineLength: rpc.MaxFrame}).Connect(ctx)
}

// pump passes on the messages of the program, line by line, until it ends.
func (p *Process) pump(to *io.PipeWriter) {
	defer p.asked.end()
	from := rpc.NewLineReader(p.Stdout, rpc.MaxFrame)
	for {
		line, err := from.Next()
		if line = rpc.ServerMessage(line, &p.noise); len(line) > 0 && p.asked.heard(line) {
			p.Heard.message(line)
			if _, err := to.Write(line); err != nil {
				return // the reader has stopped
			}
		}
		if err != nil {
			_ = to.CloseWithError(err)
			return
		}
	}
}

// heardFrom is what the client reads.
type heardFrom struct {
	*io.PipeReader
	process *Process
}

// Close implements [io.Closer].
func (h *heardFrom) Close() error {
	return errors.Join(h.PipeReader.Close(), h.process.Stdout.Close())
}

// Write sends a message to the program.
func (p *Process) Write(b []byte) (int, error) {
	if p.asked != nil && !p.asked.sent(b) {
		return len(b), nil
	}
	return p.send(b)
}

// send writes to the program. A program that does not read its input is ended, because others wait
// to write. Pipes of Windows have no deadlines.
func (p *Process) send(b []byte) (int, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.Stdin.SetWriteDeadline(time.Now().Add(p.write)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	n, err := p.Stdin.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.Cancel()
		err = errors.New("the server does not read what it is sent")
	}
	return n, err
}

var _ io.WriteCloser = (*Process)(nil)

// Printed returns the other text that a program printed, for a person; "" if there is none.
func (p *Process) Printed() string {
	return strings.TrimSpace(p.noise.LastLines(3))
}
