package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// decodeResponse reads a whole answer, block by block, as a stream would.
func (m messages) decodeResponse(_ *decoder, body []byte, a *answer) {
	s := &messagesStream{answer: a}
	if js.Is(js.Get(body, "type"), "error") {
		a.fail(body)
		return
	}
	s.message(body)
	s.ending(body)
}

// messagesStream reads the events of a stream.
type messagesStream struct {
	*answer
	counts messagesUsage
	blocks []*messagesBlock
	open   *messagesBlock // the last one that began, until it stops
	places places[blockPlace[messagesBlock]]
}

// messagesBlock is a block that is being written.
type messagesBlock struct {
	index     int
	kind, id  string
	call      *pending
	start     []byte // the block as it began, for those that go back whole
	input     []byte // of a call: as it began, or what a hosted tool was given
	signature []byte
	at        int64 // start of the frame in which it began
	signedAt  int64 // start of the frame with the signature
}

const maxBlocks = 4096

// messagesEvent are the members of all events.
type messagesEvent struct {
	typ, index, delta, block, message, usage []byte

	more bool // there are others
}

// messagesEvents are the events whose other members are kept for the end.
var messagesEvents = []string{"content_block_delta", "content_block_start", "content_block_stop", "message_start", "ping"}

// messagesDeltas are the types of pieces that are read.
var messagesDeltas = []string{"text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta"}

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
		s.blockDelta(s.integer(ev.index), ev.delta, v)
	case js.Is(ev.typ, "content_block_start"):
		s.blockStart(s.integer(ev.index), ev.block)
	case js.Is(ev.typ, "content_block_stop"):
		s.blockStop(s.integer(ev.index))
	case js.Is(ev.typ, "message_start"):
		s.message(ev.message)
		s.begin()
	case js.Is(ev.typ, "message_delta"):
		s.ending(ev.delta)
		s.details(ev.delta, "", "stop_reason", "stop_sequence")
		s.details(v, eventPrefix, "type", "delta", "usage")
		if ev.usage != nil {
			s.counts.decode(&s.decoder, ev.usage, &s.finish)
		}
	case js.Is(ev.typ, "message_stop"):
		s.details(v, stopPrefix, "type")
		_ = s.done()
		return false
	case js.Is(ev.typ, "ping"):
		s.keepAlive()
	case js.Is(ev.typ, "error"):
		s.fail(v)
	default:
		s.unknown(s.str(ev.typ), v)
	}
	return true
}

// beside keeps the members of an event that nobody reads.
func (s *messagesStream) beside(typ, v []byte) {
	for _, name := range messagesEvents {
		if js.Is(typ, name) {
			s.strays("", nestedMark+name, v, "type", "index", "delta", "content_block", "message", "usage")
		}
	}
}

// message reads the envelope of an answer, with the blocks that are there.
func (s *messagesStream) message(v []byte) {
	var content []byte
	for key, val := range js.Members(v) {
		switch string(key) {
		case "id":
			s.finish.ID = s.str(val)
		case "model":
			s.finish.Model = s.str(val)
		case "usage":
			s.counts.decode(&s.decoder, val, &s.finish)
		case "content":
			content = val
		case "type", "role", "stop_reason", "stop_sequence":
		default:
			s.extra(&s.finish.Extra, key, val)
		}
	}
	for el := range js.Elements(content) {
		s.block(el)
	}
}

// ending reads why the model stopped.
func (s *messagesStream) ending(v []byte) {
	s.finish.StopSequence = s.str(js.Get(v, "stop_sequence"))
	s.stop(s.str(js.Get(v, "stop_reason")), messagesReasons)
	s.wordless(js.Get(v, "stop_reason"))
}

// eventPrefix marks what the event that ends an answer says beside its delta, and stopPrefix what the last event says.
const (
	eventPrefix = "event."
	stopPrefix  = "message_stop."
)

