package agentcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/toolpost/toolpost/internal/answerrun"
	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
)

// Model is an agent program as a model. Each request starts the program again.
type Model struct {
	Program Program
	// Model is the model that the program is to ask; empty leaves that to it.
	Model string
}

// Stream starts the program and yields what it says. Calls that the program makes are run
// by the run that asks, if it can; see package answerrun.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		q := &question{m: m, ctx: ctx, cancel: cancel, yield: yield, run: answerrun.Of(ctx), limits: req.Limits.Or(m.Program.Limits).Or(llm.DefaultLimits)}
		defer q.close()
		err := q.begin(req)
		if err == nil {
			err = q.listen()
		}
		if err != nil && !q.stopped {
			yield(nil, err)
		}
	}
}

// question is one answer of a program.
type question struct {
	m      *Model
	ctx    context.Context
	cancel context.CancelFunc
	yield  func(llm.Event, error) bool
	run    answerrun.Runner // nil where the caller runs the calls
	limits llm.Limits

	folder  string
	format  *format
	bridge  *bridge.Bridge
	address *bridge.Address // nil without tools
	process *child.Process
	decoder decoder
	lines   chan rawLine
	asked   chan asked // calls that reach the bridge

	answer
}

// fail is an error of this question, without secrets.
func (q *question) fail(kind llm.Kind, code, text string, args ...any) error {
	text = q.m.Program.redact(child.PlainText(fmt.Sprintf(text, args...))) // in this order: what a terminal obeys may stand inside a secret
	return &llm.Error{Op: "agent/" + q.m.Program.Name, Kind: kind, Code: code, Err: errors.New(clip.Bytes(text, maxErrorText))}
}

const maxErrorText = 2000

// begin starts the program.
func (q *question) begin(req *llm.Request) error {
	warnings, err := checkOptions(req)
	if err != nil {
		return q.fail(llm.Unsupported, "", "%v", err)
	}
	for _, w := range warnings {
		if !q.emit(w) {
			return nil
		}
	}
	text, err := prompt(req.Messages)
	if err != nil {
		return q.fail(llm.Unsupported, "", "%v", err)
	}
	var ok bool
	if q.format, ok = formatNamed(q.m.Program.Format); !ok {
		return q.fail(llm.Invalid, "", "there is no format %q", q.m.Program.Format)
	}
	if err := q.offer(req); err != nil {
		return err
	}
	spec, err := q.invite(req)
	if err != nil {
		return err
	}
	if q.process, err = child.Start(spec); err != nil {
		return q.fail(llm.Unknown, codeError, "the program cannot be started: %v", err)
	}
	go func() { // a program need not read it
		_, _ = io.WriteString(q.process.Stdin, text)
		_ = q.process.Stdin.Close()
	}()
	q.lines = make(chan rawLine, 16)
	go readLines(q.ctx, q.process.Stdout, q.lines)
	return nil
}

// offer opens the bridge.
func (q *question) offer(req *llm.Request) error {
	defs, err := offeredTools(req)
	if err != nil {
		return q.fail(llm.Unsupported, "", "%v", err)
	}
	q.asked = make(chan asked)
	q.bridge = &bridge.Bridge{Name: q.m.Program.Bridge, Version: q.m.Program.Version}
	switch {
	case q.run != nil:
		q.bridge.Defs, q.bridge.Do = defs, q.hand
	case q.format.bounds:
		q.bridge.Others = defs
	default:
		q.bridge.Defs, q.bridge.Do = defs, q.refuse
	}
	if len(defs) == 0 {
		return nil
	}
	if q.address, err = q.bridge.Listen(); err != nil {
		return q.fail(llm.Unsupported, "", "%v", err)
	}
	return nil
}

// invite writes the private files of the program, and returns how it is started.
func (q *question) invite(req *llm.Request) (child.Spec, error) {
	p := q.m.Program
	settings, err := p.settingsOf()
	if err == nil {
		q.folder, err = os.MkdirTemp("", "toolpost-agent-*") // 0700
	}
	if err != nil {
		return child.Spec{}, q.fail(llm.Invalid, "", "%v", err)
	}
	in := &invocation{model: q.m.Model, system: systemText(req), bridge: q.bridge, address: q.address, settings: settings, folder: q.folder}
	if q.run == nil {
		in.turns = 1
	} else {
		in.turns = p.MaxTurns
	}
	how, err := q.format.invoke(in)
	if err != nil {
		return child.Spec{}, q.fail(llm.Invalid, "", "%v", err)
	}
	for name, data := range how.files {
		if err := os.WriteFile(filepath.Join(q.folder, name), data, 0o600); err != nil {
			return child.Spec{}, q.fail(llm.Invalid, "", "%v", err)
		}
	}
	dir := p.Dir
	if dir == "" {
		dir = filepath.Join(q.folder, "work")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return child.Spec{}, q.fail(llm.Invalid, "", "%v", err)
		}
	}
	q.decoder = q.format.decoder(q.bridge)
	args := append(append([]string{}, p.Args...), how.args...)
	return child.Spec{Command: p.Command, Args: args, Env: p.environment(how.env), Dir: dir, Supervised: p.Supervised}, nil
}

