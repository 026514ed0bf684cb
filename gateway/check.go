package gateway

import (
	"fmt"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// maxValidators bounds the schemas that are kept compiled.
const maxValidators = 4096

// validators are the schemas of clients' tools, compiled once. Clients send the same tools
// with every request.
type validators struct {
	mu   sync.Mutex
	kept map[string]*schema.Compiled // nil for one that cannot be compiled
}

// of returns the validator of a schema, and nil if there is none.
func (v *validators) of(s []byte) *schema.Compiled {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.kept[string(s)]; ok {
		return c
	}
	c, err := schema.Compile(s)
	if err != nil {
		c = nil
	}
	if v.kept == nil || len(v.kept) >= maxValidators {
		v.kept = make(map[string]*schema.Compiled)
	}
	v.kept[string(s)] = c
	return c
}

// checking checks the calls of an answer against the tools that were offered.
type checking struct {
	off   bool
	tools []llm.ToolDef
	*validators
}

func (x *exchange) checking(how Check, req *llm.Request) checking {
	return checking{how == CheckOff || x.holds || len(req.Tools) == 0, req.Tools, &x.checks}
}

// fault returns what is wrong with an event, if it is a call that does not fit.
func (c checking) fault(ev llm.Event) *llm.Warning {
	call, ok := ev.(llm.Call)
	if !ok || c.off {
		return nil
	}
	i := slices.IndexFunc(c.tools, func(t llm.ToolDef) bool { return t.Name == call.Name })
	if i < 0 {
		return &llm.Warning{Code: llm.Compatibility, Feature: call.Name, Detail: fmt.Sprintf("the call %s is of a tool that was not offered", call.ID)}
	}
	if c.tools[i].Kind != llm.FunctionTool || len(c.tools[i].Schema) == 0 {
		return nil
	}
	v := c.of(c.tools[i].Schema)
	if v == nil {
		return nil
	}
	faults := v.Validate(call.Args)
	if len(faults) == 0 {
		return nil
	}
	return &llm.Warning{Code: llm.Compatibility, Feature: call.Name, Detail: fmt.Sprintf("the call %s does not fit the schema of its tool: %v", call.ID, faults[0])}
}
