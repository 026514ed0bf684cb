package codec

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// output sends the events of one answer: first the metadata, then the rest.
type output struct {
	Decoder
	position
	Send    func(llm.Event) bool
	Stopped bool // the caller takes no more events

	Begun    bool      // the llm.Start was sent
	created  time.Time // when the answer began, if the vendor reports it
	Span     SpanKind
	Finish   llm.Finish
	Finished bool // the vendor sent a finish reason
	Changed  bool // the events differ from the vendor's bytes

	unknownFields []UnknownField // members of events that no codec reads
	hasSurrogates bool           // a document had halves of surrogate pairs
	replaced      bool           // an event had U+FFFD in place of one
}

// Emit sends an event, after the llm.Start.
func (a *output) Emit(ev llm.Event) {
	if !a.Begun {
		a.Begin()
	}
	if a.hasSurrogates { // the first answer sends the events of all
		a.sawSurrogates(ev)
	}
	a.pass(ev)
}

// KeepAlive passes on a sign that the vendor is still at work. It is not part
// of the answer and may come before it.
func (a *output) KeepAlive() { a.pass(llm.KeepAlive{}) }

func (a *output) pass(ev llm.Event) {
	if !a.Stopped && !a.Send(ev) {
		a.Stopped = true
	}
}

func (a *output) Warn(code llm.WarningCode, feature, format string, args ...any) {
	a.Emit(llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...)})
}

// Begin sends the metadata of the answer before its first piece, once. A codec calls it after reading the head of an
// answer.
func (a *output) Begin() {
	if a.Begun {
		return
	}
	a.Begun = true
	s := llm.Start{ID: a.Finish.ID, Model: a.Finish.Model, Created: a.created}
	if !a.OneDocument {
		s.Usage = a.Finish.Usage
		s.Usage.Hosted = maps.Clone(s.Usage.Hosted)
	}
	a.Emit(s)
}

// Seconds reads a time that is a number of seconds since 1970, and reports
// whether v is one.
func (a *output) Seconds(v []byte) bool {
	n, ok := js.Int(v)
	if ok && n > 0 && a.created.IsZero() {
		a.created = time.Unix(n, 0).UTC()
	}
	return ok && n > 0 && a.created.Unix() == n
}

// Moment reads a time as RFC 3339 writes it. For anything else it returns the
// zero time.
func (a *output) Moment(v []byte) {
	if !a.created.IsZero() || js.Kind(v) != '"' {
		return
	}
	if t, err := time.Parse(time.RFC3339Nano, js.Text(v)); err == nil {
		a.created = t
	}
}

// KeepField keeps a field of an answer that only this format has. If a stream repeats the field, the earlier value
// becomes an event.
func (a *output) KeepField(key string, v []byte) {
	old := a.Finish.Extra[a.Host.Format][key]
	if js.Kind(v) == 'n' || bytes.Equal(old, v) {
		return
	}
	if old != nil && !a.OneDocument {
		a.Emit(llm.UnknownEvent{Format: a.Host.Format, Type: key, Raw: old})
	}
	a.ExtraField(&a.Finish.Extra, key, v)
}

// Unknown forwards an event of an unknown type.
func (a *output) Unknown(typ string, v []byte) {
	a.Emit(llm.UnknownEvent{Format: a.Host.Format, Type: typ, Raw: a.Raw(v)})
}

// correct warns that a part of the answer differs from the vendor's. A relay encodes it again.
func (a *output) correct(feature, format string, args ...any) {
	a.Changed = true
	a.Warn(llm.Corrected, feature, format, args...)
}

func (a *output) Refuse(err error) {
	if a.Err == nil {
		a.Err = err
	}
}

// position tracks which bytes of a stream an event came from.
type position struct {
	Relaying bool
	Position Positioner // nil unless relaying
	Frame    stretch    // the current frame
	ending   int64      // start of the frame with the finish reason
	Gap      string     // between frames; the last frame may lack it
	late     bool       // an event repeats data of the frames since from
	from     int64
}

// Next begins the frame that ends at an offset.
func (p *position) Next(end int64) {
	p.Frame = stretch{p.Frame.end, end}
	if p.Position != nil {
		p.Position.Mark(frameStart)
	}
}

// SpanKind is the kind of the text that is being written.
type SpanKind uint8

const (
	NoSpan SpanKind = iota
	TextSpan
	RefusalSpan
	ThinkingSpan
	RedactedSpan
)

// UnknownField is an unknown member of a stream's events and the path of its object.
type UnknownField struct{ At, Name string }

// sawSurrogates notes whether an event has U+FFFD, for an answer whose documents have halves.
func (a *output) sawSurrogates(ev llm.Event) {
	if !a.replaced {
		a.replaced = strings.Contains(fmt.Sprintf("%s", ev), replacement)
	}
}

// warnSurrogates warns of halves of pairs that were replaced in an answer.
func (a *output) warnSurrogates() {
	if a.replaced {
		a.Warn(llm.Degraded, "text", loss.Surrogates)
	}
}
