package codec

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// NamespaceField is an extra field of a tool inside a namespace of the Responses format. It has the namespace without
// its tools, and the tool's original name if that differs. For a call it is the name of the namespace.
const (
	NamespaceField = "namespace"
	FunctionField  = "function"
)

// qualified is a name within a namespace.
type qualified struct{ space, name string }

// Namespaces are the tools of a request that belong to namespaces.
type Namespaces struct {
	there map[string]qualified // by the name they have here
	here  map[qualified]string
}

// NamespacesOf returns the tools of a request that belong to namespaces, and nil if it has no such tools.
func NamespacesOf(req *llm.Request) *Namespaces {
	var found *Namespaces
	for _, t := range req.Tools {
		raw := t.Extra[names.Responses][NamespaceField]
		if raw == nil {
			continue
		}
		if found == nil {
			found = &Namespaces{make(map[string]qualified), make(map[qualified]string)}
		}
		q := qualified{js.Text(js.Get(raw, "name")), cmp.Or(js.Text(js.Get(raw, FunctionField)), t.Name)}
		found.there[t.Name], found.here[q] = q, t.Name
	}
	return found
}

// CallName writes the name of a call, and the namespace of its tool.
func (e *Encoder) CallName(name string) {
	if e.Host.Names == nil {
		e.StringField("name", name)
		return
	}
	q, ok := e.Host.Names.there[name]
	if !ok {
		e.StringField("name", name)
		return
	}
	e.StringField("name", q.name)
	e.StringField(NamespaceField, q.space)
}

// WithNamespaces returns messages whose calls name their tools as the client does, with the namespace. Stored messages have
// this form, because a later request may have other names for the same tools. WithoutNamespaces is the reverse.
func (n *Namespaces) WithNamespaces(messages []llm.Message) []llm.Message {
	if n == nil && !slices.ContainsFunc(messages, func(m llm.Message) bool { return slices.ContainsFunc(m.Calls(), hasNamespace) }) {
		return messages
	}
	return eachCall(messages, func(call *llm.Call) {
		if hasNamespace(*call) {
			call.Name = nameInSpace(*call)
			return
		}
		if n == nil {
			return
		}
		q, ok := n.there[call.Name]
		if !ok {
			return
		}
		call.Name = q.name
		own := maps.Clone(call.Extra[names.Responses])
		if own == nil {
			own = make(map[string]json.RawMessage)
		}
		own[NamespaceField] = js.AppendQuoted(nil, q.space)
		if call.Extra = maps.Clone(call.Extra); call.Extra == nil {
			call.Extra = make(llm.Extra)
		}
		call.Extra[names.Responses] = own
	})
}

// WithoutNamespaces returns messages that WithNamespaces returned with the names that their tools have in the
// request which the codec answers. Results have the names of their calls, also where several have one id.
func (n *Namespaces) WithoutNamespaces(messages []llm.Message) []llm.Message {
	flat := eachCall(messages, func(call *llm.Call) {
		if hasNamespace(*call) {
			n.Flatten(call)
			nameGone(call)
		}
	})
	var open turns.OpenCalls
	last := make(map[string]*turns.OpenCall)
	for at, m := range flat {
		open.Message(m.Role)
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				was, _ := messages[at].Parts[i].(llm.Call)
				call := &turns.OpenCall{}
				if hasNamespace(was) {
					call.Name = p.Name
				}
				last[p.ID] = call
				open.Add(call, turns.CallKey{Kind: turns.ByIDAndName, Text: p.ID, Name: was.Name}, turns.CallKey{Kind: turns.ByID, Text: p.ID})
			case llm.Result:
				keys := turns.CallKeys(p.CallID, p.Name)
				if call := cmp.Or(open.Take(keys[:]...), last[p.CallID]); call != nil && call.Name != "" {
					p.Name = call.Name
					m.Parts[i] = p
				}
			}
		}
	}
	return flat
}

// eachCall returns messages with their calls changed.
func eachCall(messages []llm.Message, change func(*llm.Call)) []llm.Message {
	messages = slices.Clone(messages)
	for at, m := range messages {
		m.Parts = slices.Clone(m.Parts)
		for i, p := range m.Parts {
			if call, ok := p.(llm.Call); ok {
				change(&call)
				m.Parts[i] = call
			}
		}
		messages[at] = m
	}
	return messages
}

