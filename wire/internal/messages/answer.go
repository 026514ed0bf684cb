package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// DecodeResponse reads a whole answer, block by block, as a stream would.
func (Format) DecodeResponse(_ *codec.Decoder, body []byte, a *codec.Answer) {
	s := &messagesStream{Answer: a}
	if js.Is(js.Get(body, "type"), "error") {
		a.Fail(body)
		return
	}
	s.message(body)
	s.ending(body)
}

// messagesStream reads the events of a stream.
type messagesStream struct {
	*codec.Answer
	counts Usage
	blocks []*messagesBlock
	open   *messagesBlock // the last one, until it stops
	places codec.Positions[codec.BlockPosition[messagesBlock]]
}

// messagesBlock is a block that is being written.
type messagesBlock struct {
	index     int
	kind, id  string
	call      *codec.PendingCall
	start     []byte // the start of a block that goes back whole
	input     []byte // of a call: as it began, or what a hosted tool was given
	signature []byte
	at        int64 // start of the frame in which it began
	signedAt  int64 // start of the frame with the signature
}

// messagesEvent are the members of all events.
type messagesEvent struct {
	typ, index, delta, block, message, usage []byte

	more bool // there are others
}

// events are the events whose other members are kept for the end.
var events = []string{"content_block_delta", "content_block_start", "content_block_stop", "message_start", "ping"}

// deltas are the types of pieces that are read.
var deltas = []string{"text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta"}

func (s *messagesStream) event(v []byte) (more bool) {
	var ev messagesEvent
	for key, val := range js.Members(v) {
		switch string(key) {
		case "type":
			ev.typ = val
		case "index":
			ev.index = val
		case "delta":
			ev.delta = val
		case "content_block":
			ev.block = val
		case "message":
			ev.message = val
		case "usage":
			ev.usage = val
		default:
			ev.more = true
		}
	}
	if ev.more {
		s.beside(ev.typ, v)
	}
	switch {
	case js.Is(ev.typ, "content_block_delta"):
		s.blockDelta(s.Integer(ev.index), ev.delta, v)
	case js.Is(ev.typ, "content_block_start"):
		s.blockStart(s.Integer(ev.index), ev.block)
	case js.Is(ev.typ, "content_block_stop"):
		s.blockStop(s.Integer(ev.index))
	case js.Is(ev.typ, "message_start"):
		s.message(ev.message)
		s.Begin()
	case js.Is(ev.typ, "message_delta"):
		s.ending(ev.delta)
		s.details(ev.delta, "", "stop_reason", "stop_sequence")
		s.details(v, eventPrefix, "type", "delta", "usage")
		if ev.usage != nil {
			s.counts.decode(&s.Decoder, ev.usage, &s.Finish)
		}
	case js.Is(ev.typ, "message_stop"):
		s.details(v, stopPrefix, "type")
		_ = s.MarkDone()
		return false
	case js.Is(ev.typ, "ping"):
		s.KeepAlive()
	case js.Is(ev.typ, "error"):
		s.Fail(v)
	default:
		s.Unknown(s.Str(ev.typ), v)
	}
	return true
}

// beside keeps the unknown members of an event.
func (s *messagesStream) beside(typ, v []byte) {
	for _, name := range events {
		if js.Is(typ, name) {
			s.UnknownFields("", loss.NestedMark+name, v, "type", "index", "delta", "content_block", "message", "usage")
		}
	}
}

// message reads the envelope of an answer, with the blocks that are there.
func (s *messagesStream) message(v []byte) {
	var content []byte
	for key, val := range js.Members(v) {
		switch string(key) {
		case "id":
			s.Finish.ID = s.Str(val)
		case "model":
			s.Finish.Model = s.Str(val)
		case "usage":
			s.counts.decode(&s.Decoder, val, &s.Finish)
		case "content":
			content = val
		case "type", "role", "stop_reason", "stop_sequence":
		default:
			s.Extra(&s.Finish.Extra, key, val)
		}
	}
	for el := range js.Elements(content) {
		s.block(el)
	}
}

// ending reads why the model stopped.
func (s *messagesStream) ending(v []byte) {
	s.Finish.StopSequence = s.Str(js.Get(v, "stop_sequence"))
	s.SetFinish(s.Str(js.Get(v, "stop_reason")), reasons)
	s.EmptyFinish(js.Get(v, "stop_reason"))
}

// eventPrefix marks members of the event that ends an answer, outside its delta, and stopPrefix those of the last
// event.
const (
	eventPrefix = "event."
	stopPrefix  = "message_stop."
)

// details keeps what else the end of a stream says.
func (s *messagesStream) details(v []byte, prefix string, known ...string) {
	for key, val := range js.Members(v) {
		if !slices.Contains(known, string(key)) {
			s.KeepField(prefix+string(key), val)
		}
	}
}

// block sends a block that arrived in one piece.
func (s *messagesStream) block(v []byte) {
	if !s.Object(v) {
		return
	}
	if p := decodeBlock(&s.Decoder, v); p != nil {
		s.AddPart(p)
	}
}

