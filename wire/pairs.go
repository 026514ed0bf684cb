package wire

import "github.com/toolpost/toolpost/llm"

// openCalls are the calls of a history that wait for their results. A result belongs to the nearest turn before it in
// which a call with its key waits, and there to the first that does: ids are used again in later turns, and by servers
// that count badly for all calls of a turn. The zero value is ready to use. Each step takes the same time, however
// long the history is.
type openCalls struct {
	turn int
	by   map[callKey][]openTurn
}

// callKey is what a result knows of its call.
type callKey struct {
	kind keyKind
	text string
	name string // of the tool, beside the id of byIDAndName
}

// callKeys are those of a result with an id, and of the call that it answers: where two calls of a turn have one id, the name tells them apart.
func callKeys(id, name string) [2]callKey {
	return [2]callKey{{byIDAndName, id, name}, {kind: byID, text: id}}
}

// keyKind says what the text of a key is.
type keyKind uint8

const (
	byID keyKind = iota
	byIDAndName
	byName
	byMintedName // of a call that came without an id
	anyCall      // there is no text
	anyMinted
)

// openTurn are the calls of one turn with one key, in their order.
type openTurn struct {
	turn  int
	calls []*openCall
}

// openCall is a call that may wait for its result.
type openCall struct {
	id, name string
	at       int // its place among the calls of the history
	answered bool
}

// message notes that the next calls are of a message of that role. What others say ends a turn of the model.
func (o *openCalls) message(role llm.Role) {
	if role != llm.RoleAssistant {
		o.turn++
	}
}

// add adds a call under its keys.
func (o *openCalls) add(c *openCall, keys ...callKey) {
	if o.by == nil {
		o.by = make(map[callKey][]openTurn)
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

// take returns the call that the next result with one of the keys answers, and nil if none waits. The first key for
// which one does decides.
func (o *openCalls) take(keys ...callKey) *openCall {
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

// knows reports whether there was a call with the key.
func (o *openCalls) knows(key callKey) bool {
	_, there := o.by[key]
	return there
}

// nameResults gives each result without a name that of the call it answers. A second result of a call is named after the
// last with its id.
func nameResults(messages []llm.Message) {
	var open openCalls
	last := make(map[string]string)
	for _, m := range messages {
		open.message(m.Role)
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				last[p.ID] = p.Name
				keys := callKeys(p.ID, p.Name)
				open.add(&openCall{name: p.Name}, keys[:]...)
			case llm.Result:
				name := last[p.CallID]
				keys := callKeys(p.CallID, p.Name)
				if c := open.take(keys[:]...); c != nil {
					name = c.name
				}
				if p.Name == "" {
					p.Name = name
					m.Parts[i] = p
				}
			}
		}
	}
}

// callMatcher gives ids to calls without one, and finds the calls that results
// without an id answer: one of that name without a result, or else any
// without a result. A result with an id that no call has answers a call that
// came without one: some clients name it themselves.
type callMatcher struct {
	open   openCalls
	ids    llm.CallIDs
	hosted hostedIDs
}

func (c *callMatcher) match(role llm.Role, parts []llm.Part) {
	c.open.message(role)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Call:
			if p.Hosted {
				p.ID = c.hosted.call(p.ID)
			} else {
				p.ID = c.call(p)
			}
			parts[i] = p
		case llm.Result:
			if p.Hosted {
				p.CallID = c.hosted.result(p.CallID)
			} else {
				p.CallID = c.answered(p)
			}
			parts[i] = p
		}
	}
}

// call notes a call, and returns its id.
func (c *callMatcher) call(p llm.Call) string {
	keys := append(make([]callKey, 0, 6), callKey{kind: byName, text: p.Name}, callKey{kind: anyCall})
	id := p.ID
	if id == "" {
		id = c.ids.Take("")
		keys = append(keys, callKey{kind: byMintedName, text: p.Name}, callKey{kind: anyMinted})
	} else {
		c.ids.Use(id)
		c.ids.After++ // the number of a call is its place
	}
	own := callKeys(id, p.Name)
	c.open.add(&openCall{id: id}, append(keys, own[:]...)...)
	return id
}

// answered returns the id of the call that a result answers, and that of the result if there is none.
func (c *callMatcher) answered(r llm.Result) string {
	own := callKeys(r.CallID, r.Name)
	keys := []callKey{{kind: byName, text: r.Name}, {kind: anyCall}}
	switch {
	case r.CallID != "" && r.Name == "":
		keys = []callKey{own[1], {kind: anyMinted}}
	case r.CallID != "":
		keys = []callKey{own[0], own[1], {kind: byMintedName, text: r.Name}}
	}
	if call := c.open.take(keys...); call != nil {
		return call.id
	}
	return r.CallID
}
