package wire

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// notCarried is what the user says in place of a conversation of which nothing can be carried.
const notCarried = "(This message holds nothing that can be shown here.)"

// holdsMore reports whether a message holds more than text. A turn of which that was left out still has to be there, where the vendor
// wants the turns of both sides by turns; what is left of empty texts is a matter of who plans the request.
func holdsMore(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, text := p.(llm.Text); return !text })
}

// someMessage has write a message where nothing of the messages was written since begin: vendors refuse requests
// without any.
func (e *encoder) someMessage(begin int, list []llm.Message, write func([]llm.Message)) {
	if len(list) == 0 || len(e.Buf) > begin {
		return
	}
	e.lost(llm.Corrected, "history", "nothing of the conversation can be carried; the user says: "+notCarried)
	write([]llm.Message{llm.User(notCarried)})
}
