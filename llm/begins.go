package llm

// Begins reports whether ev begins an answer: it is a piece of text or thinking, media,
// or a call or its beginning. All other events, also those of other packages, may come
// before an answer that never begins. Until an answer has begun, a wrapper of a model
// may ask again, or ask another model.
func Begins(ev Event) bool {
	switch ev := ev.(type) {
	case TextDelta:
		return ev.Text != "" || ev.Part != nil
	case ThinkingDelta:
		return ev.Text != "" || ev.Part != nil
	case Media, CallStart, CallDelta, Call, InvalidCall, HostedCall, HostedResult:
		return true
	case Alternative:
		return Begins(ev.Event)
	}
	return false
}
