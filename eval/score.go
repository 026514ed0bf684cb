package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Trial is one answer of a model to a case: of the first answer, or of the whole conversation.
type Trial struct {
	Case  string `json:"case"`
	Model string `json:"model"`
	// Repeat counts the answers of a model to a case from 1.
	Repeat  int               `json:"repeat"`
	Calls   []llm.Call        `json:"calls,omitempty"`
	Invalid []llm.InvalidCall `json:"invalid,omitempty"`
	Text    string            `json:"text,omitempty"`
	Finish  llm.Reason        `json:"finish,omitempty"`
	Usage   llm.Usage         `json:"usage,omitzero"`
	Cost    catalog.Money     `json:"cost,omitempty"`
	// Aside is what the judge and the simulated person used, and AsideCost is its price. The budgets of a run count it.
	Aside     llm.Usage     `json:"aside,omitzero"`
	AsideCost catalog.Money `json:"aside_cost,omitempty"`
	// Files holds the files with an expectation, after the conversation.
	Files map[string]string `json:"files,omitempty"`
	// Retries counts the questions that were asked again, and the calls that went back to the model.
	Retries int `json:"retries,omitempty"`
	// Warnings are what the provider and the reader reported.
	Warnings []llm.Warning `json:"warnings,omitempty"`
	Turns    int           `json:"turns,omitempty"`
	// Pieces counts the pieces in which text and arguments came.
	Pieces int `json:"pieces,omitempty"`
	// Run names the record of a conversation.
	Run     string `json:"run,omitempty"`
	Latency int64  `json:"latency_ms"`
	// FirstCall is how long the first call took to begin; 0 if there was none.
	FirstCall int64 `json:"first_call_ms,omitempty"`
	// Judged is the answer of the judge to the rubric.
	Judged *Judgement `json:"judged,omitempty"`
	// Thinks reports that the model thought before the answer.
	Thinks bool `json:"thinks,omitempty"`
	// Broke is why the answer or the conversation ended early by a fault of the model.
	Broke string `json:"broke,omitempty"`
	// Error is the reason why the answer is missing. Kind classifies it.
	Error string   `json:"error,omitempty"`
	Kind  llm.Kind `json:"kind,omitempty"`
}

// Judgement is what a judge says of an answer.
type Judgement struct {
	Pass  bool   `json:"pass"`
	Why   string `json:"why"`
	Model string `json:"model"`
}

// FailureKind is the way in which an answer fails its case.
type FailureKind string

// The failures, the most severe first. The failure of a verdict is the first of its problems in this order.
const (
	Failed          FailureKind = "error"            // the answer is missing
	InvalidCall     FailureKind = "invalid_call"     // a call was cut off or could not be read
	UnexpectedCall  FailureKind = "unexpected_call"  // a tool was called and none applies
	NoCall          FailureKind = "no_call"          // no tool was called and one applies
	WrongTool       FailureKind = "wrong_tool"       // a call of a tool that does not apply
	WrongCount      FailureKind = "wrong_count"      // more or fewer calls of a tool than expected
	WrongOrder      FailureKind = "wrong_order"      // the right calls in another order
	MissingArgument FailureKind = "missing_argument" // an expected argument is missing
	WrongArgument   FailureKind = "wrong_argument"   // an argument has another value
	ExtraArgument   FailureKind = "extra_argument"   // an argument that is not expected
	BadSchema       FailureKind = "schema"           // arguments that the tool's schema refuses
	WrongStream     FailureKind = "stream"           // the stream lacks what its probe looks for
	WrongAnswer     FailureKind = "answer"           // the text or the JSON of the answer
	WrongFile       FailureKind = "file"             // a file after the conversation
	JudgedWrong     FailureKind = "judge"            // the judge says no
)

var severity = []FailureKind{
	Failed, InvalidCall, UnexpectedCall, NoCall, WrongTool, WrongCount, WrongOrder, MissingArgument, WrongArgument, ExtraArgument,
	BadSchema, WrongStream, WrongAnswer, WrongFile, JudgedWrong,
}

