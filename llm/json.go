package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The JSON of this package is for journals, event logs and files. It is stable
// and complete, and it is not a wire format of any vendor. A part is an object
// with a "type".

// MarshalEvent returns ev as one JSON object with its EventType under "event".
func MarshalEvent(ev Event) ([]byte, error) {
	if ev == nil {
		return nil, errors.New("llm: there is no event: it is nil")
	}
	body, err := json.Marshal(ev)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(ev.EventType())
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"event":`), head...)
	switch {
	case string(body) == "{}":
		return append(out, '}'), nil
	case len(body) > 0 && body[0] == '{':
		return append(append(out, ','), body[1:]...), nil
	}
	return nil, fmt.Errorf("llm: event %s is not a JSON object", head)
}

// events has one decoder per event of this package.
var events = map[string]func([]byte) (Event, error){
	"start":          decodeEvent[Start],
	"keep_alive":     decodeEvent[KeepAlive],
	"retract":        decodeEvent[Retract],
	"text_delta":     decodeEvent[TextDelta],
	"thinking_delta": decodeEvent[ThinkingDelta],
	"part_end":       decodeEvent[PartEnd],
	"media":          decodeEvent[Media],
	"call_start":     decodeEvent[CallStart],
	"call_delta":     decodeEvent[CallDelta],
	"call":           decodeEvent[Call],
	"invalid_call":   decodeEvent[InvalidCall],
	"hosted_call":    decodeEvent[HostedCall],
	"hosted_result":  decodeEvent[HostedResult],
	"unknown":        decodeEvent[UnknownEvent],
	"warning":        decodeEvent[Warning],
	"text_read":      decodeEvent[TextRead],
	"finish":         decodeEvent[Finish],
}

// OtherEvent is an event of another package, as MarshalEvent wrote it.
type OtherEvent struct {
	Type string
	JSON json.RawMessage // an object, with the type under "event"
}

// EventType returns the type of the event.
func (e OtherEvent) EventType() string { return e.Type }

// MarshalJSON writes the fields of the event, without the type.
func (e OtherEvent) MarshalJSON() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.JSON, &fields); err != nil {
		return nil, fmt.Errorf("llm: event %q: %w", e.Type, err)
	}
	delete(fields, "event")
	return json.Marshal(fields)
}

// UnmarshalEvent decodes the output of MarshalEvent. An event of another package
// becomes an [OtherEvent], whose JSON that package can decode.
func UnmarshalEvent(b []byte) (Event, error) {
	var head struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("llm: event: %w", err)
	}
	if head.Event == "alternative" {
		return decodeAlternative(b)
	}
	decode, ok := events[head.Event]
	switch {
	case head.Event == "":
		return nil, errors.New("llm: the object has no type of an event")
	case !ok:
		return OtherEvent{head.Event, slices.Clone(b)}, nil
	}
	return decode(b)
}

// MarshalJSON writes the event of the other answer under "of".
func (a Alternative) MarshalJSON() ([]byte, error) {
	of, err := MarshalEvent(a.Event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(alternativeJSON{a.Index, of})
}

type alternativeJSON struct {
	Index int             `json:"index"`
	Of    json.RawMessage `json:"of"`
}

func decodeAlternative(b []byte) (Event, error) {
	var j alternativeJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, err
	}
	ev, err := UnmarshalEvent(j.Of)
	return Alternative{j.Index, ev}, err
}

func decodeEvent[E Event](b []byte) (Event, error) {
	var ev E
	err := json.Unmarshal(b, &ev)
	return ev, err
}

// The shapes of parts in JSON. The types with methods would recurse, so each
// has a twin without.
type (
	messageJSON struct {
		Role  Role              `json:"role"`
		Parts []json.RawMessage `json:"parts"`
		Extra Extra             `json:"extra,omitempty"`
	}
	textJSON struct {
		Text      string     `json:"text"`
		Refusal   bool       `json:"refusal,omitempty"`
		Ours      bool       `json:"-"` // the record marks our text in another way
		Origin    TextOrigin `json:"origin,omitempty"`
		Citations []Citation `json:"citations,omitempty"`
		LogProbs  *LogProbs  `json:"log_probs,omitempty"`
		State     State      `json:"state,omitzero"`
		Extra     Extra      `json:"extra,omitempty"`
	}
	thinkingJSON struct {
		Text     string `json:"text"`
		Redacted bool   `json:"redacted,omitempty"`
		State    State  `json:"state,omitzero"`
		Extra    Extra  `json:"extra,omitempty"`
	}
	mediaJSON struct {
		Kind  MediaKind `json:"kind"`
		MIME  string    `json:"mime,omitempty"`
		Name  string    `json:"name,omitempty"`
		Data  []byte    `json:"data,omitempty"`
		URL   string    `json:"url,omitempty"`
		ID    string    `json:"id,omitempty"`
		State State     `json:"state,omitzero"`
		Extra Extra     `json:"extra,omitempty"`
	}
	callJSON struct {
		ID         string          `json:"id"`
		Name       string          `json:"name"`
		Args       json.RawMessage `json:"args,omitempty"`
		Kind       ToolKind        `json:"kind,omitempty"`
		Hosted     bool            `json:"hosted,omitempty"`
		Provenance Provenance      `json:"provenance,omitzero"`
		State      State           `json:"state,omitzero"`
		Extra      Extra           `json:"extra,omitempty"`
	}
	resultJSON struct {
		CallID string            `json:"call_id"`
		Name   string            `json:"name,omitempty"`
		Parts  []json.RawMessage `json:"parts"`
		Failed bool              `json:"failed,omitempty"`
		Hosted bool              `json:"hosted,omitempty"`
		State  State             `json:"state,omitzero"`
		Extra  Extra             `json:"extra,omitempty"`
	}
	provenanceJSON struct {
		Dialect   string   `json:"dialect,omitempty"`
		Marked    bool     `json:"marked,omitempty"`
		Echo      string   `json:"echo,omitempty"`
		Repairs   []Repair `json:"repairs,omitempty"`
		Truncated bool     `json:"truncated,omitempty"`
	}
	citationJSON struct {
		URL   string `json:"url,omitempty"`
		Title string `json:"title,omitempty"`
		Quote string `json:"quote,omitempty"`
		Start int    `json:"start,omitempty"`
		End   int    `json:"end,omitempty"`
		Raw   State  `json:"raw,omitzero"`
	}
)

// MarshalText makes the kind a word in JSON.
func (k ToolKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText decodes the output of MarshalText.
func (k *ToolKind) UnmarshalText(b []byte) error {
	for i, name := range toolKindNames {
		if name == string(b) {
			*k = ToolKind(i)
			return nil
		}
	}
	return fmt.Errorf("llm: no kind of tool is called %q", b)
}

// MarshalJSON writes p without empty fields.
func (p Provenance) MarshalJSON() ([]byte, error) { return json.Marshal(provenanceJSON(p)) }

// UnmarshalJSON decodes the output of MarshalJSON.
func (p *Provenance) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, (*provenanceJSON)(p))
}

// IsZero reports whether p has neither an origin nor repairs.
func (p Provenance) IsZero() bool {
	return p.Dialect == "" && !p.Marked && p.Echo == "" && len(p.Repairs) == 0 && !p.Truncated
}

// MarshalJSON writes c without empty fields.
func (c Citation) MarshalJSON() ([]byte, error) { return json.Marshal(citationJSON(c)) }

// UnmarshalJSON decodes the output of MarshalJSON.
func (c *Citation) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*citationJSON)(c)) }

// MarshalJSON writes d as one object: its text and the other data of the part.
func (d TextDelta) MarshalJSON() ([]byte, error) {
	t := d.About()
	t.Text = d.Text
	return json.Marshal(textJSON(t))
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (d *TextDelta) UnmarshalJSON(b []byte) error {
	var t textJSON
	err := json.Unmarshal(b, &t)
	*d = newTextDelta(Text(t))
	return err
}

// MarshalJSON writes d as one object: its text and the other data of the part.
func (d ThinkingDelta) MarshalJSON() ([]byte, error) {
	t := d.About()
	t.Text = d.Text
	return json.Marshal(thinkingJSON(t))
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (d *ThinkingDelta) UnmarshalJSON(b []byte) error {
	var t thinkingJSON
	err := json.Unmarshal(b, &t)
	*d = newThinkingDelta(Thinking(t))
	return err
}

// MarshalJSON writes m without empty fields.
func (m Media) MarshalJSON() ([]byte, error) { return json.Marshal(mediaJSON(m)) }

// UnmarshalJSON decodes the output of MarshalJSON.
func (m *Media) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*mediaJSON)(m)) }

// MarshalJSON writes c without empty fields.
func (c Call) MarshalJSON() ([]byte, error) { return json.Marshal(callJSON(c)) }

// UnmarshalJSON decodes the output of MarshalJSON.
func (c *Call) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*callJSON)(c)) }

// MarshalJSON writes the result with its parts.
func (r Result) MarshalJSON() ([]byte, error) {
	parts, err := marshalParts(r.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(resultJSON{r.CallID, r.Name, parts, r.Failed, r.Hosted, r.State, r.Extra})
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (r *Result) UnmarshalJSON(b []byte) error {
	var j resultJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	parts, err := unmarshalParts(j.Parts)
	*r = Result{j.CallID, j.Name, parts, j.Failed, j.Hosted, j.State, j.Extra}
	return err
}

// MarshalJSON writes the message with its parts, each with its "type".
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := marshalParts(m.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(messageJSON{m.Role, parts, m.Extra})
}

// UnmarshalJSON decodes the output of MarshalJSON. A part of an unknown type is an
// error: a conversation must not lose a part in silence.
func (m *Message) UnmarshalJSON(b []byte) error {
	var j messageJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	parts, err := unmarshalParts(j.Parts)
	*m = Message{j.Role, parts, j.Extra}
	return err
}

func marshalParts(parts []Part) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		b, err := marshalPart(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		out[i] = b
	}
	return out, nil
}

func marshalPart(p Part) ([]byte, error) {
	switch p := p.(type) {
	case Text:
		return typed("text", textJSON(p))
	case Thinking:
		return typed("thinking", thinkingJSON(p))
	case Media:
		return typed("media", p)
	case Call:
		return typed("call", p)
	case Result:
		return typed("result", p)
	}
	return nil, fmt.Errorf("llm: %T is not a part", p)
}

// typed writes v with "type" before its own fields. All the shapes above have
// at least one field that is always there.
func typed(name string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"type":"`+name+`",`), b[1:]...), nil
}

// parts has one decoder per type of part.
var parts = map[string]func([]byte) (Part, error){
	"text":     func(b []byte) (Part, error) { j, err := decode[textJSON](b); return Text(j), err },
	"thinking": func(b []byte) (Part, error) { j, err := decode[thinkingJSON](b); return Thinking(j), err },
	"media":    func(b []byte) (Part, error) { return decode[Media](b) },
	"call":     func(b []byte) (Part, error) { return decode[Call](b) },
	"result":   func(b []byte) (Part, error) { return decode[Result](b) },
}

func decode[T any](b []byte) (T, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}

func unmarshalParts(raw []json.RawMessage) ([]Part, error) {
	var out []Part
	for i, b := range raw {
		head, err := decode[struct {
			Type string `json:"type"`
		}](b)
		if err != nil {
			return nil, fmt.Errorf("llm: part %d: %w", i, err)
		}
		read, ok := parts[head.Type]
		if !ok {
			return nil, fmt.Errorf("llm: part %d: no part is called %q", i, head.Type)
		}
		p, err := read(b)
		if err != nil {
			return nil, fmt.Errorf("llm: part %d: %w", i, err)
		}
		out = append(out, p)
	}
	return out, nil
}
