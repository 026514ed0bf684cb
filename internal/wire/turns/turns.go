// Package turns matches the results of a conversation with their calls and divides messages into turns.
package turns

import (
	"cmp"
	"slices"

	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

func IsMedia(p llm.Part) bool {
	_, ok := p.(llm.Media)
	return ok
}

// NotCarried replaces a turn of which no part could be carried.
const NotCarried = "(This message holds nothing that can be shown here.)"

// turnSides are the roles whose turns are replaced by [NotCarried], and their names in warnings. Instructions that
// cannot be carried are dropped.
var turnSides = map[llm.Role]string{llm.RoleUser: "the user", llm.RoleAssistant: "the model"}

// HoldsMore reports whether a message has parts other than text, or parts that only a vendor can read. A turn that
// loses such parts must still exist, because vendors require alternating roles. Empty texts are handled by the planner
// of the request.
func HoldsMore(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { t, text := p.(llm.Text); return !text || !t.State.IsZero() })
}

// Speaker is the side that says a message. Results are the user's.
func Speaker(r llm.Role) llm.Role {
	switch r {
	case llm.RoleTool:
		return llm.RoleUser
	case llm.RoleDeveloper:
		return llm.RoleSystem
	}
	return r
}

// conversation is a list of messages as turns: all that one side says in a row is one.
type conversation struct {
	list        []llm.Message
	first, last int // of the messages of the user
}

func ConversationOf(list []llm.Message) conversation {
	c := conversation{list, len(list), -1}
	for i, m := range list {
		if Speaker(m.Role) == llm.RoleUser {
			c.first, c.last = min(c.first, i), i
		}
	}
	return c
}

// End returns where the turn ends that begins at a place.
func (c conversation) End(from int) int {
	side, to := Speaker(c.list[from].Role), from+1
	for to < len(c.list) && Speaker(c.list[to].Role) == side {
		to++
	}
	return to
}

// StandIn returns the message in place of a turn of which nothing can be carried, and notes it. A turn that said nothing has none, nor has
// one of the model at either end: the conversation would begin with it, or the model would go on from words that are not its own.
func (c conversation) StandIn(l *loss.Log, from, to int) (llm.Message, bool) {
	side := Speaker(c.list[from].Role)
	of, known := turnSides[side]
	atEnd := side == llm.RoleAssistant && (c.first >= from || c.last < to)
	if !known || atEnd || !slices.ContainsFunc(c.list[from:to], HoldsMore) {
		return llm.Message{}, false
	}
	l.Lost(llm.Corrected, "history", "nothing of a turn of "+of+" can be carried; it says: "+NotCarried)
	return llm.Message{Role: side, Parts: []llm.Part{llm.Text{Text: NotCarried}}}, true
}

// ResultLabel introduces what a result holds, where it is sent in another message than the result.
func ResultLabel(r llm.Result) string {
	return "From the result of " + cmp.Or(r.Name, "call") + " " + r.CallID + ":"
}
