package refine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// RetryReason is a case in which a model is asked again.
type RetryReason struct {
	// Find looks at an answer, and at the error it ended with if it is not
	// complete. It reports whether this is the case, and what to do then.
	Find func(req *llm.Request, said *llm.Response, err error) (Defect, bool)
	// Once asks again for the cause only once per question, whatever the budget.
	Once bool
}

// Defect is a problem of an answer, and its correction.
type Defect struct {
	Cause   RecoveryCause
	Problem string // the problem, in one line
	// RetryCause, if not empty, says that the answer does not count and the question
	// is simply asked again: a [AnswerRetry] with this cause is sent instead of a
	// [Recovery].
	RetryCause string
	// Tell is what the model is told; empty asks the same question.
	Tell string
	// Keep shows the model its answer again, before what it is told.
	Keep bool

	once  bool
	aside bool // nothing of it becomes part of the conversation
}

// Reasons returns the cases in which a model is asked again, in the order in
// which they are looked for. The first that applies decides.
func Reasons() []RetryReason { return slices.Clone(defaultReasons) }

var defaultReasons = []RetryReason{
	{Find: missingCall, Once: true},
	{Find: brokenOff},
	{Find: brokenPromise},
	{Find: empty},
	{Find: callAsText, Once: true},
}

// find returns the first reason to ask again.
func find(reasons []RetryReason, req *llm.Request, said *llm.Response, err error) (Defect, bool) {
	for _, r := range reasons {
		if f, ok := r.Find(req, said, err); ok {
			f.once = r.Once
			return f, true
		}
	}
	return Defect{}, false
}

// missingCall: a call was demanded and none was made. A model that was told
// twice does not change its mind, so it is told once.
func missingCall(req *llm.Request, said *llm.Response, err error) (Defect, bool) {
	if req.Choice.Mode != llm.MustCall || len(said.Message.Calls())+len(said.Invalid) > 0 || err != nil && llm.KindOf(err) != llm.BrokenPromise {
		return Defect{}, false
	}
	what := req.Choice.Name
	if what == "" {
		what = "a tool"
	}
	return Defect{Cause: causeRefusal, Problem: "no tool was called", Keep: true,
		Tell: "You did not call " + what + ", and this task cannot be done without. Call " + what + " now; write nothing else."}, true
}

// brokenOff: the answer was lost on the way. The model is not to blame.
func brokenOff(_ *llm.Request, _ *llm.Response, err error) (Defect, bool) {
	if kind := llm.KindOf(err); err == nil || kind != llm.Incomplete && kind != llm.Malformed {
		return Defect{}, false
	}
	return Defect{Cause: causeBroken, Problem: err.Error(), RetryCause: llm.KindOf(err).String()}, true
}

// asCut returns the error of an answer as the reasons see it. A transient error after
// the answer has begun is an answer that broke off. Before that, package provider has
// repeated the request already.
func asCut(err error, begun bool) error {
	if err == nil || !begun || !llm.KindOf(err).Transient() {
		return err
	}
	return &llm.Error{Op: "refine", Kind: llm.Incomplete, Err: err}
}

// brokenPromise: the model did not do what the request demands. An unusable structured answer has
// been requested again already.
func brokenPromise(_ *llm.Request, _ *llm.Response, err error) (Defect, bool) {
	var tried *OutputError
	if err == nil || llm.KindOf(err) != llm.BrokenPromise || errors.As(err, &tried) {
		return Defect{}, false
	}
	return Defect{Cause: causeBroken, Problem: err.Error(), RetryCause: llm.BrokenPromise.String(), Keep: true,
		Tell: "Your last answer did not do what was asked: " + cause(err) + " Answer again and do it."}, true
}

// empty: the model wrote nothing. After a token limit or a filter it would do the same again.
func empty(_ *llm.Request, said *llm.Response, err error) (Defect, bool) {
	reason := said.Finish.Reason
	if err != nil || reason == "" || reason == llm.Length || reason == llm.ContentFilter || saysSomething(said) {
		return Defect{}, false
	}
	return Defect{Cause: causeEmpty, Problem: "Response was empty.", Tell: "Your last answer was empty. Answer the request, or call a tool if you need one."}, true
}

// saysSomething reports whether an answer holds more than thinking and what the
// provider did itself.
func saysSomething(r *llm.Response) bool {
	return len(r.Invalid) > 0 || slices.ContainsFunc(r.Message.Parts, func(p llm.Part) bool {
		switch p := p.(type) {
		case llm.Text:
			return strings.TrimSpace(p.Text) != ""
		case llm.Call:
			return !p.Hosted
		case llm.Media:
			return true
		}
		return false
	})
}

// maxNames bounds the names a model is told at once.
const maxNames = 20

// callAsText: the whole answer is a call that was read as text. Its tool does not exist, or the
// model has another way to write calls. The reader of the text reports it in a warning. A lost
// call is worse than one request too many. If the model writes the same again, it is the answer.
func callAsText(req *llm.Request, said *llm.Response, err error) (Defect, bool) {
	i := slices.IndexFunc(said.Warnings, func(w llm.Warning) bool { return w.Code == llm.CallAsText })
	if i < 0 || err != nil || len(said.Message.Calls())+len(said.Invalid) > 0 {
		return Defect{}, false
	}
	name := said.Warnings[i].Feature
	var names []string
	for _, t := range req.Tools[:min(len(req.Tools), maxNames)] {
		names = append(names, t.Name)
	}
	problem, fix := fmt.Sprintf("there is no tool called %q", name), "The tools are "+strings.Join(names, ", ")+". Call one of them by exactly its name, or answer in words."
	if t, ok := req.Tool(name); ok && t.Kind != llm.HostedTool {
		problem, fix = fmt.Sprintf("a call of %s was written as text", name), "Call the tool itself, or answer in words."
	}
	return Defect{Cause: causeValidation, Problem: problem, Keep: true,
		Tell: "Your answer looks like a call of " + name + ", but " + problem + ". " + fix}, true
}
