package converse

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// DecodeResponse reads a whole answer, block by block, as a stream would.
func (Format) DecodeResponse(_ *codec.Decoder, body []byte, a *codec.Answer) {
	s := &converseStream{Answer: a}
	if js.Get(body, "output") == nil && js.Get(body, "__type") != nil {
		a.Fail(body)
		return
	}
	for key, val := range js.Members(body) {
		if k := string(key); k != "output" && k != "stopReason" {
			s.about(key, val)
		}
	}
	s.Begin()
	s.UnknownFields("", "/output", js.Get(body, "output"), "message")
	s.message(js.Get(js.Get(body, "output"), "message"))
	s.ending(s.Str(js.Get(body, "stopReason")))
	s.EmptyFinish(js.Get(body, "stopReason"))
}

// converseStream reads the frames of a stream.
type converseStream struct {
	*codec.Answer
	blocks []*converseBlock // the open blocks
	seen   int              // blocks that began so far
	next   int              // the index after the last that began
	places codec.Positions[codec.BlockPosition[converseBlock]]
}

// converseBlock is a block that is being written.
type converseBlock struct {
	index     int
	span      codec.SpanKind // of text and thinking
	call      *codec.PendingCall
	hosted    []byte // how a hosted call or result began
	result    bool   // it is a result
	input     []byte // what a hosted tool was given, or the content of its result
	signature []byte
	redacted  []byte
	image     *llm.Media
	at        int64 // start of the frame in which it began
	signedAt  int64 // start of the frame with the signature, or with redacted thinking
}

