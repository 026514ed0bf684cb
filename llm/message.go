package llm

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"
)

// Role is the author of a message.
type Role string

// The roles. Tool results are in a message of role Tool, whatever the vendor
// calls it.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role
	Parts []Part
	Extra Extra
}

// System returns an instruction that is one of the messages.
func System(text string) Message {
	return Message{Role: RoleSystem, Parts: []Part{Text{Text: text}}}
}

// User returns a message of the user: the attached parts, like images and documents, and then the text. An attached
// Text without an origin counts as a document. With attached
// parts the text may be empty. Pointers to parts count as the parts they point to; nil is skipped.
func User(text string, with ...Part) Message {
	parts := make([]Part, 0, len(with)+1)
	for _, p := range with {
		switch p := p.(type) {
		case nil:
		case *Media:
			if p != nil {
				parts = append(parts, *p)
			}
		case *Text:
			if p != nil {
				parts = append(parts, attached(*p))
			}
		case Text:
			parts = append(parts, attached(p))
		default:
			parts = append(parts, p)
		}
	}
	if text != "" || len(parts) == 0 {
		parts = append(parts, Text{Text: text})
	}
	return Message{Role: RoleUser, Parts: parts}
}

// attached returns a text that is attached to a message: a document, unless it has another origin.
func attached(t Text) Text {
	if t.Origin == "" && !t.Ours {
		t.Origin = OriginDocument
	}
	return t
}

// Note returns a message in the user's place that this library wrote itself.
func Note(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{Text{Text: text, Ours: true}}}
}

// Assistant returns a message of the model.
func Assistant(parts ...Part) Message {
	return Message{Role: RoleAssistant, Parts: parts}
}

// Results returns the message that answers calls.
func Results(results ...Result) Message {
	m := Message{Role: RoleTool}
	for _, r := range results {
		m.Parts = append(m.Parts, r)
	}
	return m
}

// Text returns the text parts of m, joined. Refusals count as text.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Calls returns the calls of m in order, without the calls that the provider ran itself.
func (m Message) Calls() []Call {
	var calls []Call
	for _, p := range m.Parts {
		if c, ok := p.(Call); ok && !c.Hosted {
			calls = append(calls, c)
		}
	}
	return calls
}

// Part is a piece of a message: a [Text], [Thinking], [Media], [Call] or
// [Result]. The set is closed.
type Part interface {
	part()
}

// Text is a piece of text.
type Text struct {
	Text string
	// Refusal marks text in which the model declines to answer.
	Refusal bool
	// Ours marks text that this library added to a conversation: the error in
	// an answer or a call, and how to correct it. It may quote the model, so
	// calls are not compared with it.
	Ours bool
	// Origin is where the text comes from; empty means the origin of the role. See
	// [Message.OriginOf].
	Origin    TextOrigin
	Citations []Citation
	// LogProbs are the log probabilities of its tokens, if the request asked
	// for them. Only answers have them.
	LogProbs *LogProbs
	State    State
	Extra    Extra
}

// LogProbs are the log probabilities of the tokens of a text, in order, one
// value of the vendor's own form a token.
type LogProbs struct {
	Form   string            `json:"form"` // whose form it is, like "openai"
	Tokens []json.RawMessage `json:"tokens"`
}

// Citation is the source of a stretch of text.
type Citation struct {
	URL   string
	Title string
	Quote string // the words quoted from the source
	// Start and End delimit the stretch in the text, in the vendor's unit; both
	// are 0 if the vendor does not give them.
	Start, End int
	// Raw is the vendor's form, for the way back.
	Raw State
}

// Thinking is the text of a model before its answer. It is shown, recorded and
// sent back to its vendor, and never searched for calls.
type Thinking struct {
	Text string
	// Redacted marks thinking the vendor keeps to itself; only State is there.
	Redacted bool
	State    State
	Extra    Extra
}

// MediaKind is the kind of a Media part.
type MediaKind string

// The kinds of media.
const (
	Image    MediaKind = "image"
	Audio    MediaKind = "audio"
	Video    MediaKind = "video"
	Document MediaKind = "document"
)

// Media is an image, a sound, a film or a document. One of Data, URL and ID
// holds or locates it.
type Media struct {
	Kind  MediaKind
	MIME  string
	Name  string // a file name or title
	Data  []byte
	URL   string
	ID    string // a file the vendor already holds
	State State
	Extra Extra
}

// Check reports why the media type of m cannot be that of its kind, or nil. It does not look at the bytes, and it
// accepts an empty type.
func (m Media) Check() error {
	if m.MIME == "" {
		return nil
	}
	typ, _, err := mime.ParseMediaType(m.MIME)
	family, sub, _ := strings.Cut(typ, "/")
	switch {
	case err != nil || family == "" || sub == "":
		return fmt.Errorf("%q is not a media type; one is written like image/png", m.MIME)
	case m.Kind == Document && (family == "audio" || family == "video"), (m.Kind == Image || m.Kind == Audio || m.Kind == Video) && family != string(m.Kind):
		return fmt.Errorf("%s is not a type for a part of the kind %s", typ, m.Kind)
	}
	return nil
}