// close ends the program and all that was made for it.
func (q *question) close() {
	wellOver := q.over && q.ctx.Err() == nil
	q.cancel() // calls that it still makes are told that the answer is over
	if q.process != nil {
		if wellOver {
			_ = q.process.Close() // it may end by itself
		}
		q.process.Kill()
	}
	if q.address != nil {
		q.address.Close()
	}
	if q.folder != "" {
		_ = os.RemoveAll(q.folder)
	}
}

// rawLine is a line of the program. The last one has the error that ended them.
type rawLine struct {
	text []byte
	err  error // io.EOF, or why no more is read
	part bool  // the line is not complete
}

// maxLine bounds a line of the program.
const maxLine = 16 << 20

var errLongLine = fmt.Errorf("a line has more than %d bytes", maxLine)

// readLines sends the lines of r until it ends, or ctx does.
func readLines(ctx context.Context, r io.Reader, lines chan<- rawLine) {
	defer close(lines)
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		text, err := readLine(in)
		select {
		case lines <- rawLine{text: text, err: err, part: err == io.EOF && len(text) > 0}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxLine:
			return nil, errLongLine
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if !errors.Is(err, io.EOF) { // a pipe that we closed
				err = io.EOF
			}
			return line, err
		}
	}
}

// asked is a call that reached the bridge.
type asked struct {
	call  llm.Call
	reply chan<- answered
}

type answered struct {
	result llm.Result
	err    error
}

// hand passes a call from a connection of the bridge to the goroutine of the answer, and
// waits for its result.
func (q *question) hand(ctx context.Context, c llm.Call) (llm.Result, error) {
	reply := make(chan answered, 1)
	select {
	case q.asked <- asked{c, reply}:
	case <-ctx.Done():
		return llm.Result{}, ctx.Err()
	case <-q.ctx.Done():
		return llm.Result{}, errors.New("the answer is over")
	}
	select {
	case a := <-reply:
		return a.result, a.err
	case <-q.ctx.Done():
		return llm.Result{}, errors.New("the answer is over")
	}
}

// refuse answers a call that the caller is to run, where the program cannot be held to one
// turn: its turn is over once all calls that it reported have a result. So no result comes
// before the program had time to report the other calls of the turn.
func (q *question) refuse(ctx context.Context, _ llm.Call) (llm.Result, error) {
	select {
	case <-time.After(reportTime):
	case <-ctx.Done():
	case <-q.ctx.Done():
	}
	return llm.Result{Failed: true, Parts: []llm.Part{llm.Text{Text: bridge.Disabled}}}, nil
}

// reportTime is how long a call that reached the bridge waits for the program to report
// it: the two ways of a call are not equally fast, and events have an order.
const reportTime = 250 * time.Millisecond

// listen reads what the program says until its answer is over.
func (q *question) listen() error {
	if q.stopped {
		return nil
	}
	total := time.NewTimer(q.limits.Time)
	defer total.Stop()
	idle := time.NewTimer(q.limits.Idle)
	defer idle.Stop()
	grace := time.NewTimer(reportTime)
	defer grace.Stop()
	for !q.over && !q.stopped {
		var err error
		select {
		case l, ok := <-q.lines:
			if !ok {
				l.err = io.EOF
			}
			err = q.hear(l)
		case a := <-q.asked:
			q.held = append(q.held, a)
			grace.Reset(reportTime)
			err = q.serveHeld(false)
		case <-grace.C:
			err = q.serveHeld(true)
		case <-q.ctx.Done():
			return &llm.Error{Op: "agent/" + q.m.Program.Name, Kind: llm.Canceled, Err: context.Cause(q.ctx)}
		case <-idle.C:
			return q.fail(llm.Stalled, "", "the program said nothing for %s; %s", q.limits.Idle, q.said())
		case <-total.C:
			return q.fail(llm.TimeLimit, "", "the program took longer than %s; %s", q.limits.Time, q.said())
		}
		if err != nil {
			return err
		}
		idle.Reset(q.limits.Idle)
	}
	return nil
}

// said is the last that the program wrote to stderr, for a person.
func (q *question) said() string {
	if lines := q.process.Stderr.LastLines(3); lines != "" {
		return "it said: " + lines
	}
	return "it did not say why"
}

// hear takes a line.
func (q *question) hear(l rawLine) error {
	q.bytes += int64(len(l.text)) + 1
	switch {
	case errors.Is(l.err, errLongLine):
		return q.fail(llm.ByteLimit, "", "the program wrote a line of more than %d bytes", maxLine)
	case q.bytes > q.limits.Bytes:
		return q.fail(llm.ByteLimit, "", "the program wrote more than %d bytes", q.limits.Bytes)
	}
	if len(l.text) > 0 && !isBlank(l.text) {
		events, err := q.decoder.line(l.text)
		if err != nil && !l.part {
			return q.fail(llm.Malformed, codeError, "the program wrote a line that is not of the format %s: %v: %s", q.format.name, err, clip.Bytes(string(l.text), 200))
		}
		for _, ev := range events {
			if err := q.take(ev); err != nil || q.over || q.stopped {
				return err
			}
		}
	}
	if l.err != nil {
		return q.ended()
	}
	return q.serveHeld(false)
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