// Problem is one thing that is wrong with an answer.
type Problem struct {
	Failure FailureKind `json:"failure"`
	Detail  string      `json:"detail"`
}

// CaseScore is the score of a trial.
type CaseScore struct {
	Pass     bool        `json:"pass"`
	Failure  FailureKind `json:"failure,omitempty"`
	Problems []Problem   `json:"problems,omitempty"`
	// RightTools and RightArguments compare the calls only. They are true where no call is expected or made.
	RightTools     bool `json:"right_tools"`
	RightArguments bool `json:"right_arguments"`
	// FirstAttempt reports that nothing was asked again.
	FirstAttempt bool `json:"first_attempt"`
	// Called counts the calls. ValidCalls counts calls of offered tools that match the schema.
	Called     int `json:"called"`
	ValidCalls int `json:"valid_calls"`
}

// Score compares a trial with its case. It asks no model: a rubric counts as the trial says.
func Score(c *Case, t *Trial) CaseScore {
	v := CaseScore{FirstAttempt: t.Retries == 0, Called: len(t.Calls) + len(t.Invalid)}
	if t.Error != "" {
		v.add(Failed, t.Error)
	}
	if t.Broke != "" {
		v.add(Failed, t.Broke)
	}
	for _, bad := range t.Invalid {
		if c.ability == truncation && bad.Reason == llm.CutOff {
			continue // the probe demands it
		}
		v.add(InvalidCall, clip.Line(fmt.Sprintf("%s: %s", orUnnamed(bad.Name), bad.Problem), maxDetail))
	}
	v.schemas(c, t)
	v.calls(c, t)
	if problem := streamProblem(c, t); problem != "" {
		v.add(WrongStream, problem)
	}
	v.answer(c, t)
	v.files(c, t)
	if c.Expect.Rubric != "" && (t.Judged == nil || !t.Judged.Pass) {
		why := "the answer was not judged"
		if t.Judged != nil {
			why = t.Judged.Why
		}
		v.add(JudgedWrong, why)
	}
	v.Pass = len(v.Problems) == 0
	for _, f := range severity {
		if slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.Failure == f }) {
			v.Failure = f
			break
		}
	}
	return v
}

// maxDetail is the maximum number of characters of a problem.
const maxDetail = 300

func (v *CaseScore) add(f FailureKind, detail string) {
	v.Problems = append(v.Problems, Problem{f, clip.Line(detail, maxDetail)})
}

func orUnnamed(name string) string {
	if name == "" {
		return "a call without a name"
	}
	return name
}

// schemas counts the calls that match the schema of their tool.
func (v *CaseScore) schemas(c *Case, t *Trial) {
	for _, call := range t.Calls {
		i := slices.IndexFunc(c.Tools, func(d llm.ToolDef) bool { return d.Name == call.Name })
		if i < 0 {
			if slices.Contains(fileTools, call.Name) && len(c.Files) > 0 {
				v.ValidCalls++ // the runner validated it
			}
			continue
		}
		compiled, err := schema.Compile(c.Tools[i].Schema)
		if err != nil {
			continue
		}
		faults := compiled.Validate(call.Args)
		if len(faults) == 0 {
			v.ValidCalls++
			continue
		}
		if c.Expect.SomeCall { // otherwise the expected values decide, which may be looser
			v.add(BadSchema, call.Name+": "+faults[0].Error())
		}
	}
}

// calls compares the calls with the expected calls.
func (v *CaseScore) calls(c *Case, t *Trial) {
	before := len(v.Problems)
	e := &c.Expect
	switch {
	case e.NoCall:
		for _, call := range t.Calls {
			v.add(UnexpectedCall, callText(call))
		}
	case e.SomeCall && len(t.Calls) == 0:
		v.add(NoCall, "no tool was called")
	case len(e.Calls) > 0 && len(t.Calls) == 0:
		v.add(NoCall, "no tool was called")
	case len(e.Calls) > 0:
		v.compare(e, t.Calls)
	}
	found := v.Problems[before:]
	has := func(list ...FailureKind) bool {
		return slices.ContainsFunc(found, func(p Problem) bool { return slices.Contains(list, p.Failure) })
	}
	broken := len(t.Invalid) > 0 || t.Error != "" && len(e.Calls) > 0
	v.RightTools = !broken && !has(UnexpectedCall, NoCall, WrongTool, WrongCount, WrongOrder)
	v.RightArguments = v.RightTools && !has(MissingArgument, WrongArgument, ExtraArgument)
}

