package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/contain"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/tool"
)

// Command is the tool that runs programs. It is dangerous: a program may do
// whatever the user may. Offer it only where a policy decides on each call.
type Command struct {
	// Dir is where programs run; empty means the current folder.
	Dir string
	// Env are the variables that programs get in addition to PATH, HOME, LANG
	// and the system's temporary folder, as NAME=value. All other variables,
	// and therefore keys, are withheld.
	Env []string
	// Timeout limits the running time of a program; 0 means 2 minutes.
	Timeout time.Duration
	// MaxOutput is the number of bytes of output that are kept; 0 means 256
	// KiB. The beginning and the end are kept.
	MaxOutput int
	// Supervised runs programs under a supervisor. All processes that they
	// started end together with them, in whatever session they are, and with
	// this process. The supervisor is this process's executable, whose main
	// must call Supervise first. It exists only on Linux. On other systems, or
	// with Supervised off, a process that leaves the program's process group
	// keeps running.
	Supervised bool
	// Sandbox confines programs to Dir: they write there and in a separate
	// temporary folder, which is also their HOME, and read these and the
	// system's programs. It needs Supervised; where CanSandbox returns an
	// error, no program is run.
	Sandbox bool
}

// Supervise makes a program able to supervise the commands that it runs. Call it
// first in main: in a process that is such a supervisor it does not return.
func Supervise() { contain.Supervise() }

// CanSandbox reports why commands cannot be kept to a folder on this system, or
// nil if they can.
func CanSandbox() error { return contain.Sandboxed() }

type commandIn struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Input   string   `json:"input"`
}

// Tool returns run_command.
func (c Command) Tool() tool.Tool {
	return bound(previewed(define(tool.Tool{
		Name:    "run_command",
		Timeout: c.timeout() + time.Second,
		Description: `Run a program and return what it prints and its exit code. No shell is involved: pipes, redirections, wildcards, variables and && do not work; each argument is passed as it is.
Use it for programs like go, git or make. Do not use it to read, write or search files; use read_file, write_file, edit_file and search_files instead.
The format is a program's name and a list of arguments, for example program: go, args: [test, ./...]; program must be a name or a path, without arguments. Note: the program cannot ask questions: its input is what you give, or nothing. If it runs too long, it is stopped with everything it started. Long output is cut in the middle.`,
	}, `{"type":"object","additionalProperties":false,"required":["program"],"properties":{
"program":{"type":"string","minLength":1,"description":"Name of the program on the PATH, or a path to it, like go."},
"args":{"type":"array","items":{"type":"string"},"maxItems":256,"description":"Arguments, one per item, like [\"test\",\"./...\"]. Default: none."},
"input":{"type":"string","description":"Text for the program's standard input. Default: empty."}}}`,
		`{"program":"go","args":["test","./..."]}`, c.run), c.preview), c.bind)
}

// preview returns the program that would run, and its folder.
func (c Command) preview(_ context.Context, in commandIn) (tool.Preview, error) {
	p := tool.Preview{Command: append([]string{in.Program}, in.Args...), Dir: c.Dir, Input: in.Input, AnyProgram: true}
	if err := in.check(); err != nil {
		return p, err
	}
	_, err := findProgram(c.Dir, in.Program)
	return p, err
}

// bind returns the command line, its folder and the program files below that folder.
func (c Command) bind(_ context.Context, in commandIn) ([]tool.Pin, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := tool.Preview{Command: append([]string{in.Program}, in.Args...), Dir: c.Dir, Input: in.Input}
	return commandPins(p)
}

func (c Command) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return 2 * time.Minute
}

// check refuses commands that cannot be run.
func (in commandIn) check() error {
	if strings.ContainsRune(in.Program, 0) || strings.ContainsRune(strings.Join(in.Args, ""), 0) {
		return tool.Errorf(tool.Validation, "a program's name and arguments cannot hold a NUL byte")
	}
	if strings.ContainsAny(in.Program, " \t\n|&;<>$`") {
		return withFix(tool.Errorf(tool.Validation, "%.100q is not the name of a program", in.Program),
			"Give the program alone in program and each argument as an item of args. There is no shell.")
	}
	return nil
}

