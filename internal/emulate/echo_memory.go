package emulate

import (
	"cmp"
	"maps"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// maxRemembered limits the calls that are kept of outside text that was left out.
const maxRemembered = 100_000

// RememberCalls returns what the echo guard knows after messages leave a conversation:
// known, and a hash of each call of the tools in their outside text. It does not change known,
// which may be nil, and returns it if there are no such calls.
func RememberCalls(known *llm.EchoMemory, tools []llm.ToolDef, dialects *dialect.List, messages []llm.Message) *llm.EchoMemory {
	e := &echoes{unknown: known != nil && known.Unknown}
	e.addMessages(messages)
	passages := e.passages[:0]
	for _, p := range e.passages {
		if p.outside() {
			passages = append(passages, p)
		}
	}
	tools = Functions(tools)
	if len(passages) == 0 || len(tools) == 0 {
		return known
	}
	q := newQuotes(dialect.Parser{Tools: tools, Dialects: dialects}, passages)
	q.thorough = true
	for _, t := range tools {
		q.look(passages, t.Name)
	}
	if len(q.calls) == 0 {
		return known
	}
	next := *cmp.Or(known, &llm.EchoMemory{})
	if next.Calls = maps.Clone(next.Calls); next.Calls == nil {
		next.Calls = make(map[uint64]string)
	}
	for key, i := range q.calls {
		if _, there := next.Calls[key]; !there && len(next.Calls) >= maxRemembered {
			next.Full = true
			break
		}
		next.Calls[key] = "a part of the conversation that was left out, " + kindOfPlace(passages[i].place)
	}
	return &next
}

// remembered returns where outside text that is no longer in the conversation contained the call.
func (e *echoes) remembered(m *llm.EchoMemory, tools []llm.ToolDef, c llm.Call) (at passage, found bool) {
	if m == nil || len(m.Calls) == 0 && !m.Full {
		return passage{}, false
	}
	h := callHasher{tools: tools}
	key, says := h.hash(c, c.Provenance.Marked)
	place, found := m.Calls[key]
	switch {
	case !says:
		return passage{}, false
	case !found && m.Full:
		return passage{place: "a part of the conversation that was left out"}, true
	}
	return passage{place: place}, found
}

// kindOfPlace returns a place without the number of its message, which is another one later.
func kindOfPlace(place string) string {
	if _, kind, ok := strings.Cut(place, ", "); ok {
		return kind
	}
	return place
}
