package mcpbridge

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/contain"
)

// maxFrame bounds one message of a server.
const maxFrame = 16 << 20

// A process is a server that we started. It has a process group of its own and, on
// Linux, a supervisor, so that all it started ends with it and with us.
type process struct {
	*child.Process
	write time.Duration // how long it may take to read what we send
	noise child.Tail    // what it printed where messages belong
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
	return &process{Process: p, write: s.callTimeout()}, nil
}

// Connect implements [mcp.Transport].
func (p *process) Connect(ctx context.Context) (mcp.Connection, error) {
	from := newLines(p.Stdout, func(line []byte) []byte { return message(line, &p.noise) })
	return (&mcp.IOTransport{Reader: struct {
		io.Reader
		io.Closer
	}{from, p.Stdout}, Writer: p, MaxLineLength: maxFrame}).Connect(ctx)
}

// Write sends to the program. One that does not read what it is sent is ended:
// others wait to write. Pipes of Windows have no deadlines.
func (p *process) Write(b []byte) (int, error) {
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

// The text of a server is shown without what a terminal would obey, and bounded.
func plainText(text string) string   { return child.PlainText(text) }
func clip(text string, n int) string { return child.Clip(text, n) }
func isControl(r rune) bool          { return child.IsControl(r) }
