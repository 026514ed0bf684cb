package refine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// defaultRecoveries is the default number of corrections of a structured answer.
const defaultRecoveries = 2

// emitOutput is the tool by which a model may give its structured answer.
const emitOutput = "emit_output"

// Structured holds the answers of m to the schema of Request.Output: the text
// of an answer is one JSON value that matches it. JSON in prose or in a code fence
// is found, and types are converted if no information is lost. If the answer still does not match, the
// model is told the problem and asked again: at most recoveries times (0 means 2, below 0 never),
// and as long as the budget of the request lasts. The earlier text does not count; its usage does.
//
// An answer that breaks off is requested again in the same way.
//
// An answer with calls of other tools passes unchanged: the owner of the tools asks
// again. Calls and thinking are passed on while they arrive, text when it is complete.
// Until then [Partial] events show the value grow.
//
// "format" is a constraint. Each of checks examines a value that matches the schema. The model is told
// the error of a check like any other fault, up to 2,000 bytes of it. An error that is an *[llm.Error],
// or the error of an ended context, means that the check could not be made. It ends the request.
//
// If no correction helps, the error is an *[OutputError]. Requests without Output, and requests that
// demand a call, pass unchanged.
func Structured(m llm.Model, recoveries int, checks ...func(json.RawMessage) error) llm.Model {
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		if req.Output == nil || req.Choice.Mode == llm.MustCall { // such a turn is for calls
			return m.Stream(ctx, req)
		}
		return func(yield func(llm.Event, error) bool) {
			if _, taken := req.Tool(emitOutput); taken {
				yield(nil, &llm.Error{Op: "refine", Kind: llm.Invalid, Err: fmt.Errorf("with a structured answer no tool can be called %s", emitOutput)})
				return
			}
			s, err := compile(req.Output)
			if err != nil {
				yield(nil, &llm.Error{Op: "refine", Kind: llm.Invalid, Err: err})
				return
			}
			most := recoveries
			if most == 0 {
				most = defaultRecoveries
			}
			most = max(most, 0)
			st := &structuring{questioning: questioning{most: most + 1, yield: yield}, m: m, form: form{s, checks}}
			st.run(ctx, budgeted(req, most))
		}
	})
}

// anyObject is the schema of an answer of which nothing else is demanded.
var anyObject = json.RawMessage(`{"type":"object"}`)

func compile(out *llm.OutputFormat) (*schema.Compiled, error) {
	if len(out.Schema) == 0 {
		return schema.Compile(anyObject)
	}
	return schema.Compiler{AssertFormat: true}.Compile(out.Schema)
}

// structuring is the state of one request until it has a valid answer.
type structuring struct {
	questioning
	m       llm.Model
	form    form
	started bool // the llm.Start of the first answer was passed on
	tried   []Attempt
}

// given is one answer.
type given struct {
	resp    *llm.Response
	text    []llm.Event // held back
	begun   bool
	others  bool            // it calls other tools
	emitted json.RawMessage // the arguments of emit_output
	id      string          // of that call
	viaTool bool
	err     error
}

func (st *structuring) run(ctx context.Context, req *llm.Request) {
	for {
		g := st.listen(ctx, req)
		st.usage = st.usage.Add(g.resp.Finish.Usage)
		g.resp.Finish.Usage = st.usage
		var next *llm.Request
		var again bool
		switch {
		case st.stopped:
			return
		case g.err != nil && llm.KindOf(g.err) != llm.BrokenPromise:
			next, again = st.broken(ctx, req, g)
		case g.others:
			st.pass(g)
			return
		default:
			value, wrong := st.read(g)
			if wrong == nil {
				st.succeed(g, value)
				return
			}
			if wrong.cause == "" { // the problem is unknown
				st.yield(nil, wrong.err)
				return
			}
			next, again = st.mend(ctx, req, g, wrong)
		}
		if !again {
			return
		}
		req = next
	}
}

// broken decides about an answer that broke off. Once calls of other tools have
// been passed on it is too late to ask again.
func (st *structuring) broken(ctx context.Context, req *llm.Request, g *given) (*llm.Request, bool) {
	if f, ok := brokenOff(req, g.resp, asCut(g.err, g.begun)); ok {
		st.tried = append(st.tried, Attempt{Cause: causeBroken, Problem: g.err.Error(), Text: quote(g.resp.Message.Text())})
		if next, ok := st.again(ctx, req, &attempt{resp: g.resp, begun: g.others}, f); ok {
			return next, true
		}
	}
	if !st.stopped {
		deliver(g.text, g.err, st.yield)
	}
	return nil, false
}

// mend decides about an answer that does not match the request.
func (st *structuring) mend(ctx context.Context, req *llm.Request, g *given, wrong *failure) (*llm.Request, bool) {
	text := g.resp.Message.Text()
	if text == "" {
		text = string(g.emitted)
	}
	st.tried = append(st.tried, Attempt{Cause: wrong.cause, Problem: wrong.why, Text: quote(text), Faults: wrong.faults, Value: wrong.value, Err: wrong.err})
	f := Defect{Cause: wrong.cause, Problem: wrong.why, Tell: wrong.message(req.Output, text, g.viaTool), Keep: true, aside: true}
	said := new(llm.Response)
	if text != "" {
		said.Message = llm.Assistant(llm.Text{Text: text})
	}
	next, ok := st.again(ctx, req, &attempt{resp: said}, f)
	if !ok && !st.stopped {
		st.yield(nil, &OutputError{Attempts: st.tried})
	}
	return next, ok
}

