package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// Pipe is the two ends of a client that speaks in lines. The end of its input is
// held back until every request has its answer, or the time to drain is over:
// otherwise a client that writes its requests and closes would get no answers.
type Pipe struct {
	in    io.Reader
	out   io.Writer
	drain time.Duration
	stop  <-chan struct{}

	mu       sync.Mutex
	line     []byte // of the input, read so far
	waiting  int    // requests without an answer
	answered chan struct{}
	closing  sync.Once
	closed   chan struct{}
}

// NewPipe returns the pipe of a client.
func NewPipe(in io.Reader, out io.Writer, drain time.Duration, stop <-chan struct{}) *Pipe {
	return &Pipe{in: in, out: out, drain: drain, stop: stop, answered: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Read implements [io.Reader].
func (p *Pipe) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.count(b[:n])
	if n == 0 && err != nil && errors.Is(err, io.EOF) {
		p.rest()
	}
	if n > 0 {
		return n, nil // the end comes with the next Read
	}
	return n, err
}

// count looks for requests in the bytes that were read.
func (p *Pipe) count(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if len(p.line)+len(line) <= MaxClientFrame { // a longer one ends the connection
			p.line = append(p.line, line...)
		}
		if whole {
			if wantsAnswer(p.line) {
				p.waiting++
			}
			p.line = p.line[:0]
		}
		b = rest
	}
}

// wantsAnswer reports whether a line is a request or a batch.
func wantsAnswer(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '[' {
		return true
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.Unmarshal(line, &m) == nil && len(m.ID) > 0 && m.Method != ""
}

// Write implements [io.Writer]. The SDK writes one message at a time.
func (p *Pipe) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	if err == nil && !wantsAnswer(b) && bytes.Contains(b, []byte(`"id"`)) || bytes.HasPrefix(b, []byte("[")) {
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
		select {
		case p.answered <- struct{}{}:
		default:
		}
	}
	return n, err
}

// rest waits until nothing waits for an answer.
func (p *Pipe) rest() {
	late := time.After(p.drain)
	for {
		p.mu.Lock()
		waiting := p.waiting
		p.mu.Unlock()
		if waiting <= 0 {
			return
		}
		select {
		case <-p.answered:
		case <-late:
			return
		case <-p.stop:
			return
		case <-p.closed:
			return
		}
	}
}

// Close implements [io.Closer]. The streams belong to the caller.
func (p *Pipe) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return nil
}
