package emulate

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// Guard returns a request without control tokens in text from outside, and a Reader
// that restores them in the answer. Text from outside is the text of users, tools,
// documents and the model itself, and the definitions of tools. The system prompt
// belongs to the program. A request without tokens is returned unchanged, with no
// Reader. The caller's request is not changed.
func (t *Tokens) Guard(req *llm.Request) (*llm.Request, Reader) {
	if t == nil {
		return req, nil
	}
	out := req
	own := func() *llm.Request { // a copy, once something has to be changed
		if out == req {
			out = req.Clone()
		}
		return out
	}
	for i, m := range req.Messages {
		if m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper {
			continue
		}
		for k, p := range m.Parts {
			if neutral, ok := t.part(p); ok {
				own().Messages[i].Parts[k] = neutral
			}
		}
	}
	for i, d := range req.Tools {
		if t.tool(&d) {
			own().Tools[i] = d
		}
	}
	if name := req.Choice.Name; t.text(&name) {
		own().Choice.Name = name
	}
	for i, name := range req.Choice.Allowed {
		if t.text(&name) {
			own().Choice.Allowed[i] = name
		}
	}
	if out == req {
		return req, nil
	}
	return out, t.read
}

// text neutralises a text and reports whether that changed it.
func (t *Tokens) text(s *string) bool {
	neutral := t.Neutralise(*s)
	if len(neutral) == len(*s) {
		return false
	}
	*s = neutral
	return true
}

// data neutralises text in a copy of the bytes, and reports whether that changed it.
func (t *Tokens) data(b *[]byte) bool {
	if !t.begins(*b) {
		return false
	}
	text := string(*b)
	if !utf8.ValidString(text) || !t.text(&text) {
		return false
	}
	*b = []byte(text)
	return true
}

// part returns a part with its tokens neutralised, if it has any.
func (t *Tokens) part(p llm.Part) (neutral llm.Part, ok bool) {
	switch p := p.(type) {
	case llm.Text:
		if t.text(&p.Text) {
			return p, true
		}
	case llm.Thinking:
		if p.State.IsZero() && t.text(&p.Text) { // signed thinking must not change
			return p, true
		}
	case llm.Media:
		if named := t.text(&p.Name); p.Kind == llm.Document && t.data(&p.Data) || named {
			return p, true
		}
	case llm.Call:
		id, name := t.text(&p.ID), t.text(&p.Name)
		if t.json(&p.Args) || id || name {
			return p, true
		}
	case llm.Result:
		return t.result(p)
	}
	return nil, false
}

// result returns a result with its tokens neutralised, if it has any.
func (t *Tokens) result(r llm.Result) (neutral llm.Part, ok bool) {
	id, name := t.text(&r.CallID), t.text(&r.Name)
	ok = id || name
	for i, p := range r.Parts {
		if inner, changed := t.part(p); changed {
			r.Parts, ok = slices.Clone(r.Parts), true
			r.Parts[i] = inner
		}
	}
	if !ok {
		return nil, false
	}
	return r, true
}

// tool neutralises a definition and reports whether that changed it.
func (t *Tokens) tool(d *llm.ToolDef) bool {
	name, description, schema := t.text(&d.Name), t.text(&d.Description), t.json(&d.Schema)
	changed := name || description || schema
	for i, example := range d.Examples {
		if t.json(&example) {
			d.Examples, changed = slices.Clone(d.Examples), true
			d.Examples[i] = example
		}
	}
	return changed
}

// json neutralises the strings of a JSON value and reports whether that changed it. A
// server may decode the value before it writes it into the prompt, so tokens
// with escapes in them count, too.
func (t *Tokens) json(raw *json.RawMessage) bool {
	if bytes.IndexByte(*raw, '\\') < 0 {
		return t.data((*[]byte)(raw))
	}
	text := string(*raw)
	var b bytes.Buffer
	done := 0
	for open, end := range literals(text) {
		if neutral, ok := t.quoted(text[open:end]); ok {
			b.WriteString(text[done:open])
			b.WriteString(neutral)
			done = end
		}
	}
	if done == 0 {
		return false
	}
	b.WriteString(text[done:])
	*raw = b.Bytes()
	return true
}

// literals yields where the strings of a JSON value begin and end.
func literals(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for at := 0; ; {
			open := strings.IndexByte(text[at:], '"')
			if open < 0 {
				return
			}
			open += at
			end := open + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if at = end + 1; at > len(text) || !yield(open, at) {
				return
			}
		}
	}
}

