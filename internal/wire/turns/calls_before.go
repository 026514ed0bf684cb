package turns

import (
	"github.com/toolpost/toolpost/llm"

	"strconv"
	"strings"
)

// CallsBefore returns [llm.CallIDs.After] for an answer to messages: the number of calls they hold, or the highest number
// in an id that CallIDs gave, if that is higher. Clients omit the beginning of long conversations, and the ids in the
// rest do not change. It is not inlined: plans are made deep in the stack of a request, and a stack that grew once
// stays that large until the answer ends.
//
//go:noinline
func CallsBefore(messages []llm.Message) int {
	calls, last := 0, 0
	for _, msg := range messages {
		for _, p := range msg.Parts {
			switch p := p.(type) {
			case llm.Call:
				if !p.Hosted {
					calls++
				}
				last = max(last, numbered(p.ID))
			case llm.Result:
				last = max(last, numbered(p.CallID))
			}
		}
	}
	return max(calls, last)
}

// maxNumbered limits the digits of a number in an id: a longer number is part of a vendor's id.
const maxNumbered = 15

// numbered returns the number in an id that was numbered, also of a call that was read from text, and 0 if it was not.
func numbered(id string) int {
	digits, ok := strings.CutPrefix(id, "call_")
	if digits = strings.TrimPrefix(digits, "text_"); !ok || len(digits) > maxNumbered {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