// compare pairs calls with expectations: first by all arguments, then by the tool.
func (v *CaseScore) compare(e *Expect, calls []llm.Call) {
	pair := make([]int, len(e.Calls)) // the call of each expectation, -1 without one
	taken := make([]bool, len(calls))
	assign := func(fits func(ExpectedCall, llm.Call) bool) {
		for i, want := range e.Calls {
			for j, call := range calls {
				if pair[i] < 0 && !taken[j] && fits(want, call) {
					pair[i], taken[j] = j, true
				}
			}
		}
	}
	for i := range pair {
		pair[i] = -1
	}
	assign(func(want ExpectedCall, call llm.Call) bool {
		return want.Name == call.Name && len(want.problems(call.Args)) == 0
	})
	assign(func(want ExpectedCall, call llm.Call) bool { return want.Name == call.Name })
	for i, want := range e.Calls {
		if pair[i] >= 0 {
			v.Problems = append(v.Problems, want.problems(calls[pair[i]].Args)...)
			continue
		}
		kind, detail := WrongTool, "no call of "+want.Name
		if slices.ContainsFunc(calls, func(c llm.Call) bool { return c.Name == want.Name }) {
			kind, detail = WrongCount, "fewer calls of "+want.Name+" than expected"
		}
		v.add(kind, detail)
	}
	for j, call := range calls {
		if taken[j] || e.Extra {
			continue
		}
		kind := WrongTool
		if slices.ContainsFunc(e.Calls, func(w ExpectedCall) bool { return w.Name == call.Name }) {
			kind = WrongCount
		}
		v.add(kind, "not expected: "+callText(call))
	}
	if e.Ordered && !slices.Contains(pair, -1) && !slices.IsSorted(pair) {
		v.add(WrongOrder, "the calls are in another order")
	}
}

// problems returns the faults of the arguments of a call.
func (w ExpectedCall) problems(args json.RawMessage) []Problem {
	if w.AnyArgs {
		return nil
	}
	out := memberProblems(w.Args, args, w.Name+".")
	for i := range out {
		out[i].Detail = clip.Line(out[i].Detail, maxDetail)
	}
	return out
}

func (v *CaseScore) answer(c *Case, t *Trial) {
	e := &c.Expect
	if e.Answer != nil {
		compiled, err := schema.Compile(schema.Schema(e.Answer))
		if err == nil {
			raw := json.RawMessage(strings.TrimSpace(t.Text))
			if !json.Valid(raw) {
				v.add(WrongAnswer, "the answer is not JSON")
			} else if faults := compiled.Validate(raw); len(faults) > 0 {
				v.add(WrongAnswer, faults[0].Error())
			}
		}
	}
	if e.Text.empty() {
		return
	}
	if problem := e.Text.problem(t.Text); problem != "" {
		v.add(WrongAnswer, "the answer "+problem)
	}
}

func (v *CaseScore) files(c *Case, t *Trial) {
	for name, want := range c.Expect.Files {
		text, exists := t.Files[name]
		switch {
		case want.Absent && exists:
			v.add(WrongFile, name+" exists")
		case want.Absent:
		case !exists:
			v.add(WrongFile, name+" does not exist")
		default:
			if problem := want.problem(text); problem != "" {
				v.add(WrongFile, name+" "+problem)
			}
		}
	}
}

func callText(c llm.Call) string { return short(c.Name + string(c.Args)) }

// short shortens text for a problem.
func short(s string) string { return clip.Line(s, 120) }
