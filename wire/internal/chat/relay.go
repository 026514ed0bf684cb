package chat

import (
	"bytes"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// chatPlace is how far a stream of chunks is.
type chatPlace struct {
	begun   bool
	calls   int               // that began
	args    int               // bytes of the arguments of the last
	details *reasoningDetails // of the thinking, that no event has said yet
	had     int               // pieces of them

	reason string // why the model stopped, if that was said
	usage  [2]int // tokens that were told, of input and of output
}

func (s *chatStream) Mark(at codec.Moment) {
	for _, o := range s.streams {
		o.Mark(at)
	}
	s.places.Set(at, func() chatPlace {
		p := chatPlace{begun: true, calls: len(s.Calls), details: s.details}
		if p.details != nil {
			p.had = len(p.details.pieces)
		}
		if p.calls > 0 {
			p.args = s.Calls[p.calls-1].Args.Len()
		}
		if s.Finished {
			p.reason = s.Finish.Raw
		}
		p.usage = [2]int{s.Finish.Usage.Input, s.Finish.Usage.Output}
		return p
	})
}

func (s *chatStream) Resume(at codec.Moment, e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	place := s.places[at]
	w := &writer{e: e, head: head, started: true, calls: map[string]*chatCall{}, details: place.details, had: place.had, ended: place.reason, used: place.usage}
	for i, p := range s.Calls[:place.calls] {
		c := &chatCall{index: i, free: p.Kind == llm.FreeTool, relayed: true}
		if p.Index >= 0 && !w.hasIndex(p.Index) {
			c.index = p.Index
		}
		if c.free && i == place.calls-1 {
			c.sent = js.Text(append([]byte(p.Args.String()[:place.args]), '"'))
		}
		w.calls[p.ID] = c
	}
	for i, o := range s.streams {
		sub := o.Resume(at, e, head).(*writer)
		sub.index, sub.started = i, o.places[at].begun
		w.others = w.others.with(i, sub)
	}
	return w
}

// hasIndex reports whether a call has that index.
func (w *writer) hasIndex(index int) bool {
	for _, c := range w.calls {
		if c.index == index {
			return true
		}
	}
	return false
}

// nextIndex returns an index that no call has.
func (w *writer) nextIndex() int {
	n := len(w.calls)
	for w.hasIndex(n) {
		n++
	}
	return n
}

// AskUsage adds stream_options.include_usage to a request for a stream.
func (Format) AskUsage(body []byte) (asking []byte, added bool) {
	if js.Kind(js.Trim(body)) != '{' {
		return body, false
	}
	const asked = `{"include_usage":true`
	options := js.Get(js.Trim(body), "stream_options")
	switch {
	case options == nil:
		at := bytes.IndexByte(body, '{') + 1
		member := `"stream_options":` + asked + `}`
		if js.Trim(body[at:])[0] != '}' {
			member += ","
		}
		return append(append(append(make([]byte, 0, len(body)+len(member)), body[:at]...), member...), body[at:]...), true
	case js.Kind(js.Get(options, "include_usage")) == 't':
		return body, false
	}
	out := append(make([]byte, 0, len(body)+len(asked)), body[:cap(body)-cap(options)]...)
	rest := body[cap(body)-cap(options)+len(options):]
	out = append(out, asked...)
	for key, value := range js.Members(options) {
		if string(key) != "include_usage" {
			out = append(js.AppendQuoted(append(out, ','), string(key)), ':')
			out = append(out, value...)
		}
	}
	return append(append(out, '}'), rest...), true
}

// WithoutUsage drops the chunk that has only the usage, for a client that did not ask for it.
func (Format) WithoutUsage(events []byte) []byte {
	if !bytes.Contains(events, []byte(`"usage"`)) {
		return events
	}
	out := events[:0:0]
	for len(events) > 0 {
		n := endOfEvent(events)
		if event := events[:n]; !saysOnlyUsage(event) {
			out = append(out, event...)
		}
		events = events[n:]
	}
	return out
}

// endOfEvent returns the end of the first event of a stream, including its blank line.
func endOfEvent(events []byte) int {
	end := len(events)
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if i := bytes.Index(events[:end], []byte(blank)); i >= 0 {
			end = i + len(blank)
		}
	}
	return end
}

// saysOnlyUsage reports whether an event is the chunk with the usage behind an answer.
func saysOnlyUsage(event []byte) bool {
	data, ok := bytes.CutPrefix(js.Trim(event), []byte("data:"))
	if !ok {
		return false
	}
	data = js.Trim(data)
	if js.Kind(js.Get(data, "usage")) != '{' {
		return false
	}
	for range js.Elements(js.Get(data, "choices")) {
		return false
	}
	return true
}
