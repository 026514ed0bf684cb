package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// foundEntry are tools that the model found with find_tools before a turn. They
// are offered from then on.
type foundEntry struct {
	Turn  int           `json:"turn"`
	Tools []llm.ToolDef `json:"tools"`
}

// Found says which more tools the model is told about from now on, because it
// looked for them with find_tools.
type Found struct {
	Tools []string `json:"tools"`
}

// EventType returns "found".
func (Found) EventType() string { return "found" }

// finds reports whether the model can look for tools that it is not told about. A
// tool of the program that has the name of find_tools is left alone.
func (a *Agent) finds() bool {
	_, taken := a.set().Lookup(tool.FinderName)
	return !taken && a.set().Exceeds(a.Offer)
}

// discovering returns what looks for tools that the model found; nil if it cannot
// find any.
func (a *Agent) discovering(l *loop) func(context.Context) (foundEntry, error) {
	if !a.finds() {
		return nil
	}
	ranker, defs := a.set().Ranker(), a.set().Defs()
	return func(ctx context.Context) (foundEntry, error) {
		e := foundEntry{Turn: l.turnNo}
		for _, c := range l.unseen() {
			for _, i := range ranker.Found(c.Args, l.told) {
				if name := defs[i].Name; slices.Contains(l.Lanes.Dropped, name) && !slices.ContainsFunc(e.Tools, func(d llm.ToolDef) bool { return d.Name == name }) {
					e.Tools = append(e.Tools, defs[i])
				}
			}
		}
		if len(e.Tools) == 0 {
			return e, nil
		}
		return e, l.write(ctx, kindFound, e)
	}
}

// unseen returns the calls of find_tools in the conversation that have succeeded
// since it was asked last.
func (l *loop) unseen() []llm.Call {
	var calls []llm.Call
	for _, m := range l.messages {
		for _, c := range tool.Searches(l.messages, m) {
			if !l.searched[c.ID] {
				l.searched[c.ID] = true
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// told reports whether the model is told about a tool.
func (l *loop) told(name string) bool {
	return slices.ContainsFunc(l.offered, func(d llm.ToolDef) bool { return d.Name == name })
}

// offerFound adds the tools that the model found to those that are offered, at
// the end, so that a vendor's cache of the others stays valid.
func (l *loop) offerFound(ctx context.Context) error {
	if l.discover == nil {
		return nil
	}
	e, err := l.discover(ctx)
	if err != nil || len(e.Tools) == 0 {
		return err
	}
	var names []string
	set := l.Lanes // the record keeps the one before
	set.Withheld = maps.Clone(set.Withheld)
	for _, d := range e.Tools {
		names = append(names, d.Name)
		delete(set.Withheld, d.Name)
	}
	set.Defs = slices.Concat(set.Defs, e.Tools)
	set.Dropped = slices.DeleteFunc(slices.Clone(set.Dropped), func(name string) bool { return slices.Contains(names, name) })
	l.Lanes, l.offered = set, slices.Concat(set.Defs, l.Caller)
	l.found = append(l.found, names...)
	l.emit(Found{Tools: names})
	return nil
}

// leftOut says which tools the model is not told about.
func (l *loop) leftOut() {
	dropped := l.Lanes.Dropped
	if len(dropped) == 0 {
		return
	}
	offered, hint := len(l.Lanes.Defs), ""
	if l.Lanes.Finds {
		offered, hint = offered-1, ", which "+tool.FinderName+" finds"
	}
	l.emit(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d of %d tools are offered; left out%s: %s",
		offered, offered+len(dropped), hint, some(dropped))})
}

// mostNamed is how many names of tools a warning holds.
const mostNamed = 10

// some names the first of many.
func some(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNamed], ", ") + ", …"
}
