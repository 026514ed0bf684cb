package tool

import (
	"cmp"
	"errors"

	"github.com/toolpost/toolpost/llm"
)

// Audience is the reader of advice after a failure. Programs use
// [Error.Recoverable] and [Error.Strategy] instead.
type Audience uint8

// The audiences.
const (
	TheModel    Audience = iota // that sent the call
	ThePerson                   // the user of a program made with this library
	TheTerminal                 // the user of the toolpost command; texts may name its flags and commands
)

// advice is the remedy for a failure, by reader.
type advice struct {
	// For the program: whether another attempt may succeed, and the first
	// strategy.
	recoverable bool
	strategy    Strategy
	// For the model: the event (%s is the tool) and the remedy. Only calls of
	// tools have this.
	lead, model string
	// For people, if the model failed.
	person, terminal string
}

// codes are the defaults for an Error, by the code of the failure.
var codes = map[Code]advice{
	Validation: {true, Rephrase, "The call of %s is not valid.",
		"Correct the arguments named above and leave the others as they are. Do not send the same arguments again.",
		tryOtherwise, "Give it a hint about what is wanted, or choose another model."},
	Permission: {false, Abort, "The call of %s was refused: it is not permitted.",
		"1. Do not send this call again; the answer will be the same. 2. Use another tool that is allowed, or go on without it. 3. If it is needed, tell the user what you wanted to do and why.",
		"Check the key of the provider.", "Check the key with 'toolpost doctor', or choose another model."},
	NotFound: {true, Rephrase, "The call of %s failed: what it names does not exist.",
		"1. Check the name for spelling, case and the right folder or namespace. 2. List or search for what there is. 3. Call again with a name that you have seen.",
		"Check the name of the model and the address of its server.", "Check the id of the model with 'toolpost doctor', or choose another model."},
	Timeout: {true, Same, "The call of %s did not finish in time.",
		"1. If you call it again, ask for less: a smaller range, a narrower query. 2. If it may have changed something, find out first whether it did.",
		"Check the connection, and whether the server runs; then try again.", "Try again, or choose a faster model."},
	RateLimit: {true, Same, "The call of %s was turned away: too many requests.",
		"1. Wait before you use this tool again. 2. Combine requests, or go on with something else meanwhile.",
		"Wait a little and try again.", "Wait a little and try again, or choose another model."},
	ModelRefusal: {true, Rephrase, "The request behind the call of %s was declined by a model.",
		"Say plainly what is needed and why, or take another way to the goal.",
		"Take another model, or say in the task what the tool is for.", "Give it a hint in other words, or choose another model."},
	Execution: {true, Escalate, "The call of %s was run and failed.",
		"1. Read the message above. 2. If the arguments caused it, correct them. 3. If they did not, take another way and say so.",
		tryOtherwise, "Try again, or choose another model."},
	Network: {true, Same, "The call of %s failed: the connection could not be made or was lost.",
		"1. The arguments are not to blame; leave them as they are. 2. Try once more later, or go on without this tool.",
		tryOtherwise, "Try again in a moment. If it goes on, look with 'toolpost doctor', or choose another model."},
	Cancelled: {false, Abort, "The call of %s was cancelled before it finished.",
		"Do not send it again unless you are asked to. It may have taken effect in part.",
		"Try again when you want to.", "Try again when you want to."},
	Uncertain: {false, Abort, "The outcome of the call of %s is unknown.",
		"Find out whether it took effect, with a tool that only reads, before you do anything about it. Tell the user.",
		"Find out whether it took effect before it is done again.", "Find out whether it took effect before it is done again."},
}

const tryOtherwise = "Try again, say it in other words, or take another model."

// kinds are the consequences of a model's error: the equivalent code, and the
// advice for people if it is better than that of the code. Without a code, the
// status or the wording of the error decides.
var kinds = map[llm.Kind]struct {
	code             Code
	person, terminal string
}{
	llm.Invalid:       {Validation, "Change the request as the message says.", "Change what the message names, or choose another model with -m."},
	llm.Auth:          {Permission, "", "'toolpost doctor' shows which keys are set."},
	llm.NotFound:      {NotFound, "", "'toolpost doctor' shows what can be asked, and -m chooses."},
	llm.TooLong:       {Validation, "Begin a new conversation, or take a model with a larger context.", "Give it less to read, or choose a model with more context with -m."},
	llm.Unsupported:   {"", "Take another model, or do without what it does not support.", "Choose another model with -m, or do without what it does not support."},
	llm.RateLimited:   {RateLimit, "", "Wait a little and try again, or choose another model with -m."},
	llm.Overloaded:    {RateLimit, "", ""},
	llm.Server:        {Network, "Try again, or take another model.", ""},
	llm.Network:       {Network, "Check the connection, and whether the server runs; then try again.", "Is the server running? 'toolpost doctor' looks for it."},
	llm.Timeout:       {Timeout, "", ""},
	llm.Incomplete:    {Network, "", ""},
	llm.Malformed:     {"", "", ""},
	llm.Refused:       {ModelRefusal, tryOtherwise, ""},
	llm.BrokenPromise: {"", tryOtherwise, ""},
	llm.Canceled:      {Cancelled, "", ""},
	llm.ByteLimit:     {Execution, endless, ""},
	llm.TextLimit:     {Execution, endless, ""},
	llm.ThinkingLimit: {Execution, endless, ""},
	llm.EventLimit:    {Execution, endless, ""},
	llm.TimeLimit:     {Timeout, endless, ""},
	llm.Stalled:       {Timeout, "", ""},
}

const endless = "The answer did not end. Ask for less at a time, take another model, or raise the limit."

// Advice returns advice about a failure. The model gets advice about a call
// that failed. People get advice about a model that failed, according to the
// first *[llm.Error] in err's tree, or else to the code of the failure.
func Advice(err error, to Audience) string {
	e := FromError(err)
	if e == nil {
		return ""
	}
	row := codes[e.Code]
	var kind llm.Kind
	var l *llm.Error
	if errors.As(err, &l) {
		kind = l.Kind
	}
	switch to {
	case ThePerson:
		return cmp.Or(kinds[kind].person, row.person, tryOtherwise)
	case TheTerminal:
		return cmp.Or(kinds[kind].terminal, row.terminal, tryOtherwise)
	}
	return cmp.Or(e.Fix, row.model)
}
