package wire

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// decodeResponse reads a whole answer, block by block, as a stream would.
func (c converse) decodeResponse(_ *decoder, body []byte, a *answer) {
	s := &converseStream{answer: a}
	if js.Get(body, "output") == nil && js.Get(body, "__type") != nil {
		a.fail(body)
		return
	}
	for key, val := range js.Members(body) {
		if k := string(key); k != "output" && k != "stopReason" {
			s.about(key, val)
		}
	}
	s.begin()
	s.strays("", "/output", js.Get(body, "output"), "message")
	s.message(js.Get(js.Get(body, "output"), "message"))
	s.ending(s.str(js.Get(body, "stopReason")))
	s.wordless(js.Get(body, "stopReason"))
}

// converseStream reads the frames of a stream.
type converseStream struct {
	*answer
	blocks []*converseBlock // those that are being written
	seen   int              // blocks that began so far
	next   int              // the index after the last that began
	places places[blockPlace[converseBlock]]
}

// converseBlock is a block that is being written.
type converseBlock struct {
	index     int
	span      spanKind // of text and thinking
	call      *pending
	hosted    []byte // how a hosted call or result began
	result    bool   // it is a result
	input     []byte // what a hosted tool was given, or the content of its result
	signature []byte
	redacted  []byte
	image     *llm.Media
	at        int64 // start of the frame in which it began
	signedAt  int64 // start of the frame with the signature, or with what is hidden
}

// event reads a frame and reports whether more may come.
func (s *converseStream) event(f eventstream.Frame) (more bool) {
	if f.Kind != eventstream.Event {
		s.exception(f)
		return false
	}
	v := js.Trim(f.Payload)
	if !s.valid(v) {
		s.refuse(fmt.Errorf("an event is not JSON: %.200q", f.Payload))
		return false
	}
	if !s.take(v, maxEventValues) {
		return false
	}
	if s.finished && strings.HasPrefix(f.Name, "contentBlock") { // nobody can say whether it counts
		s.refuse(fmt.Errorf("%s after messageStop", f.Name))
		return false
	}
	var at, body []byte
	for key, val := range js.Members(v) {
		switch string(key) {
		case "contentBlockIndex":
			at = val
		case "delta", "start":
			body = val
		case "p":
		default:
			s.beside(f.Name, key, val)
		}
	}
	index := s.integer(at)
	switch f.Name {
	case "messageStart":
		s.begin()
	case "contentBlockDelta":
		s.blockDelta(s.open(index), body)
	case "contentBlockStart":
		s.blockStart(index, body)
	case "contentBlockStop":
		s.blockStop(index)
	case "messageStop":
		s.members(v, "stopReason")
		s.ending(s.str(js.Get(v, "stopReason")))
	case "metadata":
		s.members(v, "")
		return !s.finished
	default:
		s.unknown(f.Name, v)
	}
	return true
}

// beside keeps a member of an event that nobody reads. What the last events say about the answer is read by members.
func (s *converseStream) beside(event string, key, v []byte) {
	if event == "messageStart" && string(key) != "role" || strings.HasPrefix(event, "contentBlock") {
		s.stray(nestedMark+event, key, v)
	}
}

// exception reads a frame that ends the stream with an error.
func (s *converseStream) exception(f eventstream.Frame) {
	body := f.Payload
	if f.Kind == eventstream.Failure {
		body = append(js.AppendQuoted([]byte(`{"message":`), f.Message), '}')
	}
	s.reported = true
	if s.err == nil {
		s.err = s.c.decodeError(0, http.Header{awsErrorHeader: {f.Name}}, body)
	}
}

// members keeps what an event says about the answer. The vendor pads events with
// a member p, so that their lengths tell nothing.
func (s *converseStream) members(v []byte, known string) {
	for key, val := range js.Members(v) {
		if k := string(key); k != known && k != "p" {
			s.about(key, val)
		}
	}
}

// about reads what stands beside the message of an answer.
func (s *converseStream) about(key, val []byte) {
	switch string(key) {
	case "usage":
		converse{}.decodeUsage(&s.decoder, val, &s.finish)
		return
	case "metrics":
		if onlyKey(val, "latencyMs") && string(js.Get(val, "latencyMs")) == "0" {
			return // it was not timed
		}
	case "trace":
		s.finish.Model = js.Text(js.Get(js.Get(val, "promptRouter"), "invokedModelId"))
	case "additionalModelResponseFields":
		s.finish.StopSequence = js.Text(js.Get(val, "stop_sequence"))
		if s.finish.StopSequence != "" && onlyKey(val, "stop_sequence") {
			return
		}
	}
	s.extra(&s.finish.Extra, key, val)
}

// ending reads why the model stopped. Where it is said that a call could not be
// read, no call that is still open may be run.
func (s *converseStream) ending(reason string) {
	s.stop(reason, converseReasons)
	if reason != "malformed_tool_use" {
		return
	}
	for _, p := range s.calls {
		if !p.done && p.whole() {
			s.close(p, false)
		}
	}
	if s.held == 0 {
		s.emit(llm.InvalidCall{ID: s.ids.Take(""), Reason: llm.BadArguments, Problem: problems[llm.BadArguments]})
	}
}

func (s *converseStream) message(v []byte) {
	for key, val := range js.Members(v) {
		switch string(key) {
		case "role":
		case "content":
			for _, p := range (converse{}).decodeBlocks(&s.decoder, val) {
				s.wholePart(p)
			}
		default:
			s.extraNamed(&s.finish.Extra, messagePrefix+string(key), val)
		}
	}
}

// open returns the block with that index. Only blocks of tools and images are
// announced; others begin with their first piece.
func (s *converseStream) open(index int) *converseBlock {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if s.blocks[i].index == index {
			return s.blocks[i]
		}
	}
	s.apart = true
	return s.newBlock(index)
}

