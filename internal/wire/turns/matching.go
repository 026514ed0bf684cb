package turns

import (
	"github.com/toolpost/toolpost/llm"
)

// OpenCalls are the calls of a history that wait for their results. A result belongs to the nearest turn before it in
// which a call with its key waits, and there to the first that does: ids are used again in later turns, and by servers
// that count badly for all calls of a turn. The zero value is ready to use. Each step takes the same time, however
// long the history is.
type OpenCalls struct {
	turn int
	by   map[CallKey][]openTurn
}

// CallKey is what a result knows of its call.
type CallKey struct {
	Kind keyKind
	Text string
	Name string // of the tool, together with the id of byIDAndName
}

// CallKeys are those of a result with an id, and of the call that it answers: where two calls of a turn have one id, the name tells them apart.
func CallKeys(id, name string) [2]CallKey {
	return [2]CallKey{{ByIDAndName, id, name}, {Kind: ByID, Text: id}}
}

// keyKind is the meaning of a key's text.
type keyKind uint8

const (
	ByID keyKind = iota
	ByIDAndName
	byName
	byMintedName // of a call that came without an id
	anyCall      // the text is empty
	anyMinted
)

// openTurn are the calls of one turn with one key, in their order.
type openTurn struct {
	turn  int
	calls []*OpenCall
}

// OpenCall is a call that may wait for its result.
type OpenCall struct {
	id, Name string
	At       int // its place among the calls of the history
	answered bool
}

// Message notes that the next calls are of a message of that role. What others say ends a turn of the model.
func (o *OpenCalls) Message(role llm.Role) {
	if role != llm.RoleAssistant {
		o.turn++
	}
}

// Add adds a call under its keys.
func (o *OpenCalls) Add(c *OpenCall, keys ...CallKey) {
	if o.by == nil {
		o.by = make(map[CallKey][]openTurn)
	}
	for _, key := range keys {
		turns := o.by[key]
		if n := len(turns); n == 0 || turns[n-1].turn != o.turn {
			turns = append(turns, openTurn{turn: o.turn})
		}
		last := &turns[len(turns)-1]
		last.calls = append(last.calls, c)
		o.by[key] = turns
	}
}

// Take returns the call that the next result with one of the keys answers, and nil if none waits. The first key for
// which one does decides.
func (o *OpenCalls) Take(keys ...CallKey) *OpenCall {
	for _, key := range keys {
		turns := o.by[key]
		for n := len(turns); n > 0; n = len(turns) {
			last := &turns[n-1]
			for len(last.calls) > 0 {
				c := last.calls[0]
				last.calls = last.calls[1:]
				if !c.answered {
					c.answered = true
					o.by[key] = turns
					return c
				}
			}
			turns = turns[:n-1]
		}
		if len(o.by[key]) > 0 {
			o.by[key] = turns
		}
	}
	return nil
}

// Knows reports whether there was a call with the key.
func (o *OpenCalls) Knows(key CallKey) bool {
	_, there := o.by[key]
	return there
}

// NameResults gives each result without a name that of the call it answers. A second result of a call is named after the
// last with its id.
func NameResults(messages []llm.Message) {
	var open OpenCalls
	last := make(map[string]string)
	for _, m := range messages {
		open.Message(m.Role)
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				last[p.ID] = p.Name
				keys := CallKeys(p.ID, p.Name)
				open.Add(&OpenCall{Name: p.Name}, keys[:]...)
			case llm.Result:
				name := last[p.CallID]
				keys := CallKeys(p.CallID, p.Name)
				if c := open.Take(keys[:]...); c != nil {
					name = c.Name
				}
				if p.Name == "" {
					p.Name = name
					m.Parts[i] = p
				}
			}
		}
	}
}

// CallMatcher gives ids to calls without one, and finds the calls that results
// without an id answer: one of that name without a result, or else any
// without a result. A result with an id that no call has answers a call that
// came without one: some clients name it themselves.
type CallMatcher struct {
	open   OpenCalls
	ids    llm.CallIDs
	hosted HostedIDs
}

func (c *CallMatcher) Match(role llm.Role, parts []llm.Part) {
	c.open.Message(role)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Call:
			if p.Hosted {
				p.ID = c.hosted.Call(p.ID)
			} else {
				p.ID = c.call(p)
			}
			parts[i] = p
		case llm.Result:
			if p.Hosted {
				p.CallID = c.hosted.Result(p.CallID)
			} else {
				p.CallID = c.answered(p)
			}
			parts[i] = p
		}
	}
}

// call notes a call, and returns its id.
func (c *CallMatcher) call(p llm.Call) string {
	keys := append(make([]CallKey, 0, 6), CallKey{Kind: byName, Text: p.Name}, CallKey{Kind: anyCall})
	id := p.ID
	if id == "" {
		id = c.ids.Take("")
		keys = append(keys, CallKey{Kind: byMintedName, Text: p.Name}, CallKey{Kind: anyMinted})
	} else {
		c.ids.Use(id)
		c.ids.After++ // the number of a call is its place
	}
	own := CallKeys(id, p.Name)
	c.open.Add(&OpenCall{id: id}, append(keys, own[:]...)...)
	return id
}

// answered returns the id of the call that a result answers, and that of the result if there is none.
func (c *CallMatcher) answered(r llm.Result) string {
	own := CallKeys(r.CallID, r.Name)
	keys := []CallKey{{Kind: byName, Text: r.Name}, {Kind: anyCall}}
	switch {
	case r.CallID != "" && r.Name == "":
		keys = []CallKey{own[1], {Kind: anyMinted}}
	case r.CallID != "":
		keys = []CallKey{own[0], own[1], {Kind: byMintedName, Text: r.Name}}
	}
	if call := c.open.Take(keys...); call != nil {
		return call.id
	}
	return r.CallID
}
