package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// HostedSupportIn returns an [Agent.HostedSupport] for models that speak a wire format:
// the provider runs what the format can express.
func HostedSupportIn(format string) func(id string, def llm.ToolDef) error {
	return func(_ string, def llm.ToolDef) error {
		codec, ok := wire.For(format)
		if !ok {
			return fmt.Errorf("there is no format %q", format)
		}
		_, _, err := codec.EncodeRequest(&llm.Request{Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolDef{def}, MaxTokens: 1}, false)
		return err
	}
}

// offer decides which tools the model of an id is told about. If they exceed the budget, the tools
// that fit the conversation best are offered. So are the tools that the model found before: their
// searches may be missing in a compacted conversation. With must, a lane that the program requested
// by name has to exist.
func (a *Agent) offer(m llm.Model, id string, conversation []llm.Message, must bool, found ...string) (offeredTools, error) {
	set := a.set()
	out, err := a.lanes(m, id, set, must)
	if err != nil || !set.Exceeds(a.Offer) {
		return out, err
	}
	budget := a.Offer
	budget.Pinned = append(slices.Concat(budget.Pinned, a.Request.Choice.Allowed), a.Request.Choice.Name, tool.FinderName, invoke.ReaderName)
	kept, left := set.Follow(conversation, budget)
	if set.Len() <= mostDeferred && a.vendorSearches(id) {
		return deferring(out, set, kept, left), nil
	}
	left = slices.DeleteFunc(left, func(o tool.Omitted) bool { return slices.Contains(found, o.Name) })
	for _, o := range left {
		if !out.Withheld[o.Name] {
			out.Dropped = append(out.Dropped, o.Name)
		}
		out.Withheld[o.Name] = true
	}
	out.Defs = slices.DeleteFunc(out.Defs, func(d llm.ToolDef) bool { return d.Kind != llm.HostedTool })
	if out.Finds = a.finds(); out.Finds {
		out.Defs = append(out.Defs, set.Finder(nil).Def())
	}
	names := kept.Names()
	for _, name := range found {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names { // at the end, where more may follow
		if t, ok := set.Lookup(name); ok && !out.Withheld[name] {
			out.Defs = append(out.Defs, t.Def())
		}
	}
	return out, nil
}

// mostDeferred is how many tools are left to a vendor's search: no vendor refuses a
// request with so many. More are found with find_tools.
const mostDeferred = 128

// vendorSearches reports whether the vendor of the model of that id finds tools itself
// whose definitions are deferred.
func (a *Agent) vendorSearches(id string) bool {
	return a.HostedSupport != nil && a.HostedSupport(id, llm.ToolDef{Kind: llm.HostedTool, Name: llm.ToolSearch}) == nil
}

// deferring offers all tools: the kept ones with their definitions, and the others deferred, for
// the vendor's own search. All can be called.
func deferring(out offeredTools, set, kept *tool.Set, left []tool.Omitted) offeredTools {
	out.Defs = slices.DeleteFunc(out.Defs, func(d llm.ToolDef) bool { return d.Kind != llm.HostedTool })
	out.Defs = append(out.Defs, llm.ToolDef{Kind: llm.HostedTool, Name: llm.ToolSearch})
	for t := range kept.All() {
		if !out.Withheld[t.Name] {
			out.Defs = append(out.Defs, t.Def())
		}
	}
	for t := range set.All() { // the order of the set keeps the vendor's cache valid
		if slices.ContainsFunc(left, func(o tool.Omitted) bool { return o.Name == t.Name }) && !out.Withheld[t.Name] {
			out.Defs = append(out.Defs, t.Def().Deferred())
		}
	}
	return out
}

// lanes chooses the lane of each hosted tool for the model of that id. If a lane was requested by
// name and does not exist, the tool is not offered; with must that is an error.
func (a *Agent) lanes(m llm.Model, id string, set *tool.Set, must bool) (offeredTools, error) {
	out := offeredTools{Withheld: make(map[string]bool)}
	var hosted []llm.ToolDef
	for _, h := range a.Hosted {
		def := llm.ToolDef{Kind: llm.HostedTool, Name: h.Name, Hosted: &h.Config}
		own := standIns(set, h)
		c := a.lane(m, id, h, def, own)
		if c.Lane == LaneNever && must && c.Asked != LaneAuto && c.Asked != LaneNever {
			return out, fmt.Errorf("agent: %s cannot be run as %q: %s", h.Name, c.Asked, c.Why)
		}
		out.Chosen = append(out.Chosen, c)
		if c.Lane == LaneNative {
			hosted = append(hosted, def)
		}
		for lane, names := range own {
			for _, name := range names {
				out.Withheld[name] = lane != c.Lane
			}
		}
	}
	for _, d := range set.Defs() {
		if !out.Withheld[d.Name] {
			out.Defs = append(out.Defs, d)
		}
	}
	out.Defs = append(out.Defs, hosted...)
	return out, nil
}

// lane decides about one tool.
func (a *Agent) lane(m llm.Model, id string, h ProviderTool, def llm.ToolDef, own map[Lane][]string) LaneChosen {
	asked := h.Lane
	if asked == "" {
		asked = LaneAuto
	}
	c := LaneChosen{Tool: h.Name, Lane: LaneNever, Asked: asked}
	native := a.hosts(m, id, def)
	controlled := a.Tools != nil && a.Tools.Policy != nil && !h.Uncontrolled
	switch {
	case asked == LaneNever:
		c.Why = "it is not wanted"
	case asked == LaneNative && native == nil:
		c.Lane, c.Why = LaneNative, "the provider runs it, as asked for"
	case asked == LaneNative:
		c.Why = "the provider does not run it: " + native.Error()
	case asked != LaneAuto && own[asked] != nil:
		c.Lane, c.Why = asked, "as asked for"
	case asked != LaneAuto:
		c.Why = "there is no such tool"
	default:
		c.Lane, c.Why = automatic(native, controlled, own)
	}
	return c
}

// hosting is a model that knows which tools its provider runs, like those of package
// provider.
type hosting interface{ RunsHosted(def llm.ToolDef) error }

// hosts reports why the provider of a model cannot run a tool, or nil if it can.
func (a *Agent) hosts(m llm.Model, id string, def llm.ToolDef) error {
	if a.HostedSupport != nil {
		return a.HostedSupport(id, def)
	}
	if own, ok := inner[hosting](m); ok {
		return own.RunsHosted(def)
	}
	return errors.New("nothing is known about what the provider runs itself")
}

// mayHost reports whether it is known what the provider runs.
func (a *Agent) mayHost() bool {
	_, knows := inner[hosting](a.Model)
	return knows || a.HostedSupport != nil
}

// automatic chooses the lane if the program requested none: the provider's tool, else the tool of
// an MCP server, else the program's own.
func automatic(native error, controlled bool, own map[Lane][]string) (Lane, string) {
	why := "a policy wants control, which the provider does not give"
	if native != nil {
		why = "the provider does not run it: " + native.Error()
	}
	switch {
	case native == nil && !controlled:
		return LaneNative, "the provider runs it, and no policy wants control"
	case own[LaneMCP] != nil:
		return LaneMCP, why
	case own[LaneLocal] != nil:
		return LaneLocal, why
	case native == nil:
		return LaneNever, "only the provider could run it, and a policy wants control"
	}
	return LaneNever, "it cannot be run: " + native.Error()
}

// standIns returns the names of the tools that replace a hosted tool, by lane: the tools with its
// name, also in a namespace or from an MCP server.
func standIns(set *tool.Set, h ProviderTool) map[Lane][]string {
	out := make(map[Lane][]string)
	for t := range set.All() {
		if !standsIn(set, t, h) {
			continue
		}
		lane := LaneLocal
		if t.Origin == tool.MCP {
			lane = LaneMCP
		}
		out[lane] = append(out[lane], t.Name)
	}
	return out
}

func standsIn(set *tool.Set, t tool.Tool, h ProviderTool) bool {
	if h.Own != "" {
		return t.Name == h.Own
	}
	_, base, ok := set.Original(t.Name)
	return t.Name == h.Name || ok && base == h.Name || t.Source != "" && t.Name == t.Source+"__"+h.Name
}

// restricted returns the set with the limits of the hosted tools on the tools that replace them.
func (a *Agent) restricted(set *tool.Set) (*tool.Set, error) {
	var tools []tool.Tool
	changed := false
	for t := range set.All() {
		for _, h := range a.Hosted {
			if !standsIn(set, t, h) {
				continue
			}
			limited, err := restrict(t, h.Config)
			if err != nil && (h.Lane == LaneMCP || h.Lane == LaneLocal || !a.mayHost()) {
				return nil, err
			}
			if err != nil { // the provider may still run it; we may not
				t.Call = func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, err }
			} else {
				t = limited
			}
			changed = true
		}
		tools = append(tools, t)
	}
	if !changed {
		return set, nil
	}
	return tool.NewSet(tools...)
}

