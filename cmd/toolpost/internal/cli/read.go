package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// ReadNamed reads a file of at most MaxLine bytes; "-" is standard input.
func ReadNamed(cmd *cobra.Command, file string) (string, error) {
	if file == "-" {
		return ReadAll(StandardInput(cmd), "standard input")
	}
	return ReadBounded(file)
}

// ReadInput reads FILE, or standard input if there is no argument or "-".
func ReadInput(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return ReadBounded(args[0])
	}
	return ReadAll(StandardInput(cmd), "standard input")
}

func ReadBounded(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return ReadAll(f, file)
}

// ReadAll reads a text of at most MaxLine bytes.
func ReadAll(r io.Reader, name string) (string, error) {
	r, done, err := sized(r)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	var b strings.Builder
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			b.Grow(int(min(info.Size(), MaxLine)) + 1)
		}
	}
	_, err = io.Copy(&b, io.LimitReader(r, MaxLine+1))
	if err == nil && b.Len() > MaxLine {
		err = fmt.Errorf("%s is longer than %d bytes", name, MaxLine)
	}
	return b.String(), err
}

// sized returns a pipe with much data as a temporary file, to hold the text in memory only once. The caller calls done.
func sized(r io.Reader) (sized io.Reader, done func(), err error) {
	const little = 8 << 20
	none := func() {}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return r, none, nil
		}
	}
	head, err := io.ReadAll(io.LimitReader(r, little))
	if err != nil || len(head) < little {
		return bytes.NewReader(head), none, err
	}
	temp, err := os.CreateTemp("", "toolpost-*")
	if err != nil {
		return nil, nil, err
	}
	os.Remove(temp.Name()) // on systems that can remove an open file, this leaves no file after a crash
	done = func() {
		temp.Close()
		os.Remove(temp.Name())
	}
	_, err = io.Copy(temp, io.LimitReader(io.MultiReader(bytes.NewReader(head), r), MaxLine+1))
	if err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return temp, done, nil
}

// StandardInput returns the command's input. A blocked read ends with the command's context, because a terminal or a
// pipe may never send more.
func StandardInput(cmd *cobra.Command) io.Reader {
	in := cmd.InOrStdin()
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return in
		}
	}
	return interruptible{cmd.Context(), in}
}

// interruptible is a reader whose Read returns when the context ends. The blocked read cannot be stopped and is
// abandoned, because the program ends then.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	own := make([]byte, len(p)) // p belongs to the caller again when Read returns
	done := make(chan result, 1)
	go func() {
		n, err := r.from.Read(own)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case res := <-done:
		return copy(p, own[:res.n]), res.err
	}
}

// Signalled is the cause of a context that a signal ended.
type Signalled struct{ By os.Signal }

func (s Signalled) Error() string { return "signal: " + s.By.String() }

// Grace is how long an interrupted command may take to end.
const Grace = 500 * time.Millisecond

// begunKey is the context key of an *atomic.Bool: whether the command has begun work that it must finish.
type begunKey struct{}

// MustEnd records that the command has begun work that it must finish after an interruption, like a run with its
// record, or a program.
func MustEnd(ctx context.Context) {
	if begun, ok := ctx.Value(begunKey{}).(*atomic.Bool); ok {
		begun.Store(true)
	}
}

// UntilInterrupted executes a command and returns its exit code. If the context ends, it abandons the command after
// Grace, unless the command called MustEnd. The command may be opening a pipe without a writer, or processing a large
// file, and neither checks the context.
func UntilInterrupted(ctx context.Context, stderr io.Writer, execute func(context.Context) error) int {
	begun := new(atomic.Bool)
	ended := make(chan error, 1)
	go func() { ended <- execute(context.WithValue(ctx, begunKey{}, begun)) }()
	select {
	case err := <-ended:
		return ExitCode(stderr, err)
	case <-ctx.Done():
	}
	for {
		select {
		case err := <-ended:
			return ExitCode(stderr, err)
		case <-time.After(Grace):
			if !begun.Load() {
				return ExitCode(stderr, ctx.Err())
			}
		}
	}
}

// ReadFile reads a file of at most limit bytes.
func ReadFile(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", file, limit)
	}
	return text, err
}