// Flatten gives a call the name that its tool has here.
func (n *Namespaces) Flatten(c *llm.Call) {
	raw := c.Extra[names.Responses][NamespaceField]
	if n == nil || raw == nil {
		return
	}
	name, ok := n.here[qualified{js.Text(raw), c.Name}]
	if !ok {
		return
	}
	c.Name = name
	own := maps.Clone(c.Extra[names.Responses])
	delete(own, NamespaceField)
	c.Extra = maps.Clone(c.Extra)
	if c.Extra[names.Responses] = own; len(own) == 0 {
		delete(c.Extra, names.Responses)
	}
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
}

// hasNamespace reports whether a call names a namespace.
func hasNamespace(c llm.Call) bool { return c.Extra[names.Responses][NamespaceField] != nil }

// spaceMark stands between a namespace and the name of a tool in it.
const spaceMark = "__"

// nameGone gives a call that still names a namespace, which is not offered any more, a name with that in it: its own, alone,
// may be that of a tool of the client's. Written in the Responses format it has its own again.
func nameGone(c *llm.Call) {
	if space := js.Text(c.Extra[names.Responses][NamespaceField]); space != "" {
		c.Name = space + spaceMark + c.Name
	}
}

// nameInSpace is the name that a call has in the namespace that it names.
func nameInSpace(c llm.Call) string {
	return strings.TrimPrefix(c.Name, js.Text(c.Extra[names.Responses][NamespaceField])+spaceMark)
}

// ItemName writes the name of a call in a conversation. A call whose own name includes a namespace is not of an offered
// namespace.
func (e *Encoder) ItemName(c llm.Call) {
	if hasNamespace(c) {
		e.StringField("name", nameInSpace(c))
		return
	}
	e.CallName(c.Name)
}

// flattenChoice gives the tools that a choice names with their namespaces the names that they have here.
func (n *Namespaces) flattenChoice(req *llm.Request) {
	own := req.Extra[names.Responses]
	if n == nil || len(own) == 0 {
		return
	}
	flat := func(at, name string) string {
		key := at + loss.NestedMark + NamespaceField
		here, ok := n.here[qualified{js.Text(own[key]), name}]
		if own[key] == nil || !ok {
			return name
		}
		delete(own, key)
		return here
	}
	ch := &req.Choice
	ch.Name = flat(ChoicePlace, ch.Name)
	for i, name := range ch.Allowed {
		ch.Allowed[i] = flat(strings.Replace(AllowedPlace, "*", strconv.Itoa(i), 1), name)
	}
	if len(own) == 0 {
		delete(req.Extra, names.Responses)
	}
}

// flattenNames gives tools of namespaces separate names, and renames the choice and the calls of the conversation
// accordingly.
func flattenNames(req *llm.Request) {
	count := make(map[string]int)
	for _, t := range req.Tools {
		count[t.Name]++
	}
	for i, t := range req.Tools {
		raw := t.Extra[names.Responses][NamespaceField]
		if raw == nil || count[t.Name] == 1 {
			continue
		}
		var space map[string]json.RawMessage
		if json.Unmarshal(raw, &space) != nil {
			continue
		}
		space[FunctionField] = js.AppendQuoted(nil, t.Name)
		name := js.Text(space["name"]) + spaceMark + t.Name
		for count[name] > 0 { // a tool of the client has that name already
			name += "_"
		}
		count[name]++
		req.Tools[i].Name = name
		req.Tools[i].Extra[names.Responses][NamespaceField], _ = json.Marshal(space)
	}
	names := NamespacesOf(req)
	names.flattenChoice(req)
	for _, m := range req.Messages {
		for i, p := range m.Parts {
			if call, ok := p.(llm.Call); ok {
				names.Flatten(&call)
				nameGone(&call)
				m.Parts[i] = call
			}
		}
	}
}

// The places of tool names in the choice of a Responses request.
const (
	ChoicePlace  = "/tool_choice"
	AllowedPlace = "/tool_choice/tools/*"
)