func (c Command) run(ctx context.Context, in commandIn) (tool.Output, error) {
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	limit := c.MaxOutput
	if limit <= 0 {
		limit = 256 << 10
	}
	out := &middleCut{limit: limit}
	cmd := exec.CommandContext(ctx, in.Program, in.Args...)
	cmd.Env = c.Env
	cmd.Stdin = strings.NewReader(in.Input)
	cmd.Stdout, cmd.Stderr = out, out
	err := c.contained(cmd)
	return commandOutput(ctx, in, cmd, out, err)
}

// contained runs a program in its folder, with its variables and the common
// ones, and ends the processes it leaves running.
func (c Command) contained(cmd *exec.Cmd) error {
	cmd.Dir, cmd.Env = c.Dir, append(contain.PlainEnv(), cmd.Env...)
	if !c.Sandbox {
		return contain.Options{Supervised: c.Supervised}.Run(cmd)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "toolpost-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	cmd.Env = append(cmd.Env, "HOME="+temp, "TMPDIR="+temp)
	return contain.Options{Supervised: c.Supervised, Sandbox: []string{dir, temp}}.Run(cmd)
}

// cannotRun reports whether a program was never started.
func cannotRun(cmd *exec.Cmd, err error) bool {
	var unknown *exec.Error
	return cmd.ProcessState == nil || errors.As(err, &unknown)
}

func commandOutput(ctx context.Context, in commandIn, cmd *exec.Cmd, out *middleCut, err error) (tool.Output, error) {
	if cannotRun(cmd, err) {
		return tool.Output{}, tool.Errorf(tool.NotFound, "%s cannot be run: %v", in.Program, startError(err))
	}
	code := cmd.ProcessState.ExitCode()
	text := fmt.Sprintf("exit code %d\n%s", code, out.String())
	result := tool.Text(text)
	result.ExitCode, result.Omitted = &code, int64(out.omitted())
	line, _ := json.Marshal(append([]string{in.Program}, in.Args...))
	result.Did = []tool.SideEffect{{Type: "command_executed", Path: in.Program, Detail: map[string]json.RawMessage{"command": line}}}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return result, tool.Errorf(tool.Timeout, "%s was stopped: it ran too long. It printed:\n%s", in.Program, out.String())
	case ctx.Err() != nil:
		return result, ctx.Err()
	case code != 0:
		return result, tool.Errorf(tool.Execution, "%s failed with exit code %d:\n%s", in.Program, code, out.String())
	}
	return result, nil
}

// startError leaves the path of the machine out of an error.
func startError(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// middleCut keeps the beginning and the end of the data written to it.
type middleCut struct {
	limit   int
	head    []byte
	tail    []byte
	dropped int
}

// Write keeps the bytes that fit. It never fails: a program must not notice.
func (m *middleCut) Write(p []byte) (int, error) {
	n := len(p)
	if room := m.limit/2 - len(m.head); room > 0 {
		take := min(room, len(p))
		m.head = append(m.head, p[:take]...)
		p = p[take:]
	}
	m.tail = append(m.tail, p...)
	if over := len(m.tail) - m.limit; over > 0 { // trim rarely: each byte moves once or twice
		cut := len(m.tail) - m.limit/2
		m.dropped += cut
		m.tail = append(m.tail[:0], m.tail[cut:]...)
	}
	return n, nil
}

// omitted returns how many bytes String leaves out.
func (m *middleCut) omitted() int {
	_, _, dropped := m.kept()
	return dropped
}

// kept returns the beginning and the end that are kept, and how many bytes are missing between them.
func (m *middleCut) kept() (head, end string, dropped int) {
	tail, dropped := m.tail, m.dropped
	if over := len(tail) - m.limit/2; over > 0 {
		dropped += over
		tail = tail[over:]
	}
	if dropped == 0 {
		return string(m.head), string(tail), 0
	}
	// A non-blank byte takes the place of the omitted bytes: the word before it
	// and the word after it then count as cut.
	head, end = secret.Head(string(m.head)+"x", len(m.head)), secret.Tail("x"+string(tail), len(tail))
	return head, end, dropped + len(m.head) + len(tail) - len(head) - len(end)
}

// String returns the kept data, with a note where some is missing. It does not
// cut words in two: half a key would not be recognised as a key.
func (m *middleCut) String() string {
	head, end, dropped := m.kept()
	if dropped > 0 {
		head += fmt.Sprintf("\n[… %d bytes left out …]\n", dropped)
	}
	return strings.ToValidUTF8(head+end, "\uFFFD")
}