// details keeps what else the end of a stream says.
func (s *messagesStream) details(v []byte, prefix string, known ...string) {
	for key, val := range js.Members(v) {
		if !slices.Contains(known, string(key)) {
			s.keepField(prefix+string(key), val)
		}
	}
}

// block sends a block that arrived in one piece.
func (s *messagesStream) block(v []byte) {
	if !s.object(v) {
		return
	}
	if p := (messages{}).decodeBlock(&s.decoder, v); p != nil {
		s.wholePart(p)
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
	if len(s.blocks) >= maxBlocks {
		s.refuse(fmt.Errorf("more than %d blocks in one answer", maxBlocks))
		return
	}
	b := &messagesBlock{index: index, kind: s.str(js.Get(v, "type")), at: s.frame.start}
	s.blocks = append(s.blocks, b)
	s.open = b
	switch b.kind {
	case "text", "thinking":
		s.apart = true
		s.beginSpan(b, v)
	case "tool_use":
		c := messages{}.decodeCall(&s.decoder, v)
		s.opening = c.Extra
		b.call = s.newCall(index, c.ID, c.Name, llm.FunctionTool)
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

// beginSpan takes what stands in the start of a block: its extra fields, which its first piece is sent with, and the text
// that some servers put there.
func (s *messagesStream) beginSpan(b *messagesBlock, v []byte) {
	if hasOthers(v, "type", "text", "thinking", "signature", "citations") {
		s.spanExtra(b, v)
	}
	for key, val := range js.Members(v) {
		switch string(key) {
		case "text":
			s.text(s.quoted(val))
		case "thinking":
			s.thinking(s.quoted(val))
		case "signature":
			b.signature = js.AppendText(b.signature, val)
		case "citations":
			for el := range js.Elements(val) {
				s.cite(messages{}.decodeCitation(&s.decoder, el))
			}
		}
	}
}

// spanExtra sends the extra fields of a block of text or thinking.
func (s *messagesStream) spanExtra(b *messagesBlock, v []byte) {
	if b.kind == "text" {
		if x := (messages{}).decodeText(&s.decoder, v).Extra; len(x) > 0 {
			s.enter(textSpan)
			s.emit(llm.TextDelta{Part: &llm.Text{Extra: x}})
		}
	} else if x := (messages{}).decodeThinking(&s.decoder, v).Extra; len(x) > 0 {
		s.enter(thinkingSpan)
		s.emit(llm.ThinkingDelta{Part: &llm.Thinking{Extra: x}})
	}
}

func (s *messagesStream) blockDelta(index int, v, event []byte) {
	b := s.find(index)
	if b == nil {
		s.refuse(fmt.Errorf("a piece of block %d, which never began", index))
		return
	}
	for key, val := range js.Members(v) {
		switch string(key) {
		case "partial_json":
			if b.call != nil {
				s.addQuoted(b.call, val)
			} else {
				b.input = js.AppendText(b.input, val)
			}
		case "text":
			s.text(s.quoted(val))
		case "thinking":
			s.thinking(s.quoted(val))
		case "signature":
			if len(b.signature) == 0 {
				b.signedAt = s.frame.start
			}
			b.signature = js.AppendText(b.signature, val)
		case "citation":
			s.cite(messages{}.decodeCitation(&s.decoder, val))
		case "type":
		default:
			typ := js.Get(v, "type")
			if !slices.ContainsFunc(messagesDeltas, func(known string) bool { return js.Is(typ, known) }) {
				s.unknown("content_block_delta", event)
				return
			}
			s.stray("/content_block_delta/delta", key, val)
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
		if b.call.args.Len() == 0 {
			s.addArgs(b.call, b.input)
		}
	case len(b.signature) > 0:
		w := js.AppendQuoted([]byte(`{"signature":`), b.signature)
		s.apart = false
		s.since(b.signedAt, func() { s.thinkingState(s.state(append(w, '}')), false) })
		b.signature = nil
	case b.start != nil:
		s.since(b.at, func() { s.endHosted(b) })
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
		s.refuse(w.Err)
		return
	}
	s.body = w.Buf
	s.block(w.Buf)
}
