// Package advice is what people can do after a failure. The advice for models is in package tool.
package advice

import (
	"cmp"
	"errors"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Audience is the reader of advice after a failure.
type Audience uint8

// The audiences.
const (
	ThePerson   Audience = iota // the user of a program made with this library
	TheTerminal                 // the user of the toolpost command; texts may name its flags and commands
)

// For returns advice about a model that failed, according to the first *[llm.Error] in err's tree, or else to the code
// of the failure. It is empty for a nil error.
func For(err error, to Audience) string {
	e := tool.FromError(err)
	if e == nil {
		return ""
	}
	row := codes[e.Code]
	var kind llm.Kind
	var l *llm.Error
	if errors.As(err, &l) {
		kind = l.Kind
	}
	if to == TheTerminal {
		return cmp.Or(kinds[kind].terminal, row.terminal, tryOtherwise)
	}
	return cmp.Or(kinds[kind].person, row.person, tryOtherwise)
}

// texts are the advice for each audience.
type texts struct{ person, terminal string }

const (
	tryOtherwise = "Try again, say it in other words, or take another model."
	endless      = "The answer did not end. Ask for less at a time, take another model, or raise the limit."
)

// codes are the advice by the code of a failure.
var codes = map[tool.Code]texts{
	tool.Validation:   {tryOtherwise, "Give it a hint about what is wanted, or choose another model."},
	tool.Permission:   {"Check the key of the provider.", "Check the key with 'toolpost doctor', or choose another model."},
	tool.NotFound:     {"Check the name of the model and the address of its server.", "Check the id of the model with 'toolpost doctor', or choose another model."},
	tool.Timeout:      {"Check the connection, and whether the server runs; then try again.", "Try again, or choose a faster model."},
	tool.RateLimit:    {"Wait a little and try again.", "Wait a little and try again, or choose another model."},
	tool.ModelRefusal: {"Take another model, or say in the task what the tool is for.", "Give it a hint in other words, or choose another model."},
	tool.Execution:    {tryOtherwise, "Try again, or choose another model."},
	tool.Network:      {tryOtherwise, "Try again in a moment. If it goes on, look with 'toolpost doctor', or choose another model."},
	tool.Cancelled:    {"Try again when you want to.", "Try again when you want to."},
	tool.Uncertain:    {"Find out whether it took effect before it is done again.", "Find out whether it took effect before it is done again."},
}

// kinds are the advice by the kind of a model's error, where it is better than that of the code.
var kinds = map[llm.Kind]texts{
	llm.Invalid:       {"Change the request as the message says.", "Change what the message names, or choose another model with -m."},
	llm.Auth:          {"", "'toolpost doctor' shows which keys are set."},
	llm.NotFound:      {"", "'toolpost doctor' shows what can be asked, and -m chooses."},
	llm.TooLong:       {"Begin a new conversation, or take a model with a larger context.", "Give it less to read, or choose a model with more context with -m."},
	llm.Unsupported:   {"Take another model, or do without what it does not support.", "Choose another model with -m, or do without what it does not support."},
	llm.RateLimited:   {"", "Wait a little and try again, or choose another model with -m."},
	llm.Server:        {"Try again, or take another model.", ""},
	llm.Network:       {"Check the connection, and whether the server runs; then try again.", "Is the server running? 'toolpost doctor' looks for it."},
	llm.Refused:       {tryOtherwise, ""},
	llm.BrokenPromise: {tryOtherwise, ""},
	llm.ByteLimit:     {endless, ""},
	llm.TextLimit:     {endless, ""},
	llm.ThinkingLimit: {endless, ""},
	llm.EventLimit:    {endless, ""},
	llm.TimeLimit:     {endless, ""},
}
