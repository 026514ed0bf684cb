package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
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

// toolList is the tools that the model is told about.
type toolList struct {
	offeredTools
	all      []llm.ToolDef   // with the tools that the caller runs
	found    []string        // names of the tools that the model found
	searched map[string]bool // ids of the calls of find_tools that have been evaluated
	leftOut  int             // how many tools the last warning left out
	schemas  map[string]*schema.Compiled
	finder   *toolFinder // nil if the model cannot search for tools
}

// use sets the tools that are run.
func (t *toolList) use(set offeredTools, caller []llm.ToolDef) {
	t.offeredTools, t.all = set, slices.Concat(set.Defs, caller)
}

// told reports whether the model is told about a tool.
func (t *toolList) told(name string) bool {
	return slices.ContainsFunc(t.all, func(d llm.ToolDef) bool { return d.Name == name })
}

// newSearches returns the calls of find_tools in a conversation that have succeeded since
// the last call of newSearches.
func (t *toolList) newSearches(msgs []llm.Message) []llm.Call {
	var calls []llm.Call
	for _, m := range msgs {
		for _, c := range tool.Searches(msgs, m) {
			if !t.searched[c.ID] {
				t.searched[c.ID] = true
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// newlyFound returns the tools that the model found since the last turn.
func (t *toolList) newlyFound(msgs []llm.Message) []llm.ToolDef {
	f := t.finder
	if f == nil {
		return nil
	}
	var found []llm.ToolDef
	for _, c := range t.newSearches(msgs) {
		for _, i := range f.ranker.Found(c.Args, t.told) {
			if name := f.defs[i].Name; slices.Contains(t.Dropped, name) && !slices.ContainsFunc(found, func(d llm.ToolDef) bool { return d.Name == name }) {
				found = append(found, f.defs[i])
			}
		}
	}
	return found
}

// offerMore offers tools that the model found, and returns their names.
func (t *toolList) offerMore(found, caller []llm.ToolDef) []string {
	var names []string
	set := t.offeredTools // the record keeps the earlier one
	set.Withheld = maps.Clone(set.Withheld)
	for _, d := range found {
		names = append(names, d.Name)
		delete(set.Withheld, d.Name)
	}
	set.Defs = slices.Concat(set.Defs, found)
	set.Dropped = slices.DeleteFunc(slices.Clone(set.Dropped), func(name string) bool { return slices.Contains(names, name) })
	t.use(set, caller)
	t.found = append(t.found, names...)
	return names
}

// notOffered returns the call of a tool that the model was not told about. offered is the tools of the turn.
func (t *toolList) notOffered(c llm.Call, offered []llm.ToolDef) llm.InvalidCall {
	problem := fmt.Sprintf("there is no tool called %q", c.Name)
	if t.Finds && slices.Contains(t.Dropped, c.Name) {
		problem = fmt.Sprintf("%q is not in your list of tools; call %s first, which adds it", c.Name, tool.FinderName)
	}
	names := make([]string, len(offered))
	for i, d := range offered {
		names[i] = d.Name
	}
	return llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.UnknownTool,
		Problem: problem, Nearest: near.Names(c.Name, names, 3), Provenance: c.Provenance}
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