func (s *converseStream) newBlock(index int) *converseBlock {
	if s.seen++; s.seen > maxBlocks {
		s.refuse(fmt.Errorf("more than %d blocks in one answer", maxBlocks))
	}
	b := &converseBlock{index: index, at: s.frame.start}
	s.next = index + 1
	s.blocks = append(s.blocks, b)
	return b
}

func (s *converseStream) blockStart(index int, v []byte) {
	b := s.newBlock(index)
	for key, val := range js.Members(v) {
		switch string(key) {
		case "toolUse":
			if says(js.Get(val, "type")) {
				b.hosted = s.raw(val)
				continue
			}
			c := converse{}.decodeCall(&s.decoder, v, val, nil)
			s.opening = c.Extra
			b.call = s.newCall(index, c.ID, c.Name, llm.FunctionTool)
		case "toolResult":
			b.hosted, b.result = s.raw(val), true
		case "image":
			b.image = &llm.Media{Kind: llm.Image, MIME: converseMIME(llm.Image, s.str(js.Get(val, "format")))}
			s.strays("", "/contentBlockStart/start/image", val, "format")
		default:
			s.stray("/contentBlockStart/start", key, val)
		}
	}
}

func (s *converseStream) blockDelta(b *converseBlock, v []byte) {
	for key, val := range js.Members(v) {
		switch string(key) {
		case "text":
			b.span = textSpan
			s.text(s.quoted(val))
		case "reasoningContent":
			s.thinkingDelta(b, val)
		case "toolUse":
			s.inputDelta(b, val)
		case "toolResult":
			for el := range s.objects(val) {
				if len(b.input) > 0 {
					b.input = append(b.input, ',')
				}
				b.input = s.grow(append(b.input, el...))
			}
		case "citation":
			b.span = textSpan
			s.cite(converse{}.decodeCitation(&s.decoder, val))
		case "image":
			if source := js.Get(val, "source"); b.image != nil {
				b.image.Data = s.grow(append(b.image.Data, s.data(js.Get(source, "bytes"))...))
				s.strays("", "/contentBlockDelta/delta/image", val, "source")
				s.strays("", "/contentBlockDelta/delta/image/source", source, "bytes")
			}
		default:
			s.stray("/contentBlockDelta/delta", key, val)
		}
	}
}

// inputDelta reads a piece of what a tool is given.
func (s *converseStream) inputDelta(b *converseBlock, v []byte) {
	for key, val := range js.Members(v) {
		switch {
		case string(key) != "input":
			s.stray("/contentBlockDelta/delta/toolUse", key, val)
		case b.call != nil:
			s.addQuoted(b.call, val)
		default:
			b.input = s.grow(js.AppendText(b.input, val))
		}
	}
}

// grow bounds what is collected of a block that goes out whole.
func (s *converseStream) grow(b []byte) []byte {
	if len(b) > maxArgs {
		s.refuse(fmt.Errorf("more than %d bytes in one block", maxArgs))
		return nil
	}
	return b
}

func (s *converseStream) thinkingDelta(b *converseBlock, v []byte) {
	for key, val := range js.Members(v) {
		switch string(key) {
		case "text":
			b.span = thinkingSpan
			s.thinking(s.quoted(val))
		case "signature":
			if len(b.signature) == 0 {
				b.span, b.signedAt = thinkingSpan, s.frame.start
			}
			b.signature = s.grow(js.AppendText(b.signature, val))
		case "redactedContent":
			if len(b.redacted) == 0 {
				b.span, b.signedAt = redactedSpan, s.frame.start
			}
			b.redacted = s.grow(append(b.redacted, s.data(val)...))
		default:
			s.stray("/contentBlockDelta/delta/reasoningContent", key, val)
		}
	}
}

// blockStop closes a block. A call stays open: the vendor closes it also where
// the limit cut it, and only the end of the message tells.
func (s *converseStream) blockStop(index int) {
	i := len(s.blocks) - 1
	for i >= 0 && s.blocks[i].index != index {
		i--
	}
	if i < 0 {
		return
	}
	b := s.blocks[i]
	s.blocks = append(s.blocks[:i], s.blocks[i+1:]...)
	switch {
	case len(b.signature) > 0:
		w := js.AppendQuoted([]byte(`{"signature":`), b.signature)
		s.apart = false
		s.since(b.signedAt, func() { s.thinkingState(s.state(append(w, '}')), false) })
	case len(b.redacted) > 0:
		w := js.AppendQuoted([]byte(`{"redactedContent":`), base64.StdEncoding.EncodeToString(b.redacted))
		s.apart = true
		s.since(b.signedAt, func() { s.thinkingState(s.state(append(w, '}')), true) })
	case b.image != nil:
		s.since(b.at, func() { s.media(*b.image) })
	case b.hosted != nil:
		s.since(b.at, func() { s.endHosted(b) })
	}
}

// endHosted sends a call that the vendor ran, or its result, as the block that a
// whole answer would hold.
func (s *converseStream) endHosted(b *converseBlock) {
	var w js.Writer
	w.Object()
	if b.result {
		w.Key("toolResult")
	} else {
		w.Key("toolUse")
	}
	w.Object()
	for key, val := range js.Members(b.hosted) {
		w.AnyKey(string(key))
		w.Raw(val)
	}
	if b.result {
		w.RawField("content", append(append([]byte{'['}, b.input...), ']'))
	} else {
		w.RawField("input", objectOf(b.input))
	}
	w.End()
	w.End()
	if w.Err != nil {
		s.refuse(w.Err)
		return
	}
	s.body = w.Buf
	s.wholePart((converse{}).decodeBlock(&s.decoder, w.Buf))
}
