// Package smallmodel decides for very small models: whether a tool is called, which
// one, and which values its arguments may have. It decides by the words of the
// conversation; the tables of days, places and phrases are English.
package smallmodel

import (
	"strings"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// Wording decides by the words of a request. It implements emulate.Decider, and its
// zero value is ready to use.
type Wording struct{}

// conversation is the last request of the user, and the events since then.
type conversation struct {
	text   string // the request, after the request before it if it continues that one
	calls  []llm.Call
	rounds int
	done   bool // results of calls follow the request
	// known is the text of all requests and results.
	known string
}

// Request returns the last request of the user.
func (t *conversation) Request() string { return t.text }

// Answered reports whether results of calls follow the request.
func (t *conversation) Answered() bool { return t.done }

// Refers reports whether the request names something that only a tool can look at.
func (t *conversation) Refers(tools []llm.ToolDef) bool {
	return taskOf(t.text).deed != noDeed || len(namedIn(tools, t.text)) > 0
}

// Evidence returns what the conversation says about the arguments of a tool.
func (t *conversation) Evidence(tool llm.ToolDef) emulate.Evidence { return t.evidence(tool) }

// maxKnown bounds how much of a conversation is searched for values.
const maxKnown = 16 << 10

// Conversation reads the messages of a request.
func (Wording) Conversation(messages []llm.Message) emulate.Conversation {
	return conversationOf(messages)
}

func conversationOf(messages []llm.Message) *conversation {
	var t conversation
	var known []string
	before := ""
	for _, m := range messages {
		if text := strings.TrimSpace(m.Text()); m.Role == llm.RoleUser && text != "" {
			before, t = t.text, conversation{text: text}
			known = append(known, text)
		}
		if calls := m.Calls(); len(calls) > 0 {
			t.calls = append(t.calls, calls...)
			t.rounds++
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				t.done = true
				known = append(known, r.Text())
			}
		}
	}
	if before != "" && continues(t.text) {
		t.text = before + "\n" + t.text
	}
	t.known = strings.Join(known, "\n")
	if len(t.known) > maxKnown {
		t.known = t.known[len(t.known)-maxKnown:]
	}
	return &t
}

// continues reports whether a request only makes sense with the one before: "And
// in Rome?".
func continues(text string) bool {
	text = strings.ToLower(text)
	if len(strings.Fields(text)) > 8 {
		return false
	}
	for _, start := range []string{"and ", "what about ", "how about ", "now ", "also ", "the same ", "same ", "again"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}
