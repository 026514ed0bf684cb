package wire

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// notCarried is what stands in place of a turn of which nothing can be carried.
const notCarried = "(This message holds nothing that can be shown here.)"

// turnSides are the sides that say [notCarried] in place of a turn, and how a warning calls them. Nobody misses instructions of which
// nothing can be carried.
var turnSides = map[llm.Role]string{llm.RoleUser: "the user", llm.RoleAssistant: "the model"}

// holdsMore reports whether a message holds more than text, or what only a vendor can read. A turn of which that was left out still has
// to be there, since vendors want both sides to speak by turns; what is left of empty texts is a matter of who plans the request.
func holdsMore(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { t, text := p.(llm.Text); return !text || !t.State.IsZero() })
}

// speaker is the side that says a message. Results are the user's.
func speaker(r llm.Role) llm.Role {
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

func conversationOf(list []llm.Message) conversation {
	c := conversation{list, len(list), -1}
	for i, m := range list {
		if speaker(m.Role) == llm.RoleUser {
			c.first, c.last = min(c.first, i), i
		}
	}
	return c
}

// end returns where the turn ends that begins at a place.
func (c conversation) end(from int) int {
	side, to := speaker(c.list[from].Role), from+1
	for to < len(c.list) && speaker(c.list[to].Role) == side {
		to++
	}
	return to
}

// standIn returns the message in place of a turn of which nothing can be carried, and notes it. A turn that said nothing has none, nor has
// one of the model at either end: the conversation would begin with it, or the model would go on from words that are not its own.
func (c conversation) standIn(l *losses, from, to int) (llm.Message, bool) {
	side := speaker(c.list[from].Role)
	of, known := turnSides[side]
	atEnd := side == llm.RoleAssistant && (c.first >= from || c.last < to)
	if !known || atEnd || !slices.ContainsFunc(c.list[from:to], holdsMore) {
		return llm.Message{}, false
	}
	l.lost(llm.Corrected, "history", "nothing of a turn of "+of+" can be carried; it says: "+notCarried)
	return llm.Message{Role: side, Parts: []llm.Part{llm.Text{Text: notCarried}}}, true
}

// turns has write say a conversation, a turn at a time, and takes care that none is missing of which write could say nothing. A conversation
// of which nothing can be carried is one turn of the user: vendors refuse requests without any.
func (e *encoder) turns(list []llm.Message, write func([]llm.Message)) {
	begin, c := len(e.Buf), conversationOf(list)
	for from := 0; from < len(list); {
		to, mark := c.end(from), len(e.Buf)
		write(list[from:to])
		if len(e.Buf) == mark {
			if m, needed := c.standIn(&e.losses, from, to); needed {
				write([]llm.Message{m})
			}
		}
		from = to
	}
	if len(list) > 0 && len(e.Buf) == begin {
		e.lost(llm.Corrected, "history", "nothing of the conversation can be carried; the user says: "+notCarried)
		write([]llm.Message{llm.User(notCarried)})
	}
}

// withoutGaps returns the healed messages without those of which nothing is left, which stand among them as they came. What was a turn stays one.
func (h *healing) withoutGaps() []llm.Message {
	if len(h.gaps) == 0 {
		return h.out
	}
	var out []llm.Message
	c := conversationOf(h.out)
	for from := 0; from < len(h.out); {
		to, n := c.end(from), len(out)
		for i := from; i < to; i++ {
			if !h.gaps[i] {
				out = append(out, h.out[i])
			}
		}
		if len(out) == n {
			if m, needed := c.standIn(&h.notes, from, to); needed {
				out = append(out, m)
			}
		}
		from = to
	}
	return out
}
