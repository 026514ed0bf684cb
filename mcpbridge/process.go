package mcpbridge

import (
	"bufio"
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
)

// A process is a server that this program started. It has a separate process group and, on Linux, a
// supervisor. Everything that it started ends with it and with this program.
type process struct {
	*child.Process
	write time.Duration // how long it may take to read what we send
	noise child.Tail    // what it printed where messages belong

	connect time.Duration // how long it may take to be ready
	asked   *discovery    // nil before Connect
	sending sync.Mutex
}

// startProcess starts the program of s, whose variables are resolved.
func startProcess(s ServerConfig, supervised bool) (*process, error) {
	env := contain.PlainEnv()
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	p, err := child.Start(child.Spec{Command: s.Command, Args: s.Args, Env: env, Dir: s.Dir, Supervised: supervised})
	if err != nil {
		return nil, err
	}
	return &process{Process: p, write: s.callTimeout(), connect: s.connectTimeout()}, nil
}

// Connect implements [mcp.Transport].
func (p *process) Connect(ctx context.Context) (mcp.Connection, error) {
	out, in := io.Pipe()
	p.asked = &discovery{limit: p.connect / 2, tell: func(line []byte) { _, _ = in.Write(line) }, ping: func() {
		_, _ = p.send([]byte(`{"jsonrpc":"2.0","id":` + pingID + `,"method":"ping"}` + "\n")) // a program that is gone is noticed elsewhere
	}}
	go p.pump(in)
	return (&mcp.IOTransport{Reader: &heardFrom{out, p}, Writer: p, MaxLineLength: maxFrame}).Connect(ctx)
}

// pump passes on the messages of the program, line by line, until it ends.
func (p *process) pump(to *io.PipeWriter) {
	defer p.asked.end()
	from := bufio.NewReaderSize(p.Stdout, 64<<10)
	for {
		line, err := boundedLine(from, maxFrame)
		if errors.Is(err, errTooLong) {
			err = errLongLine
		}
		if line = message(line, &p.noise); len(line) > 0 && p.asked.heard(line) {
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
	process *process
}

// Close implements [io.Closer].
func (h *heardFrom) Close() error {
	return errors.Join(h.PipeReader.Close(), h.process.Stdout.Close())
}

// Write sends a message to the program.
func (p *process) Write(b []byte) (int, error) {
	if p.asked != nil {
		p.asked.sent(b)
	}
	return p.send(b)
}

// send writes to the program. A program that does not read its input is ended, because others wait
// to write. Pipes of Windows have no deadlines.
func (p *process) send(b []byte) (int, error) {
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

var _ io.WriteCloser = (*process)(nil)

// patience is how long a program may take to end by itself.
const patience = child.Patience

func isControl(r rune) bool { return child.IsControl(r) }

// printed returns the other text that a program printed, for a person; "" if there is none.
func (p *process) printed() string {
	return strings.TrimSpace(p.noise.LastLines(3))
}
