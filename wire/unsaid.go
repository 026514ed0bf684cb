package wire

import "github.com/toolpost/toolpost/llm"

// notCarried is what the user says in place of a conversation of which nothing can be carried.
const notCarried = "(This message holds nothing that can be shown here.)"

// someMessage has write a message where nothing of the messages was written since begin: vendors refuse requests
// without any.
func (e *encoder) someMessage(begin int, list []llm.Message, write func([]llm.Message)) {
	if len(list) == 0 || len(e.Buf) > begin {
		return
	}
	e.lost(llm.Corrected, "history", "nothing of the conversation can be carried; the user says: "+notCarried)
	write([]llm.Message{llm.User(notCarried)})
}