// event reads a frame and reports whether more may come.
func (s *converseStream) event(f eventstream.Frame) (more bool) {
	if f.Kind != eventstream.Event {
		s.exception(f)
		return false
	}
	v := js.Trim(f.Payload)
	if !s.Valid(v) {
		s.Refuse(fmt.Errorf("an event is not JSON: %.200q", f.Payload))
		return false
	}
	if !s.Take(v, codec.MaxEventValues) {
		return false
	}
	if s.Finished && strings.HasPrefix(f.Name, "contentBlock") { // it may not count
		s.Refuse(fmt.Errorf("%s after messageStop", f.Name))
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
	index := s.Integer(at)
	switch f.Name {
	case "messageStart":
		s.Begin()
	case "contentBlockDelta":
		s.blockDelta(s.open(index), body)
	case "contentBlockStart":
		s.blockStart(index, body)
	case "contentBlockStop":
		s.blockStop(index)
	case "messageStop":
		s.members(v, "stopReason")
		s.ending(s.Str(js.Get(v, "stopReason")))
	case "metadata":
		s.members(v, "")
		return !s.Finished
	default:
		s.Unknown(f.Name, v)
	}
	return true
}

// beside keeps an unknown member of an event. The last events have their own readers.
func (s *converseStream) beside(event string, key, v []byte) {
	if event == "messageStart" && string(key) != "role" || strings.HasPrefix(event, "contentBlock") {
		s.UnknownField(loss.NestedMark+event, key, v)
	}
}

// exception reads a frame that ends the stream with an error.
func (s *converseStream) exception(f eventstream.Frame) {
	body := f.Payload
	if f.Kind == eventstream.Failure {
		body = append(js.AppendQuoted([]byte(`{"message":`), f.Message), '}')
	}
	s.Reported = true
	if s.Err == nil {
		s.Err = s.Host.DecodeError(0, http.Header{codec.AWSErrorHeader: {f.Name}}, body)
	}
}

// members keeps the unknown members of an event about the answer. The vendor pads events with a member p to hide their
// lengths.
func (s *converseStream) members(v []byte, known string) {
	for key, val := range js.Members(v) {
		if k := string(key); k != known && k != "p" {
			s.about(key, val)
		}
	}
}

// about reads the members next to the message of an answer.
func (s *converseStream) about(key, val []byte) {
	switch string(key) {
	case "usage":
		decodeUsage(&s.Decoder, val, &s.Finish)
		return
	case "metrics":
		if codec.OnlyKey(val, "latencyMs") && string(js.Get(val, "latencyMs")) == "0" {
			return // it was not timed
		}
	case "trace":
		s.Finish.Model = js.Text(js.Get(js.Get(val, "promptRouter"), "invokedModelId"))
	case "additionalModelResponseFields":
		s.Finish.StopSequence = js.Text(js.Get(val, "stop_sequence"))
		if s.Finish.StopSequence != "" && codec.OnlyKey(val, "stop_sequence") {
			return
		}
	}
	s.Extra(&s.Finish.Extra, key, val)
}

// ending reads why the model stopped. Where it is said that a call could not be
// read, no call that is still open may be run.
func (s *converseStream) ending(reason string) {
	s.SetFinish(reason, reasons)
	if reason != "malformed_tool_use" {
		return
	}
	for _, p := range s.Calls {
		if !p.Done && p.Whole() {
			s.Close(p, false)
		}
	}
	if s.Held == 0 {
		s.Emit(llm.InvalidCall{ID: s.IDs.Take(""), Reason: llm.BadArguments, Problem: codec.Problems[llm.BadArguments]})
	}
}

func (s *converseStream) message(v []byte) {
	for key, val := range js.Members(v) {
		switch string(key) {
		case "role":
		case "content":
			for _, p := range decodeBlocks(&s.Decoder, val) {
				s.AddPart(p)
			}
		default:
			s.ExtraField(&s.Finish.Extra, loss.MessagePrefix+string(key), val)
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
	s.NewPart = true
	return s.newBlock(index)
}

func (s *converseStream) newBlock(index int) *converseBlock {
	if s.seen++; s.seen > codec.MaxBlocks {
		s.Refuse(fmt.Errorf("more than %d blocks in one answer", codec.MaxBlocks))
	}
	b := &converseBlock{index: index, at: s.Frame.Start}
	s.next = index + 1
	s.blocks = append(s.blocks, b)
	return b
}

func (s *converseStream) blockStart(index int, v []byte) {
	b := s.newBlock(index)
	for key, val := range js.Members(v) {
		switch string(key) {
		case "toolUse":
			if codec.HasValue(js.Get(val, "type")) {
				b.hosted = s.Raw(val)
				continue
			}
			c := decodeCall(&s.Decoder, v, val, nil)
			s.NextExtra = c.Extra
			b.call = s.NewCall(index, c.ID, c.Name, llm.FunctionTool)
		case "toolResult":
			b.hosted, b.result = s.Raw(val), true
		case "image":
			b.image = &llm.Media{Kind: llm.Image, MIME: mIME(llm.Image, s.Str(js.Get(val, "format")))}
			s.UnknownFields("", "/contentBlockStart/start/image", val, "format")
		default:
			s.UnknownField("/contentBlockStart/start", key, val)
		}
	}
}

func (s *converseStream) blockDelta(b *converseBlock, v []byte) {
	for key, val := range js.Members(v) {
		switch string(key) {
		case "text":
			b.span = codec.TextSpan
			s.Text(s.Quoted(val))
		case "reasoningContent":
			s.thinkingDelta(b, val)
		case "toolUse":
			s.inputDelta(b, val)
		case "toolResult":
			for el := range s.Objects(val) {
				if len(b.input) > 0 {
					b.input = append(b.input, ',')
				}
				b.input = s.grow(append(b.input, el...))
			}
		case "citation":
			b.span = codec.TextSpan
			s.Cite(decodeCitation(&s.Decoder, val))
		case "image":
			if source := js.Get(val, "source"); b.image != nil {
				b.image.Data = s.grow(append(b.image.Data, s.Data(js.Get(source, "bytes"))...))
				s.UnknownFields("", "/contentBlockDelta/delta/image", val, "source")
				s.UnknownFields("", "/contentBlockDelta/delta/image/source", source, "bytes")
			}
		default:
			s.UnknownField("/contentBlockDelta/delta", key, val)
		}
	}
}

// inputDelta reads a piece of what a tool is given.
func (s *converseStream) inputDelta(b *converseBlock, v []byte) {
	for key, val := range js.Members(v) {
		switch {
		case string(key) != "input":
			s.UnknownField("/contentBlockDelta/delta/toolUse", key, val)
		case b.call != nil:
			s.AddQuoted(b.call, val)
		default:
			b.input = s.grow(js.AppendText(b.input, val))
		}
	}
}

// grow limits the buffer of a block that is sent whole.
func (s *converseStream) grow(b []byte) []byte {
	if len(b) > codec.MaxArgs {
		s.Refuse(fmt.Errorf("more than %d bytes in one block", codec.MaxArgs))
		return nil
	}
	return b
}

func (s *converseStream) thinkingDelta(b *converseBlock, v []byte) {
	for key, val := range js.Members(v) {
		switch string(key) {
		case "text":
			b.span = codec.ThinkingSpan
			s.Thinking(s.Quoted(val))
		case "signature":
			if len(b.signature) == 0 {
				b.span, b.signedAt = codec.ThinkingSpan, s.Frame.Start
			}
			b.signature = s.grow(js.AppendText(b.signature, val))
		case "redactedContent":
			if len(b.redacted) == 0 {
				b.span, b.signedAt = codec.RedactedSpan, s.Frame.Start
			}
			b.redacted = s.grow(append(b.redacted, s.Data(val)...))
		default:
			s.UnknownField("/contentBlockDelta/delta/reasoningContent", key, val)
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
		s.NewPart = false
		s.Since(b.signedAt, func() { s.ThinkingState(s.State(append(w, '}')), false) })
	case len(b.redacted) > 0:
		w := js.AppendQuoted([]byte(`{"redactedContent":`), base64.StdEncoding.EncodeToString(b.redacted))
		s.NewPart = true
		s.Since(b.signedAt, func() { s.ThinkingState(s.State(append(w, '}')), true) })
	case b.image != nil:
		s.Since(b.at, func() { s.Media(*b.image) })
	case b.hosted != nil:
		s.Since(b.at, func() { s.endHosted(b) })
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
		w.RawField("input", codec.ObjectOf(b.input))
	}
	w.End()
	w.End()
	if w.Err != nil {
		s.Refuse(w.Err)
		return
	}
	s.Body = w.Buf
	s.AddPart(decodeBlock(&s.Decoder, w.Buf))
}
