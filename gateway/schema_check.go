package gateway

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/lark"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// maxValidators limits the cached schemas.
const maxValidators = 4096

// maxGrammars limits the cached grammars.
const maxGrammars = 256

// validators caches the compiled schemas of clients' tools, because clients send the same tools with every request.
type validators struct {
	mu   sync.Mutex
	kept map[string]*schema.Compiled // nil for an invalid schema

	grammars map[llm.Grammar]*lark.Grammar // nil for an invalid grammar
}

// of returns the validator of a schema, or nil for an invalid schema.
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

// grammar returns a compiled grammar, or nil for an invalid one.
func (v *validators) grammar(of llm.Grammar) *lark.Grammar {
	v.mu.Lock()
	defer v.mu.Unlock()
	if g, ok := v.grammars[of]; ok {
		return g
	}
	var g *lark.Grammar
	switch of.Syntax { // unreadable grammars are nil
	case "lark":
		g, _ = lark.Compile(of.Definition)
	case "regex":
		g, _ = lark.Regexp(of.Definition)
	}
	if v.grammars == nil || len(v.grammars) >= maxGrammars {
		v.grammars = make(map[llm.Grammar]*lark.Grammar)
	}
	v.grammars[of] = g
	return g
}

// checking checks the calls of an answer against the tools that were offered.
type checking struct {
	off   bool
	tools []llm.ToolDef
	*validators
}

func (g *Gateway) checking(off bool, req *llm.Request) checking {
	return checking{off || len(req.Tools) == 0, req.Tools, &g.checks}
}

// fault returns a warning if an event is a call that does not match the schema of its tool.
func (c *checking) fault(ev llm.Event) *llm.Warning {
	if _, ok := ev.(llm.Call); !ok || c.off {
		return nil
	}
	return c.faultOf(ev)
}

// faultOf is not inlined: its part of the stack would be held with every event of a stream.
//
//go:noinline
func (c *checking) faultOf(ev llm.Event) *llm.Warning {
	call := ev.(llm.Call)
	i := slices.IndexFunc(c.tools, func(t llm.ToolDef) bool { return t.Name == call.Name })
	if i < 0 {
		return &llm.Warning{Code: llm.Compatibility, Feature: call.Name, Detail: fmt.Sprintf("the call %s is of a tool that was not offered", call.ID)}
	}
	why := c.misfit(&c.tools[i], call)
	if why == "" {
		return nil
	}
	return &llm.Warning{Code: llm.Compatibility, Feature: call.Name, Detail: fmt.Sprintf("the call %s does not fit the %s", call.ID, why)}
}

// misfit describes how a call does not match its tool, "" if it matches or cannot be checked.
func (c *checking) misfit(t *llm.ToolDef, call llm.Call) string {
	if t.Kind == llm.FreeTool && t.Grammar != nil {
		g := c.grammar(*t.Grammar)
		if g == nil {
			return ""
		}
		var mismatch *lark.Mismatch
		if errors.As(g.Match(js.Text(call.Args)), &mismatch) {
			return "grammar of its tool: " + mismatch.Error()
		}
		return ""
	}
	if t.Kind != llm.FunctionTool || len(t.Schema) == 0 {
		return ""
	}
	v := c.of(t.Schema)
	if v == nil {
		return ""
	}
	if faults := v.Validate(call.Args); len(faults) > 0 {
		return fmt.Sprintf("schema of its tool: %v", faults[0])
	}
	return ""
}