func (s *messagesStream) find(index int) *messagesBlock {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if s.blocks[i].index == index {
			return s.blocks[i]
		}
	}
	return nil
}

func (s *messagesStream) blockStart(index int, v []byte) {
	if len(s.blocks) >= codec.MaxBlocks {
		s.Refuse(fmt.Errorf("more than %d blocks in one answer", codec.MaxBlocks))
		return
	}
	b := &messagesBlock{index: index, kind: s.Str(js.Get(v, "type")), at: s.Frame.Start}
	s.blocks = append(s.blocks, b)
	s.open = b
	switch b.kind {
	case "text", "thinking":
		s.NewPart = true
		s.beginSpan(b, v)
	case "tool_use":
		c := decodeCall(&s.Decoder, v)
		s.NextExtra = c.Extra
		b.call = s.NewCall(index, c.ID, c.Name, llm.FunctionTool)
		b.input = c.Args
	case "server_tool_use", "mcp_tool_use":
		b.start, b.id = slices.Clone(v), js.Text(js.Get(v, "id"))
	default:
		b.start = slices.Clone(v)
		if strings.HasSuffix(b.kind, "_tool_result") || b.kind == "redacted_thinking" {
			b.start = nil
			s.block(v)
		}
	}
}

// beginSpan reads the start of a block: its extra fields, which are sent with its first piece, and the text that some
// servers put there.
func (s *messagesStream) beginSpan(b *messagesBlock, v []byte) {
	if codec.HasOthers(v, "type", "text", "thinking", "signature", "citations") {
		s.spanExtra(b, v)
	}
	for key, val := range js.Members(v) {
		switch string(key) {
		case "text":
			s.Text(s.Quoted(val))
		case "thinking":
			s.Thinking(s.Quoted(val))
		case "signature":
			b.signature = js.AppendText(b.signature, val)
		case "citations":
			for el := range js.Elements(val) {
				s.Cite(decodeCitation(&s.Decoder, el))
			}
		}
	}
}

// spanExtra sends the extra fields of a block of text or thinking.
func (s *messagesStream) spanExtra(b *messagesBlock, v []byte) {
	if b.kind == "text" {
		if x := decodeText(&s.Decoder, v).Extra; len(x) > 0 {
			s.Enter(codec.TextSpan)
			s.Emit(llm.TextDelta{Part: &llm.Text{Extra: x}})
		}
	} else if x := decodeThinking(&s.Decoder, v).Extra; len(x) > 0 {
		s.Enter(codec.ThinkingSpan)
		s.Emit(llm.ThinkingDelta{Part: &llm.Thinking{Extra: x}})
	}
}

func (s *messagesStream) blockDelta(index int, v, event []byte) {
	b := s.find(index)
	if b == nil {
		s.Refuse(fmt.Errorf("a piece of block %d, which never began", index))
		return
	}
	for key, val := range js.Members(v) {
		switch string(key) {
		case "partial_json":
			if b.call != nil {
				s.AddQuoted(b.call, val)
			} else {
				b.input = js.AppendText(b.input, val)
			}
		case "text":
			s.Text(s.Quoted(val))
		case "thinking":
			s.Thinking(s.Quoted(val))
		case "signature":
			if len(b.signature) == 0 {
				b.signedAt = s.Frame.Start
			}
			b.signature = js.AppendText(b.signature, val)
		case "citation":
			s.Cite(decodeCitation(&s.Decoder, val))
		case "type":
		default:
			typ := js.Get(v, "type")
			if !slices.ContainsFunc(deltas, func(known string) bool { return js.Is(typ, known) }) {
				s.Unknown("content_block_delta", event)
				return
			}
			s.UnknownField("/content_block_delta/delta", key, val)
		}
	}
}

// blockStop closes a block. A call stays open: the vendor closes it also where the
// limit cut it, and only the end of the message tells.
func (s *messagesStream) blockStop(index int) {
	b := s.find(index)
	if b == s.open {
		s.open = nil
	}
	switch {
	case b == nil:
	case b.call != nil:
		if b.call.Args.Len() == 0 {
			s.AddArgs(b.call, b.input)
		}
	case len(b.signature) > 0:
		w := js.AppendQuoted([]byte(`{"signature":`), b.signature)
		s.NewPart = false
		s.Since(b.signedAt, func() { s.ThinkingState(s.State(append(w, '}')), false) })
		b.signature = nil
	case b.start != nil:
		s.Since(b.at, func() { s.endHosted(b) })
		b.start = nil
	}
}

// endHosted sends a block that goes back whole, with the input it was given.
func (s *messagesStream) endHosted(b *messagesBlock) {
	if len(b.input) == 0 {
		s.block(b.start)
		return
	}
	var w js.Writer
	w.Object()
	for key, val := range js.Members(b.start) {
		w.AnyKey(string(key))
		if string(key) == "input" {
			val = b.input
		}
		w.Raw(val)
	}
	w.End()
	if w.Err != nil {
		s.Refuse(w.Err)
		return
	}
	s.Body = w.Buf
	s.block(w.Buf)
}
