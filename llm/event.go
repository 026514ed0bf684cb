package llm

import (
	"encoding/json"
	"time"
)

// Event is something that happens while a model answers. The set is open:
// other packages add their own. EventType is the stable name of the event in
// JSON, like "text_delta".
type Event interface {
	EventType() string
}

// Start begins an answer with the data that is known before its first piece. A
// stream has at most one Start. Only warnings, keep-alives and the events of
// packages that ask again come before it. A model without any of this data
// sends no Start; the codecs of package wire always send one.
type Start struct {
	ID      string    `json:"id,omitempty"`     // of the answer, in the vendor's words
	Model   string    `json:"model,omitempty"`  // the model that answers, in the vendor's words
	Created time.Time `json:"created,omitzero"` // when the answer began, by the vendor's clock
	Usage   Usage     `json:"usage,omitzero"`   // so far: the vendor's count before the answer
}

// IsZero reports whether s is empty.
func (s Start) IsZero() bool {
	return s.ID == "" && s.Model == "" && s.Created.IsZero() && s.Usage.IsZero()
}

// KeepAlive reports that the vendor is still working although no data arrives.
// It is not part of the answer. A server forwards it to keep its own client
// from giving up; other readers ignore it. It may come at any time before the
// end.
type KeepAlive struct{}

// Retract withdraws everything in the answer so far: text, thinking and
// incomplete calls. The model is asked again, and the answer starts over with
// another Start. A complete call is never retracted, because the client may
// have run it.
//
// Only models whose caller declared support for it send Retract. The vendors'
// formats lack an equivalent, so a codec ends the stream with an error.
type Retract struct {
	Why string `json:"why"`
}

// TextDelta is the next piece of text.
type TextDelta struct {
	Text string
	// Part holds the other data of the part that the piece belongs to; its Text
	// is ignored. It is nil for ordinary text: an event is made for every token
	// and has to be small. A Part with a different Refusal begins another part.
	// A Part with State ends its part, because that part was signed. [Builder]
	// separates parts by these rules.
	Part *Text
}

// About returns the other data of the part that the piece belongs to.
func (d TextDelta) About() Text {
	if d.Part == nil {
		return Text{}
	}
	return *d.Part
}

// ThinkingDelta is the next piece of thinking. Part is like that of a
// [TextDelta], with Redacted in the place of Refusal.
type ThinkingDelta struct {
	Text string
	Part *Thinking
}

// About returns the other data of the part that the piece belongs to.
func (d ThinkingDelta) About() Thinking {
	if d.Part == nil {
		return Thinking{}
	}
	return *d.Part
}

// newTextDelta returns a whole part as one piece.
func newTextDelta(t Text) TextDelta {
	d := TextDelta{Text: t.Text}
	if t.LogProbs != nil || t.Refusal || t.Origin != "" || len(t.Citations) > 0 || !t.State.IsZero() || len(t.Extra) > 0 {
		t.Text = ""
		d.Part = &t
	}
	return d
}

// newThinkingDelta returns a whole part as one piece.
func newThinkingDelta(t Thinking) ThinkingDelta {
	d := ThinkingDelta{Text: t.Text}
	if t.Redacted || !t.State.IsZero() || len(t.Extra) > 0 {
		t.Text = ""
		d.Part = &t
	}
	return d
}

// PartEnd ends the current text or thinking part. The next delta begins another
// part. It is sent only where a vendor's blocks must stay apart.
type PartEnd struct {
	// Next is the id that the vendor gave the part or the call that comes next,
	// where it numbers them before it writes them, and Vendor is whose id it is.
	// A server of the same format gives it the same id.
	Next   string `json:"next,omitempty"`
	Vendor string `json:"vendor,omitempty"`
}

// CallStart reports that a call has begun. A [Call] or an [InvalidCall] with
// the same ID follows, unless the stream fails.
type CallStart struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Kind ToolKind `json:"kind,omitempty"`
	// Extra are the fields known at the beginning of the call. The Call has all
	// fields.
	Extra Extra `json:"extra,omitempty"`
}

