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

// Found reports that the model is offered more tools from now on, because it found them with
// find_tools.
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

// toolFinder searches the tools of an Agent for the model.
type toolFinder struct {
	ranker *tool.Ranker
	defs   []llm.ToolDef
}

// findTools returns the tools that the model found since the last turn.
func (l *loop) findTools() foundEntry {
	e := foundEntry{Turn: l.turn.n}
	f := l.tools.finder
	if f == nil {
		return e
	}
	for _, c := range l.tools.newSearches(l.messages) {
		for _, i := range f.ranker.Found(c.Args, l.tools.told) {
			if name := f.defs[i].Name; slices.Contains(l.tools.Dropped, name) && !slices.ContainsFunc(e.Tools, func(d llm.ToolDef) bool { return d.Name == name }) {
				e.Tools = append(e.Tools, f.defs[i])
			}
		}
	}
	return e
}

// offerFound offers the tools that the model found. They come last, so the vendor's cache of
// the other tools stays valid.
func (l *loop) offerFound(ctx context.Context) error {
	e, err := decide(ctx, l.effects, l.decision(kindFound), func() (foundEntry, error) { return l.findTools(), nil })
	if err != nil || len(e.Tools) == 0 {
		return err
	}
	if err := l.write(ctx, kindFound, e); err != nil {
		return err
	}
	var names []string
	set := l.tools.offeredTools // the record keeps the earlier one
	set.Withheld = maps.Clone(set.Withheld)
	for _, d := range e.Tools {
		names = append(names, d.Name)
		delete(set.Withheld, d.Name)
	}
	set.Defs = slices.Concat(set.Defs, e.Tools)
	set.Dropped = slices.DeleteFunc(slices.Clone(set.Dropped), func(name string) bool { return slices.Contains(names, name) })
	l.tools.use(set, l.Caller)
	l.tools.found = append(l.tools.found, names...)
	l.emit(Found{Tools: names})
	return nil
}

// droppedWarning names the tools that the model is not told about. It reports whether there
// are any.
func (s *offeredTools) droppedWarning() (llm.Warning, bool) {
	offered, hint := len(s.Defs), ""
	if s.Finds {
		offered, hint = offered-1, ", which "+tool.FinderName+" finds"
	}
	return llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d of %d tools are offered; left out%s: %s",
		offered, offered+len(s.Dropped), hint, firstNames(s.Dropped))}, len(s.Dropped) > 0
}

// maxNames is how many names of tools a warning has.
const maxNames = 10

// firstNames joins the first names of a list.
func firstNames(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:maxNames], ", ") + ", …"
}
