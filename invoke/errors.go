package invoke

import (
	"github.com/toolpost/toolpost/tool"
)

// notBegun is the error of a call that was cancelled before it began. Resumed,
// the run runs it.
func notBegun() *tool.Error {
	e := tool.Errorf(tool.Cancelled, "cancelled before it began")
	e.Fix = "It can be sent again if it is still wanted."
	return e
}

// uncertain is the error of a call that was begun and interrupted.
func uncertain() *tool.Error {
	return tool.Errorf(tool.Uncertain, "the call was begun and interrupted, and whether it took effect is unknown; it was not run again")
}

// mayHaveActed reports whether the tool may have taken effect before it failed.
// Repeating such a call could have the effect twice.
func mayHaveActed(e *tool.Error, effects tool.Effects) bool {
	return !effects.Has(tool.Idempotent) && (e.Code == tool.Timeout || e.Code == tool.Network || e.Code == tool.Cancelled)
}

// doubtful changes the advice in e if the tool may have taken effect; see
// mayHaveActed.
func doubtful(e *tool.Error, effects tool.Effects) *tool.Error {
	if !mayHaveActed(e, effects) {
		return e
	}
	c := *e
	if c.Recoverable {
		c.Strategy = tool.Escalate
	}
	c.Fix = "It may have taken effect all the same. 1. Find out whether it did, with a tool that only reads. 2. Call it again only if it did not."
	return &c
}

func stop(reason string) *tool.Error {
	e := tool.Errorf(tool.Permission, "%s", reason)
	e.Fix = "Do not call tools any more. Tell the user what you have found, and what is missing."
	return e
}