// CallDelta is the next piece of a call's arguments. The deltas of a call,
// joined, are the Args of the Call that follows.
type CallDelta struct {
	ID   string `json:"id"`
	Args string `json:"args"`
}

// InvalidCall is a call that cannot be run: it was cut off, its arguments
// cannot be read, or it names a tool that was not offered. It goes back to the
// model as the text it wrote plus the problem.
type InvalidCall struct {
	ID   string `json:"id"`
	Name string `json:"name"` // as the model wrote it; may be empty
	// Raw is the text that the model wrote; for a long call, its beginning. For
	// an echo it is every byte up to 64 KiB, including the markers before and
	// after it: the text before it, Raw and the text after it make up the
	// answer, if that holds no other calls. As in answers without calls,
	// headers, ends of messages outside text and the marks of thinking are
	// omitted. If the answer is a message written as JSON, its text comes as a
	// separate part and is also in Raw.
	Raw    string        `json:"raw"`
	Reason InvalidReason `json:"reason"`
	// Problem is a sentence the model can act on.
	Problem    string     `json:"problem"`
	Nearest    []string   `json:"nearest,omitempty"` // offered names like Name, best first
	Provenance Provenance `json:"provenance,omitzero"`
	// Call is the complete call that waits for a confirmation, if Request.HoldDoubtful held it. Otherwise it is nil.
	Call *Call `json:"-"`
}

// InvalidReason is why a call cannot be run.
type InvalidReason string

// The reasons of an InvalidCall.
const (
	CutOff       InvalidReason = "truncated"     // the answer ended inside the call
	UnknownTool  InvalidReason = "unknown_tool"  // no offered tool has the name
	BadArguments InvalidReason = "bad_arguments" // they do not match the schema, or cannot be read
	NotAllowed   InvalidReason = "not_allowed"   // offered, but the choice excludes it
	Echoed       InvalidReason = "echo"          // a tool result or document has the same text: the model repeats input
	Unconfirmed  InvalidReason = "unconfirmed"   // the call is doubtful; see Request.HoldDoubtful
)

// HostedCall is a call that the provider runs itself.
type HostedCall struct{ Call }

// HostedResult is the result of a HostedCall.
type HostedResult struct{ Result }

// Alternative is an event of another answer to the same request, if Request.N
// asked for several. The first answer is not wrapped. Each alternative ends
// with a separate Finish, before that of the first answer, which has the usage
// of all. A caller that wants a single answer ignores these events.
type Alternative struct {
	Index int // of the answer: 1 for the second
	Event Event
}

// UnknownEvent is an event or a field of a vendor's stream that the codec does
// not know. A codec of the same format writes it unchanged.
type UnknownEvent struct {
	Format string          `json:"format"`
	Type   string          `json:"type"` // in the vendor's words
	Raw    json.RawMessage `json:"raw"`
}

// Warning reports that something was not done as asked, or was done differently.
type Warning struct {
	Code WarningCode `json:"code"`
	// Feature is the option, field or tool concerned.
	Feature string `json:"feature,omitempty"`
	Detail  string `json:"detail"`
	// Tool is the name of the offered tool whose definition is concerned, for programs that offer both their tools and
	// those of others. It is empty if the warning is not about a tool, or the tool is not known.
	Tool string `json:"-"`
}

// String returns the warning in one line.
func (w Warning) String() string {
	if w.Feature == "" {
		return string(w.Code) + ": " + w.Detail
	}
	return string(w.Code) + " " + w.Feature + ": " + w.Detail
}

// WarningCode is the kind of a Warning.
type WarningCode string

// The kinds of warnings.
const (
	Degraded      WarningCode = "degraded"       // done in a weaker way
	Ignored       WarningCode = "ignored"        // not done
	Emulated      WarningCode = "emulated"       // done by Toolpost, because the vendor cannot
	Repaired      WarningCode = "repaired"       // a call was repaired
	Corrected     WarningCode = "corrected"      // the vendor contradicted itself
	SuspectedCall WarningCode = "suspected_call" // text looks like a call that was not promoted
	CallAsText    WarningCode = "call_as_text"   // the answer is only text that looks like a call; Feature is the tool
	EchoedCall    WarningCode = "echoed_call"    // a message of the user has the text of the call; Feature is the tool
	UnknownModel  WarningCode = "unknown_model"  // safe defaults are used
	Compatibility WarningCode = "compatibility"  // works, but not as the caller may expect
	Stripped      WarningCode = "stripped"       // a secret was removed from data for another party; Feature names the place
	RefusedCall   WarningCode = "refused_call"   // a call that the client does not run itself was refused; Feature is the tool
	FailedCall    WarningCode = "failed_call"    // a call that the client does not run itself failed, or its outcome is unknown; Feature is the tool
)

