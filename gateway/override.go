package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Override replaces choices of the clients of a route. The zero value replaces nothing.
type Override struct {
	// Thinking is off, low, medium, high, or another effort level of the vendor.
	Thinking string
	// Choice is auto, required or none: whether the model may, must or must not call the tools of a request with tools.
	Choice string
	// TextCalls selects the text in answers that becomes a call.
	TextCalls llm.Promotion
	// Dialect is the notation in which the model is taught its tools and its calls are read, named as in package
	// emulate. It overrides the known abilities of the model. The Way of an upstream takes precedence.
	Dialect string
	// Echoes allows calls whose text also appears in a tool result or a document of the conversation.
	Echoes bool
}

// The allowed values of an Override.
var (
	choices = map[string]llm.ChoiceMode{"auto": llm.MayCall, "required": llm.MustCall, "none": llm.MustNotCall}
	promote = []llm.Promotion{llm.PromoteDefault, llm.PromoteOff, llm.PromoteMarked, llm.PromoteAll}
)

// check reports errors in an override.
func (o Override) check(add func(setting string, err error)) {
	if _, ok := choices[o.Choice]; !ok && o.Choice != "" {
		add("tool_choice", fmt.Errorf("there is no tool choice %q; there are auto, required and none", o.Choice))
	}
	if !slices.Contains(promote, o.TextCalls) {
		add("text_calls", fmt.Errorf("there is no way to read calls from text called %q; there are off, marked and all", o.TextCalls))
	}
	add("dialect", checkDialect(o.Dialect))
	if strings.ContainsAny(o.Thinking, " \t\r\n") || len(o.Thinking) > 32 {
		add("thinking", fmt.Errorf("%q is not an amount of thinking, like off, low, medium or high", o.Thinking))
	}
}

// checkDialect returns an error for a dialect that cannot be taught.
func checkDialect(name string) error {
	if taught := append(emulate.Styles(), "markdown"); name != "" && !slices.Contains(taught, name) {
		return fmt.Errorf("no dialect that can be taught is called %q; there are %s", name, strings.Join(taught, ", "))
	}
	return nil
}

// WayOf returns how an upstream of the route is asked.
func (r ModelRoute) WayOf(u Upstream) Way {
	if r.Override.Dialect != "" && u.Way == (Way{}) {
		return Way{Tools: provider.Prompted, Style: r.Override.Dialect}
	}
	return u.Way
}

// apply applies the override to a request. It reports whether the client's own bytes no longer match the request.
func (o Override) apply(req *llm.Request) (changed bool) {
	if o.Thinking != "" {
		req.Reasoning, changed = &llm.Reasoning{Effort: o.Thinking}, true
		if o.Thinking == "off" {
			req.Reasoning = &llm.Reasoning{Off: true}
		}
	}
	if o.Choice != "" && len(req.Tools) > 0 {
		req.Choice, changed = llm.ToolChoice{Mode: choices[o.Choice]}, true
	}
	if o.TextCalls != llm.PromoteDefault {
		req.Promotion = o.TextCalls
	}
	req.AllowEchoes = req.AllowEchoes || o.Echoes
	return changed
}
