package refine

import (
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
)

// Observed returns m with each call reported to the observer of its context as an observe.ModelCall of the model
// with that id. Agents and models of package provider do this themselves; inside of m, models of package provider only
// add their details. A model that asks several others at the same time is one ModelCall with nested ones.
func Observed(m llm.Model, id string) llm.Model { return observing.Model(m, id) }
