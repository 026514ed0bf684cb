package schema

import (
	"bytes"
	"encoding/json"
)

// Checked is what [Compiled.Check] says about arguments.
type Checked struct {
	// Args are the arguments to use: unchanged if they are valid, else with the types
	// the schema demands. Without arguments it is {}.
	Args json.RawMessage
	// Changes are the coercions that Args took; none if they came valid.
	Changes []Coercion
	// Faults are the remaining errors of Args. If there are any, the arguments must
	// not be used.
	Faults []Fault
}

// Valid reports whether the arguments may be used.
func (c Checked) Valid() bool { return len(c.Faults) == 0 }

// Check is the one rule for valid arguments: they match the schema unchanged, or with
// the types that [Compiled.Coerce] gives them.
//
// They are validated first and coerced only if they do not match. Valid arguments stay
// as the model wrote them, to the byte, and so does their hash: coercing first would
// turn a valid 3.0 into 3. If they match neither way, the faults are those after
// coercion. The model is then told only the errors that it has to correct.
//
// A text that was passed on, and cannot be changed any more, is checked with
// [Compiled.Validate] alone.
func (c *Compiled) Check(args json.RawMessage) Checked {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	faults := c.Validate(args)
	if len(faults) == 0 {
		return Checked{Args: args}
	}
	fit, changes := c.Coerce(args)
	if len(changes) > 0 {
		faults = c.Validate(fit)
	}
	return Checked{fit, changes, faults}
}