// Call is a complete call of a tool, as part of a message and as an event.
type Call struct {
	// ID is unique within a conversation.
	ID   string
	Name string
	// Args is one JSON value: an object for a function tool, a string for a
	// free-text tool. It is the model's text after the repairs of Provenance.
	// It has not been validated.
	Args json.RawMessage
	Kind ToolKind
	// Hosted marks a call that the provider runs itself.
	Hosted     bool
	Provenance Provenance
	State      State
	Extra      Extra
}

// Provenance describes the origin of a call.
type Provenance struct {
	// Dialect is the text dialect the call was written in; empty means the
	// vendor delivered it as a call.
	Dialect string
	// Marked reports that the text began with a marker of the dialect, or had
	// the form that the request taught. See [Provenance.Source].
	Marked bool
	// Echo is where the user's messages hold the same text, if they do: the
	// user may have asked for the call, or only quoted it.
	Echo    string
	Repairs []Repair
	// Truncated marks a call that was cut off. It must never be run.
	Truncated bool
}

// Worst returns the most doubtful class among the repairs, and Intact if there
// are none. A truncated call is Truncation.
func (p Provenance) Worst() RepairClass {
	if p.Truncated {
		return Truncation
	}
	worst := Intact
	for _, r := range p.Repairs {
		worst = max(worst, r.Class)
	}
	return worst
}

// Doubtful reports whether the call may not be meant, or may be meant otherwise.
// A read-only tool runs it. For any other tool, the model or a person has to
// confirm it first.
func (p Provenance) Doubtful() bool { return p.Worst() == Guess }

// Doubt returns the repair that makes the call doubtful: the first that records a doubt whether the call is meant,
// else the first guess. It reports false if the call is not doubtful.
func (p Provenance) Doubt() (doubt Repair, ok bool) {
	for _, r := range p.Repairs {
		switch {
		case r.Doubts():
			return r, p.Doubtful()
		case r.Class == Guess && doubt.Rule == "":
			doubt = r
		}
	}
	return doubt, p.Doubtful()
}

// RepairClass is the doubt whether a repair kept the meaning. Greater is more
// doubtful.
type RepairClass uint8

// The classes of repair, from harmless to fatal.
const (
	Intact     RepairClass = iota // not repaired
	Syntax                        // another spelling of the same value: 'a' for "a", a trailing comma
	Coercion                      // another type for the same value, as the schema demands: "3" for 3
	Completion                    // a closer was missing at the very end of an answer that ended normally
	Guess                         // other readings are possible
	Truncation                    // the text was cut off
)

var classNames = [...]string{"intact", "syntax", "coercion", "completion", "guess", "truncated"}

// String returns the class in lower case.
func (c RepairClass) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// MarshalText makes the class a word in JSON.
func (c RepairClass) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText decodes the output of MarshalText. An unknown word becomes
// Truncation, the class that is never run.
func (c *RepairClass) UnmarshalText(b []byte) error {
	*c = Truncation
	for i, name := range classNames {
		if name == string(b) {
			*c = RepairClass(i)
		}
	}
	return nil
}

// Repair is one edit made to a model's text.
type Repair struct {
	Rule  string      `json:"rule"` // stable name, like "trailing-comma"
	Class RepairClass `json:"class"`
	// Start and End delimit the bytes of the original text that were read
	// differently; they are equal where something was missing.
	Start int `json:"start"`
	End   int `json:"end"`
}

// Doubts reports whether the repair records no edit but a doubt: the text around
// the call, such as a question before it, speaks against running it.
func (r Repair) Doubts() bool {
	return r.Class == Guess && (strings.HasPrefix(r.Rule, "call-in-") || strings.HasPrefix(r.Rule, "call-after-") || strings.HasPrefix(r.Rule, "call-before-"))
}

// Result is the answer to a call.
type Result struct {
	CallID string
	Name   string // of the tool, for vendors that want it again
	Parts  []Part // Text and Media
	Failed bool
	// Hosted marks the result of a call that the provider ran itself.
	Hosted bool
	State  State
	Extra  Extra
}

// Text returns the text parts of r, joined by newlines.
func (r Result) Text() string {
	var texts []string
	for _, p := range r.Parts {
		if t, ok := p.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// State is data that only the vendor who made it can read: a signature,
// encrypted thinking. It goes back to that vendor and to no other. The zero
// State is empty.
type State struct {
	Vendor string          `json:"vendor,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// IsZero reports whether the state is empty.
func (s State) IsZero() bool { return s.Vendor == "" && len(s.Data) == 0 }

func (Text) part()     {}
func (Thinking) part() {}
func (Media) part()    {}
func (Call) part()     {}
func (Result) part()   {}