// quoted neutralises a JSON string, and reports whether that changed it.
func (t *Tokens) quoted(literal string) (string, bool) {
	if !strings.Contains(literal, `\`) {
		changed := t.text(&literal)
		return literal, changed
	}
	var value string
	if json.Unmarshal([]byte(literal), &value) != nil || !t.text(&value) {
		return "", false
	}
	return quote(value), true
}

// read takes the marks away from what a model answered.
func (t *Tokens) read(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		u := newTokenRestorer(t)
		for ev, err := range raw {
			if err != nil {
				ev = nil
			}
			for _, restored := range u.events(ev) {
				if !yield(restored, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		for _, last := range u.events(nil) {
			if !yield(last, nil) {
				return
			}
		}
	}
}

// tokenRestorer restores the events of one answer.
type tokenRestorer struct {
	tokens         *Tokens
	text, thinking restorer
	calls          map[string]*restorer
	others         map[int]*tokenRestorer // further answers
}

func newTokenRestorer(t *Tokens) *tokenRestorer {
	return &tokenRestorer{tokens: t, text: restorer{tokens: t}, thinking: restorer{tokens: t}, calls: map[string]*restorer{}, others: map[int]*tokenRestorer{}}
}

// events returns the events that replace an event: held text that has to come before
// it, and the restored event. A nil event is the end.
func (u *tokenRestorer) events(ev llm.Event) []llm.Event {
	if a, ok := ev.(llm.Alternative); ok {
		return u.alternative(a)
	}
	out := u.due(ev)
	if ev != nil {
		if ev = u.event(ev); ev != nil {
			out = append(out, ev)
		}
	}
	return out
}

// alternative restores an event of a further answer.
func (u *tokenRestorer) alternative(a llm.Alternative) (out []llm.Event) {
	if u.others[a.Index] == nil {
		u.others[a.Index] = newTokenRestorer(u.tokens)
	}
	for _, ev := range u.others[a.Index].events(a.Event) {
		out = append(out, llm.Alternative{Index: a.Index, Event: ev})
	}
	return out
}

// due returns the held text that has to come before ev: text does not continue after
// another event.
func (u *tokenRestorer) due(ev llm.Event) (out []llm.Event) {
	isText, isThinking := false, false
	switch ev := ev.(type) {
	case llm.KeepAlive, llm.Warning, llm.UnknownEvent, llm.CallDelta:
		return nil
	case llm.TextDelta:
		isText = true
	case llm.ThinkingDelta:
		isThinking = true
	case llm.Call:
		out = u.delta(ev.ID)
	case llm.InvalidCall:
		out = u.delta(ev.ID)
	}
	if !isText {
		if s := u.text.end(); s != "" {
			out = append(out, llm.TextDelta{Text: s})
		}
	}
	if !isThinking {
		if s := u.thinking.end(); s != "" {
			out = append(out, llm.ThinkingDelta{Text: s})
		}
	}
	return out
}

// delta returns the end of a call's arguments, if any was held back.
func (u *tokenRestorer) delta(id string) []llm.Event {
	r := u.calls[id]
	delete(u.calls, id)
	if r != nil {
		if s := r.end(); s != "" {
			return []llm.Event{llm.CallDelta{ID: id, Args: s}}
		}
	}
	return nil
}

// event returns an event as it would be if nothing had been neutralised, or nil if
// all of it is held back.
func (u *tokenRestorer) event(ev llm.Event) llm.Event {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Text == "" {
			return ev
		}
		if ev.Text = u.text.add(ev.Text); ev.Text == "" && ev.Part == nil {
			return nil
		}
		return ev
	case llm.ThinkingDelta:
		if ev.Text == "" {
			return ev
		}
		if ev.Text = u.thinking.add(ev.Text); ev.Text == "" && ev.Part == nil {
			return nil
		}
		return ev
	case llm.CallStart:
		ev.Name = u.tokens.Restore(ev.Name)
		return ev
	case llm.CallDelta:
		r := u.calls[ev.ID]
		if r == nil {
			r = &restorer{tokens: u.tokens, inJSON: true}
			u.calls[ev.ID] = r
		}
		if ev.Args = r.add(ev.Args); ev.Args == "" {
			return nil
		}
		return ev
	case llm.Call:
		ev.Name = u.tokens.Restore(ev.Name)
		ev.Args = json.RawMessage(u.tokens.restore(string(ev.Args), true))
		return ev
	case llm.InvalidCall:
		ev.Name, ev.Raw, ev.Problem = u.tokens.Restore(ev.Name), u.tokens.Restore(ev.Raw), u.tokens.Restore(ev.Problem)
		return ev
	}
	return ev
}
