package programtest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/internal/mcptest"
)

// ServerYAML configures this test program as a server.
func ServerYAML(name, kind string) string {
	command, env := mcptest.Command(kind)
	return fmt.Sprintf("  %s:\n    command: %q\n    env: {%s: %q}\n", name, command, mcptest.Variable, env[mcptest.Variable])
}

// Must checks the exit code of a command, and that its output and errors contain some texts.
func Must(t *testing.T, r Result, code int, wants ...string) {
	t.Helper()
	all := r.Out + "\n" + r.ErrOut
	if r.Code != code {
		t.Fatalf("exit code %d, want %d\n%s", r.Code, code, all)
	}
	for _, want := range wants {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q but\n%s", want, all)
		}
	}
}

// Expect runs a command and checks its exit code and output.
func Expect(t *testing.T, code int, wants []string, args ...string) Result {
	t.Helper()
	r := Run(t, "", args...)
	if r.Code != code {
		t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.Code, code, r.Out, r.ErrOut)
	}
	for _, want := range wants {
		if !strings.Contains(r.Out+r.ErrOut, want) {
			t.Errorf("%s: no %q in\n%s%s", strings.Join(args, " "), want, r.Out, r.ErrOut)
		}
	}
	if strings.Contains(r.Out, "\x1b") {
		t.Errorf("%s: control characters in\n%q", strings.Join(args, " "), r.Out)
	}
	return r
}

// StoppedRun starts a run that times out and returns the id to resume. If the run had no time to start, it is given
// more.
func StoppedRun(t *testing.T, args ...string) string {
	t.Helper()
	for limit := 300 * time.Millisecond; ; limit *= 2 {
		r := Run(t, "", append([]string{"run", "--timeout", limit.String()}, args...)...)
		m := regexp.MustCompile(`the time of the run is over: --timeout is ` + limit.String() + `: toolpost run --resume (\S+)`).FindStringSubmatch(r.ErrOut)
		if m != nil && r.Code == cli.ExitFailed {
			return m[1]
		}
		if limit > time.Minute {
			t.Fatalf("%+v", r)
		}
	}
}

// Result is the result of one run of the program.
type Result struct {
	Code        int
	Out, ErrOut string
}

// Run runs the program in this process.
func Run(t *testing.T, stdin string, args ...string) Result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := program.Run(t.Context(), append([]string{}, args...), strings.NewReader(stdin), &out, &errOut)
	return Result{code, out.String(), errOut.String()}
}

// RunID returns the id of the run in a summary.
func RunID(t *testing.T, text string) string {
	t.Helper()
	m := regexp.MustCompile(`receipts verify (\S+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no receipt in\n%s", text)
	}
	return m[1]
}
