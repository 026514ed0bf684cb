package llm

import "strings"

// TextOrigin is where the text of a conversation comes from. It stays with the text in the
// record, in a summary, and with another model. A call in text that repeats text of outside
// origin is an echo, and is not run.
type TextOrigin string

// The origins. A [Text] without an origin has the one of its role; see [Message.OriginOf].
const (
	OriginOperator    TextOrigin = "operator"    // the system prompt and instructions of the program
	OriginUser        TextOrigin = "user"        // the user's own words
	OriginDocument    TextOrigin = "document"    // a file, standard input, an attachment, a prompt of a server
	OriginModel       TextOrigin = "model"       // an answer of a model
	OriginResult      TextOrigin = "result"      // the result of a tool
	OriginDescription TextOrigin = "description" // a tool definition that did not come with the program
	OriginUnknown     TextOrigin = "unknown"     // kept by an older release, which did not record origins
)

// summaryPrefix begins the origin of a summary, like "summary of result".
const summaryPrefix = "summary of "

// Outside reports whether neither the program, the user nor the model wrote the text.
// Summaries of such text and unknown origins are outside, too.
func (o TextOrigin) Outside() bool {
	switch o.source() {
	case "", OriginOperator, OriginUser, OriginModel:
		return false
	}
	return true
}

// Summary returns the origin of a summary of text of origin o.
func (o TextOrigin) Summary() TextOrigin {
	if o == "" {
		o = OriginModel
	}
	return summaryPrefix + o.source()
}

// source returns the origin without "summary of".
func (o TextOrigin) source() TextOrigin {
	return TextOrigin(strings.TrimPrefix(string(o), summaryPrefix))
}

// OriginOf returns the origin of a part of m.
func (m Message) OriginOf(p Part) TextOrigin {
	switch p := p.(type) {
	case Result:
		return OriginResult
	case Media:
		if m.Role != RoleAssistant {
			return OriginDocument
		}
	case Text:
		switch {
		case p.Ours:
			return OriginOperator
		case p.Origin != "":
			return p.Origin
		}
		switch m.Role {
		case RoleUser:
			return OriginUser
		case RoleTool:
			return OriginResult
		case RoleSystem, RoleDeveloper:
			return OriginOperator
		}
	}
	return OriginModel
}

// OriginOfSummary returns the origin of a text that summarises messages: that of the most
// distant text in them.
func OriginOfSummary(messages []Message) TextOrigin {
	from := OriginModel
	for _, m := range messages {
		for _, p := range m.Parts {
			switch o := m.OriginOf(p); {
			case o.Outside():
				return o.Summary()
			case o.source() == OriginUser:
				from = OriginUser
			}
		}
	}
	return from.Summary()
}

// EchoMemory is what the echo guard knows about text that is not, or no longer, among the
// messages of a request. It is never sent.
type EchoMemory struct {
	// Calls is where outside text contained a call, by the hash of the call.
	Calls map[uint64]string `json:"calls,omitempty"`
	// Full reports that there were too many calls to keep: each call in text may be an echo.
	Full bool `json:"full,omitempty"`
	// Unknown reports that the record of the conversation has no origins: text in the user's
	// messages may come from a document.
	Unknown bool `json:"unknown,omitempty"`
}