// restrict puts limits on a tool: the number of its uses is counted, the others
// go into arguments that the tool must have.
func restrict(t tool.Tool, h llm.HostedConfig) (tool.Tool, error) {
	forced := make(map[string]json.RawMessage)
	var declared struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(t.Input, &declared) // no properties: nothing can be restricted
	for name, value := range map[string]any{"allowed_domains": h.AllowedDomains, "blocked_domains": h.BlockedDomains, "user_location": location(h.Location), "search_context_size": h.ContextSize} {
		raw, err := json.Marshal(value)
		if err != nil || slices.Contains([]string{"null", `""`, "[]"}, string(raw)) {
			continue
		}
		if _, ok := declared.Properties[name]; !ok {
			return t, fmt.Errorf("agent: %s has no argument %s, so it cannot be restricted as asked for", t.Name, name)
		}
		forced[name] = raw
	}
	var uses atomic.Int64
	inner := t.Call
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		if n := uses.Add(1); h.MaxUses > 0 && n > int64(h.MaxUses) {
			return tool.Output{}, tool.Errorf(tool.Permission, "%s may be used %d times in a run, and was", t.Name, h.MaxUses)
		}
		args, err := merge(args, forced)
		if err != nil {
			return tool.Output{}, err
		}
		return inner(ctx, args)
	}
	return t, nil
}

// location returns the form in which tools take a place.
func location(l *llm.Location) any {
	if l == nil {
		return nil
	}
	return map[string]string{"type": "approximate", "city": l.City, "region": l.Region, "country": l.Country, "timezone": l.Timezone}
}

// merge returns args with some of them set.
func merge(args json.RawMessage, forced map[string]json.RawMessage) (json.RawMessage, error) {
	if len(forced) == 0 {
		return args, nil
	}
	all := make(map[string]json.RawMessage)
	if err := json.Unmarshal(args, &all); err != nil {
		return nil, err
	}
	for k, v := range forced {
		all[k] = v
	}
	return json.Marshal(all)
}
