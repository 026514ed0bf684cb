package programtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/llm"
)

// StartServe runs the command until the end of the test, and returns its address.
func StartServe(t *testing.T, args ...string) string {
	t.Helper()
	return StartServeWith(t, io.Discard, args...)
}

// StartServeWith is StartServe with a writer for standard error.
func StartServeWith(t *testing.T, errOut io.Writer, args ...string) string {
	t.Helper()
	url, _ := StartServing(t, errOut, args...)
	return url
}

// StartServing is StartServeWith for tests that stop the command themselves.
func StartServing(t *testing.T, errOut io.Writer, args ...string) (url string, stop func()) {
	t.Helper()
	line, stop := StartUntilLine(t, errOut, append([]string{"serve"}, args...)...)
	_, url, _ = strings.Cut(line, "listening on ")
	return url, stop
}

// StartUntilLine runs a command that serves until the end of the test or until stop is called. It returns the first line
// of its output.
func StartUntilLine(t *testing.T, errOut io.Writer, args ...string) (line string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	cmd := program.New()
	cmd.SetArgs(args)
	cmd.SetOut(in)
	cmd.SetErr(errOut)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx); in.Close() }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cancel
}

// Heard is a model that stores its last request.
type Heard struct {
	llm.Model
	Mu   sync.Mutex
	Last string
}

func (h *Heard) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	h.Mu.Lock()
	h.Last = fmt.Sprint(req.Messages)
	h.Mu.Unlock()
	return h.Model.Stream(ctx, req)
}