// listen reads an answer, passes on all events but text, and shows the value grow.
func (st *structuring) listen(ctx context.Context, req *llm.Request) *given {
	g := new(given)
	var b llm.Builder
	grow := growing{st: st}
	for ev, err := range st.m.Stream(ctx, req) {
		if err != nil {
			g.err = err
			break
		}
		st.take(g, &b, &grow, ev)
		if st.stopped {
			break
		}
	}
	g.resp = b.Response()
	if g.err == nil && !st.stopped && g.resp.Finish.Reason == "" {
		g.err = &llm.Error{Op: "refine", Kind: llm.Incomplete, Err: errors.New("the stream ended without a finish event")}
	}
	return g
}

func (st *structuring) take(g *given, b *llm.Builder, grow *growing, ev llm.Event) {
	g.begun = g.begun || llm.Begins(ev)
	switch ev := ev.(type) {
	case llm.Start:
		if st.started {
			return
		}
		st.started = true
	case llm.TextDelta:
		if !g.others {
			b.Add(ev)
			g.text = append(g.text, ev)
			grow.add(ev.Text)
			return
		}
	case llm.PartEnd:
		if !g.others {
			b.Add(ev)
			g.text = append(g.text, ev)
			return
		}
	case llm.CallStart:
		if ev.Name == emitOutput {
			g.id = ev.ID
			return
		}
		st.other(g)
	case llm.CallDelta:
		if ev.ID == g.id {
			grow.add(ev.Args)
			return
		}
	case llm.Call:
		if ev.Name == emitOutput {
			g.emitted, g.viaTool = ev.Args, true
			return
		}
		st.other(g)
	case llm.InvalidCall:
		if ev.Name == emitOutput {
			g.viaTool = true
			b.Add(llm.TextDelta{Text: ev.Raw})
			return
		}
		st.other(g)
	case llm.Warning:
		g.viaTool = g.viaTool || strings.Contains(ev.Detail+ev.Feature, emitOutput)
	case llm.Finish:
		b.Add(ev)
		return
	}
	b.Add(ev)
	st.emit(ev)
}

// other begins a call of another tool: the text before it is not an answer, and keeps its place.
func (st *structuring) other(g *given) {
	g.others = true
	for _, ev := range g.text {
		st.emit(ev)
	}
	g.text = nil
}

// pass ends an answer that calls other tools. A structured answer with such calls comes too early
// to count, because it does not know their results.
func (st *structuring) pass(g *given) {
	if g.emitted != nil && !st.emit(llm.Warning{Code: llm.Ignored, Feature: emitOutput, Detail: "the structured answer came together with calls of other tools; the calls go first, then the model is asked again"}) {
		return
	}
	if g.err != nil {
		st.yield(nil, g.err)
		return
	}
	st.yield(g.resp.Finish, nil)
}

// read finds the value in an answer.
func (st *structuring) read(g *given) (found, *failure) {
	if g.emitted != nil {
		return extract(string(g.emitted), st.form, false)
	}
	return extract(g.resp.Message.Text(), st.form, g.resp.Finish.Reason == llm.Length)
}

func (st *structuring) succeed(g *given, f found) {
	for _, w := range f.warnings {
		if !st.emit(w) {
			return
		}
	}
	finish := g.resp.Finish
	if finish.Reason == "" || finish.Reason == llm.ToolCalls {
		finish.Reason = llm.Stop
	}
	if st.emit(llm.TextDelta{Text: string(f.value)}) {
		st.yield(finish, nil)
	}
}

// growing shows a value while it is written. It parses the text again each time the text has grown
// by a quarter, which keeps the work linear.
type growing struct {
	st   *structuring
	text strings.Builder
	next int
}

func (g *growing) add(text string) {
	g.text.WriteString(text)
	if g.text.Len() < g.next {
		return
	}
	g.next = g.text.Len() + max(g.text.Len()/4, 16)
	all := g.text.String()
	start := strings.IndexAny(all, "{[")
	if start < 0 {
		return
	}
	if v, ok := jsonfix.Partial(all[start:]); ok {
		g.st.emit(Partial{Value: v})
	}
}

// Attempt is an unusable answer.
type Attempt struct {
	Cause   RecoveryCause   `json:"cause"`
	Problem string          `json:"problem"`
	Text    string          `json:"text"` // the beginning of the text
	Faults  []schema.Fault  `json:"faults,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // JSON of the wrong shape, or that was refused
	Err     error           `json:"-"`               // of the check that refused it
}

// OutputError says that a model gave no answer of the demanded shape, however
// often it was asked. Its kind is BrokenPromise.
type OutputError struct {
	Attempts []Attempt // in order; the first is the answer to the question itself
}

// Error returns the problem of each attempt.
func (e *OutputError) Error() string {
	var b strings.Builder
	b.WriteString("refine: no valid structured answer. ")
	for i, a := range e.Attempts {
		if i == 0 {
			b.WriteString("Attempt 0 (initial): ")
		} else {
			fmt.Fprintf(&b, "; Attempt %d: ", i)
		}
		b.WriteString(a.Problem)
	}
	return b.String()
}

// Unwrap returns the faults of the last attempt, or the error of the check that
// refused it, and the kind.
func (e *OutputError) Unwrap() []error {
	errs := []error{&llm.Error{Op: "refine", Kind: llm.BrokenPromise, Err: errors.New("the answer does not match the schema")}}
	last := e.Attempts[len(e.Attempts)-1]
	for _, f := range last.Faults {
		errs = append(errs, f)
	}
	if last.Err != nil {
		errs = append(errs, last.Err)
	}
	return errs
}
