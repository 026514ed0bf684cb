package wire

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// namespaceField is the extra field of a tool that stands in a namespace of the Responses
// format: the namespace without its tools and, where the tool has another name here, the
// one it has there. Of a call it is the name of the namespace.
const (
	namespaceField = "namespace"
	functionField  = "function"
)

// qualified is a name within a namespace.
type qualified struct{ space, name string }

// namespaces are the tools of a request that stand in namespaces.
type namespaces struct {
	there map[string]qualified // by the name they have here
	here  map[qualified]string
}

// namespacesOf returns the tools of a request that stand in namespaces, and nil if there are none.
func namespacesOf(req *llm.Request) *namespaces {
	var names *namespaces
	for _, t := range req.Tools {
		raw := t.Extra[Responses][namespaceField]
		if raw == nil {
			continue
		}
		if names == nil {
			names = &namespaces{make(map[string]qualified), make(map[qualified]string)}
		}
		q := qualified{js.Text(js.Get(raw, "name")), cmp.Or(js.Text(js.Get(raw, functionField)), t.Name)}
		names.there[t.Name], names.here[q] = q, t.Name
	}
	return names
}

// callName writes the name of a call, and the namespace of its tool.
func (e *encoder) callName(name string) {
	if e.c.names == nil {
		e.StringField("name", name)
		return
	}
	q, ok := e.c.names.there[name]
	if !ok {
		e.StringField("name", name)
		return
	}
	e.StringField("name", q.name)
	e.StringField(namespaceField, q.space)
}