// TextRead reports that the calls in the text of this answer have been read,
// under which promotion and why. It precedes the first text or thinking, to
// prevent another layer from reading the text again.
type TextRead struct {
	Promotion Promotion `json:"promotion"`
	Why       string    `json:"why,omitempty"`
}

// Finish ends a successful stream.
type Finish struct {
	Reason Reason `json:"reason"`
	Raw    string `json:"raw,omitempty"` // the vendor's own word
	Usage  Usage  `json:"usage"`
	Model  string `json:"model,omitempty"` // the model that answered, in the vendor's words
	ID     string `json:"id,omitempty"`    // of the answer, in the vendor's words
	// StopSequence is the sequence that stopped the model, if one did.
	StopSequence string `json:"stop_sequence,omitempty"`
	State        State  `json:"state,omitzero"`
	Extra        Extra  `json:"extra,omitempty"`
}

// Reason is why a model stopped.
type Reason string

// The reasons to stop.
const (
	Stop          Reason = "stop"           // the answer is complete
	ToolCalls     Reason = "tool_calls"     // the model waits for results of calls
	Length        Reason = "length"         // a limit of tokens truncated the answer
	ContentFilter Reason = "content_filter" // a filter ended the answer
	OtherReason   Reason = "other"          // Finish.Raw has the vendor's word
)

// Usage counts tokens. Input includes tokens read from or written to a cache,
// and Output includes Reasoning, so all tokens are Input plus Output.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
	// Hosted counts the uses of tools the provider ran.
	Hosted map[string]int `json:"hosted,omitempty"`
}

// IsZero reports whether nothing was counted.
func (u Usage) IsZero() bool {
	return u.Input|u.Output|u.CacheRead|u.CacheWrite|u.Reasoning == 0 && len(u.Hosted) == 0
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
	if len(u.Hosted)+len(v.Hosted) > 0 {
		sum.Hosted = make(map[string]int)
		for _, uses := range []map[string]int{u.Hosted, v.Hosted} {
			for name, n := range uses {
				sum.Hosted[name] += n
			}
		}
	}
	return sum
}

// EventType returns "start".
func (Start) EventType() string { return "start" }

// EventType returns "keep_alive".
func (KeepAlive) EventType() string { return "keep_alive" }

// EventType returns "retract".
func (Retract) EventType() string { return "retract" }

// EventType returns "text_delta".
func (TextDelta) EventType() string { return "text_delta" }

// EventType returns "thinking_delta".
func (ThinkingDelta) EventType() string { return "thinking_delta" }

// EventType returns "part_end".
func (PartEnd) EventType() string { return "part_end" }

// EventType returns "media".
func (Media) EventType() string { return "media" }

// EventType returns "call_start".
func (CallStart) EventType() string { return "call_start" }

// EventType returns "call_delta".
func (CallDelta) EventType() string { return "call_delta" }

// EventType returns "call".
func (Call) EventType() string { return "call" }

// EventType returns "invalid_call".
func (InvalidCall) EventType() string { return "invalid_call" }

// EventType returns "hosted_call".
func (HostedCall) EventType() string { return "hosted_call" }

// EventType returns "hosted_result".
func (HostedResult) EventType() string { return "hosted_result" }

// EventType returns "alternative".
func (Alternative) EventType() string { return "alternative" }

// EventType returns "unknown".
func (UnknownEvent) EventType() string { return "unknown" }

// EventType returns "warning".
func (Warning) EventType() string { return "warning" }

// EventType returns "text_read".
func (TextRead) EventType() string { return "text_read" }

// EventType returns "finish".
func (Finish) EventType() string { return "finish" }
