package tool

import "github.com/toolpost/toolpost/llm"

// advice is the remedy for a failure.
type advice struct {
	// For the program: whether another attempt may succeed, and the first
	// strategy.
	recoverable bool
	strategy    Strategy
	// For the model: the event (%s is the tool) and the remedy. Only calls of
	// tools have this.
	lead, model string
}

// codes are the defaults for an Error, by the code of the failure.
var codes = map[Code]advice{
	Validation: {true, Rephrase, "The call of %s is not valid.",
		"Correct the arguments named above and leave the others as they are. Do not send the same arguments again."},
	Permission: {false, Abort, "The call of %s was refused: it is not permitted.",
		"1. Do not send this call again; the answer will be the same. 2. Use another tool that is allowed, or go on without it. 3. If it is needed, tell the user what you wanted to do and why."},
	NotFound: {true, Rephrase, "The call of %s failed: what it names does not exist.",
		"1. Check the name for spelling, case and the right folder or namespace. 2. List or search for what there is. 3. Call again with a name that you have seen."},
	Timeout: {true, Same, "The call of %s did not finish in time.",
		"1. If you call it again, ask for less: a smaller range, a narrower query. 2. If it may have changed something, find out first whether it did."},
	RateLimit: {true, Same, "The call of %s was turned away: too many requests.",
		"1. Wait before you use this tool again. 2. Combine requests, or go on with something else meanwhile."},
	ModelRefusal: {true, Rephrase, "The request behind the call of %s was declined by a model.",
		"Say plainly what is needed and why, or take another way to the goal."},
	Execution: {true, Escalate, "The call of %s was run and failed.",
		"1. Read the message above. 2. If the arguments caused it, correct them. 3. If they did not, take another way and say so."},
	Network: {true, Same, "The call of %s failed: the connection could not be made or was lost.",
		"1. The arguments are not to blame; leave them as they are. 2. Try once more later, or go on without this tool."},
	Cancelled: {false, Abort, "The call of %s was cancelled before it finished.",
		"Do not send it again unless you are asked to. It may have taken effect in part."},
	Uncertain: {false, Abort, "The outcome of the call of %s is unknown.",
		"Find out whether it took effect, with a tool that only reads, before you do anything about it. Tell the user."},
}

// kinds are the codes of a model's errors. Without a code, the status or the wording of the error decides.
var kinds = map[llm.Kind]Code{
	llm.Invalid:       Validation,
	llm.Auth:          Permission,
	llm.NotFound:      NotFound,
	llm.TooLong:       Validation,
	llm.RateLimited:   RateLimit,
	llm.Overloaded:    RateLimit,
	llm.Server:        Network,
	llm.Network:       Network,
	llm.Timeout:       Timeout,
	llm.Incomplete:    Network,
	llm.Refused:       ModelRefusal,
	llm.Canceled:      Cancelled,
	llm.ByteLimit:     Execution,
	llm.TextLimit:     Execution,
	llm.ThinkingLimit: Execution,
	llm.EventLimit:    Execution,
	llm.TimeLimit:     Timeout,
	llm.Stalled:       Timeout,
}