// spaced returns messages whose calls name their tools as the client does, with the
// namespace, for whoever keeps them: a later request may have other names for the same
// tools. Flat of its codec turns them round.
func (n *namespaces) spaced(messages []llm.Message) []llm.Message {
	if n == nil && !slices.ContainsFunc(messages, func(m llm.Message) bool { return slices.ContainsFunc(m.Calls(), isSpaced) }) {
		return messages
	}
	return eachCall(messages, func(call *llm.Call) {
		if isSpaced(*call) {
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
		own := maps.Clone(call.Extra[Responses])
		if own == nil {
			own = make(map[string]json.RawMessage)
		}
		own[namespaceField] = js.AppendQuoted(nil, q.space)
		if call.Extra = maps.Clone(call.Extra); call.Extra == nil {
			call.Extra = make(llm.Extra)
		}
		call.Extra[Responses] = own
	})
}

// flat returns messages that spaced returned with the names that their tools have in the
// request which the codec answers. Results have the names of their calls, also where several have one id.
func (n *namespaces) flat(messages []llm.Message) []llm.Message {
	flat := eachCall(messages, func(call *llm.Call) {
		if isSpaced(*call) {
			n.flatten(call)
			nameGone(call)
		}
	})
	var open openCalls
	last := make(map[string]*openCall)
	for at, m := range flat {
		open.message(m.Role)
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				was, _ := messages[at].Parts[i].(llm.Call)
				call := &openCall{}
				if isSpaced(was) {
					call.name = p.Name
				}
				last[p.ID] = call
				open.add(call, callKey{kind: byIDAndName, text: p.ID, name: was.Name}, callKey{kind: byID, text: p.ID})
			case llm.Result:
				keys := callKeys(p.CallID, p.Name)
				if call := cmp.Or(open.take(keys[:]...), last[p.CallID]); call != nil && call.name != "" {
					p.Name = call.name
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

// flatten gives a call the name that its tool has here.
func (n *namespaces) flatten(c *llm.Call) {
	raw := c.Extra[Responses][namespaceField]
	if n == nil || raw == nil {
		return
	}
	name, ok := n.here[qualified{js.Text(raw), c.Name}]
	if !ok {
		return
	}
	c.Name = name
	own := maps.Clone(c.Extra[Responses])
	delete(own, namespaceField)
	c.Extra = maps.Clone(c.Extra)
	if c.Extra[Responses] = own; len(own) == 0 {
		delete(c.Extra, Responses)
	}
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
}

// isSpaced reports whether a call names a namespace.
func isSpaced(c llm.Call) bool { return c.Extra[Responses][namespaceField] != nil }

// spaceMark stands between a namespace and the name of a tool in it.
const spaceMark = "__"

// nameGone gives a call that still names a namespace, which is not offered any more, a name with that in it: its own, alone,
// may be that of a tool of the client's. Written in the Responses format it has its own again.
func nameGone(c *llm.Call) {
	if space := js.Text(c.Extra[Responses][namespaceField]); space != "" {
		c.Name = space + spaceMark + c.Name
	}
}

// nameInSpace is the name that a call has in the namespace that it names.
func nameInSpace(c llm.Call) string {
	return strings.TrimPrefix(c.Name, js.Text(c.Extra[Responses][namespaceField])+spaceMark)
}

// itemName writes the name of a call in a conversation. One that names a namespace itself is of none that is offered.
func (e *encoder) itemName(c llm.Call) {
	if isSpaced(c) {
		e.StringField("name", nameInSpace(c))
		return
	}
	e.callName(c.Name)
}

// flattenChoice gives the tools that a choice names with their namespaces the names that they have here.
func (n *namespaces) flattenChoice(req *llm.Request) {
	own := req.Extra[Responses]
	if n == nil || len(own) == 0 {
		return
	}
	flat := func(at, name string) string {
		key := at + nestedMark + namespaceField
		here, ok := n.here[qualified{js.Text(own[key]), name}]
		if own[key] == nil || !ok {
			return name
		}
		delete(own, key)
		return here
	}
	ch := &req.Choice
	ch.Name = flat(choicePlace, ch.Name)
	for i, name := range ch.Allowed {
		ch.Allowed[i] = flat(strings.Replace(allowedPlace, "*", strconv.Itoa(i), 1), name)
	}
	if len(own) == 0 {
		delete(req.Extra, Responses)
	}
}

// flattenNames gives the tools of namespaces names of their own, and the choice and the
// calls of the conversation those of their tools.
func flattenNames(req *llm.Request) {
	count := make(map[string]int)
	for _, t := range req.Tools {
		count[t.Name]++
	}
	for i, t := range req.Tools {
		raw := t.Extra[Responses][namespaceField]
		if raw == nil || count[t.Name] == 1 {
			continue
		}
		var space map[string]json.RawMessage
		if json.Unmarshal(raw, &space) != nil {
			continue
		}
		space[functionField] = js.AppendQuoted(nil, t.Name)
		name := js.Text(space["name"]) + spaceMark + t.Name
		for count[name] > 0 { // a tool of the client has that name already
			name += "_"
		}
		count[name]++
		req.Tools[i].Name = name
		req.Tools[i].Extra[Responses][namespaceField], _ = json.Marshal(space)
	}
	names := namespacesOf(req)
	names.flattenChoice(req)
	for _, m := range req.Messages {
		for i, p := range m.Parts {
			if call, ok := p.(llm.Call); ok {
				names.flatten(&call)
				nameGone(&call)
				m.Parts[i] = call
			}
		}
	}
}

// decodeNamespace returns the tools of a namespace, and false if it holds anything but
// tools that the client runs.
func (r responses) decodeNamespace(d *decoder, v []byte) ([]llm.ToolDef, bool) {
	space := make(map[string]json.RawMessage)
	var inner []byte
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "tools":
			inner = val
		case "name":
			d.str(val)
			space[string(key)] = slices.Clone(val)
		default:
			space[string(key)] = slices.Clone(val)
		}
	}
	if !d.array(inner) || js.Text(space["name"]) == "" || space[functionField] != nil {
		return nil, false
	}
	raw, err := json.Marshal(space)
	if err != nil {
		return nil, false
	}
	var tools []llm.ToolDef
	for el := range d.elements(inner) {
		if kind := d.str(d.get(el, "type")); js.Kind(el) != '{' || d.get(el, namespaceField) != nil || kind != "function" && kind != "custom" {
			return nil, false
		}
		t := r.decodeTool(d, el)
		d.extraNamed(&t.Extra, namespaceField, raw)
		tools = append(tools, t)
	}
	return tools, len(tools) > 0
}

// encodeNamespace writes the first tools of a list that stand in one namespace, and
// returns how many these are.
func (r responses) encodeNamespace(e *encoder, tools []llm.ToolDef) int {
	space, _ := spaceOf(tools[0])
	e.Object()
	e.StringField("type", "namespace")
	for _, key := range slices.Sorted(maps.Keys(space)) {
		e.AnyKey(key)
		e.Raw(space[key])
	}
	e.Key("tools")
	e.Array()
	n := 0
	for _, t := range tools {
		next, name := spaceOf(t)
		if next == nil || !maps.EqualFunc(space, next, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			break
		}
		t.Name = name
		own := maps.Clone(t.Extra[Responses])
		delete(own, namespaceField)
		t.Extra = maps.Clone(t.Extra)
		t.Extra[Responses] = own
		r.encodeTool(e, t)
		n++
	}
	e.EndArray()
	e.End()
	return n
}

// spaceOf returns the namespace that a tool stands in, nil if there is none, and the name
// that it has there.
func spaceOf(t llm.ToolDef) (map[string]json.RawMessage, string) {
	var space map[string]json.RawMessage
	if raw := t.Extra[Responses][namespaceField]; raw == nil || json.Unmarshal(raw, &space) != nil {
		return nil, t.Name
	}
	name := cmp.Or(js.Text(space[functionField]), t.Name)
	delete(space, functionField)
	return space, name
}

// The places of tool names in the choice of a Responses request.
const (
	choicePlace  = "/tool_choice"
	allowedPlace = "/tool_choice/tools/*"
)
