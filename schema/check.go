package schema

import (
	"bytes"
	"encoding/json"
)

// Checked is what [Compiled.Check] says about arguments.
type Checked struct {
	// Args is what to use: the arguments as they came if they are valid, else
	// with the types the schema demands. Without arguments it is {}.
	Args json.RawMessage
	// Changes are the coercions that Args took; none if they came valid.
	Changes []Coercion
	// Faults are what is wrong with Args all the same. With any, the arguments
	// must not be used.
	Faults []Fault
}

// Valid reports whether the arguments may be used.
func (c Checked) Valid() bool { return len(c.Faults) == 0 }

// Check is the one rule for whether arguments are valid: they are if they match
// the schema as they came, or with the types that [Compiled.Coerce] gives them.
//
// They are validated first and coerced only if they do not match. What is valid
// stays what the model wrote, to the byte, and so does its hash: coercing first
// would turn a valid 3.0 into 3. If they match neither way, the faults are those
// that remain after coercion, so that a model is told what it has to mend and
// not what was understood anyway.
//
// A text that cannot be changed any more, because it has been passed on, is held
// to [Compiled.Validate] alone.
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
