package gemini

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (Format) DecodeResponse(_ *codec.Decoder, body []byte, a *codec.Answer) {
	a.PlainStop = true
	s := &stream{Answer: a}
	s.chunk(body)
}

// stream reads chunks. Each is an answer with the next parts.
type stream struct {
	*codec.Answer
	streams map[int]*stream // of the answers after the first, by index
	ends    codec.WholeCalls
}

func (s *stream) Mark(at codec.Moment) {
	s.ends.Set(at, s.Answer)
	for _, o := range s.streams {
		o.Mark(at)
	}
}

func (s *stream) Resume(at codec.Moment, e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	w := &writer{e: e, head: head, list: s.IsArray, opened: true, relayed: s.ends.Sent(at, s.Answer)}
	for i, o := range s.streams {
		w.others = append(w.others, relayedOther{i, o.ends.Sent(at, o.Answer)})
	}
	return w
}

func (s *stream) chunk(v []byte) bool {
	var candidates []byte
	for key, val := range js.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "candidates":
			candidates = val
		case "usageMetadata":
			decodeUsage(&s.Decoder, val, &s.Finish)
		case "modelVersion":
			s.Same(&s.Finish.Model, val)
		case "responseId":
			s.Same(&s.Finish.ID, val)
		case "error":
			s.Fail(v)
		case "promptFeedback":
			s.KeepField(string(key), val)
			if why := s.Str(camelGet(val, "blockReason")); why != "" {
				s.Finish.Raw, s.Finish.Reason = why, llm.ContentFilter
				s.MarkFinished()
			}
		default:
			if string(codec.CamelCase(key)) == "createTime" {
				s.Moment(val)
			}
			s.KeepField(string(key), val)
		}
	}
	if s.Err == nil {
		s.Begin()
		s.candidates(candidates)
	}
	return true
}

func (s *stream) candidates(v []byte) {
	for c := range js.Elements(v) {
		if i := js.Get(c, "index"); len(i) > 0 && js.Kind(i) == '0' && i[0] != '0' {
			s.otherCandidate(s.Integer(i), c)
			continue
		}
		s.candidate(c)
	}
}

// otherCandidate reads a piece of an answer after the first.
func (s *stream) otherCandidate(index int, v []byte) {
	o := codec.OtherStream(&s.streams, s.Answer, index, func(a *codec.Answer) *stream { return &stream{Answer: a} })
	if o == nil {
		return
	}
	o.Body, o.Frame = s.Body, s.Frame
	o.candidate(v)
	if o.Err != nil {
		s.Refuse(o.Err)
	}
}

const candidatePrefix = "candidate."

func (s *stream) candidate(v []byte) {
	var reason, message, grounding, content []byte
	for key, val := range js.Members(v) {
		switch name := string(codec.CamelCase(key)); name {
		case "content":
			content = val
		case "logprobsResult":
			if rest := s.readProbs(val); rest != nil {
				s.KeepField(candidatePrefix+name, rest)
			}
		case "finishReason":
			reason = val
		case "finishMessage":
			message = val
		case "index":
		case "groundingMetadata":
			grounding = val
			s.KeepField(candidatePrefix+name, val)
		default:
			s.KeepField(candidatePrefix+name, val)
		}
	}
	for el := range js.Elements(s.content(content)) {
		s.answerPart(el)
	}
	if s.Probs != nil { // of a chunk without text
		s.Emit(llm.TextDelta{Part: s.About()})
	}
	for _, c := range s.citations(grounding) {
		s.Cite(c)
	}
	s.ending(s.Str(reason), s.Str(message))
}

// content returns the parts of a content.
func (s *stream) content(v []byte) (parts []byte) {
	for key, val := range js.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "parts":
			parts = val
		case "role":
		default:
			s.UnknownField(candidatePrefix+"/content", key, val)
		}
	}
	return parts
}

// unreadableCall is what became of a call that the vendor did not pass on.
const unreadableCall = "The model tried to make a call that the vendor could not read, and nothing was run. Write it again as a tool call."

func (s *stream) ending(reason, message string) {
	if reason == "" || reason == "FINISH_REASON_UNSPECIFIED" {
		return
	}
	s.SetFinish(reason, reasons)
	if s.Finish.Reason == llm.OtherReason { // which says nothing about the calls before: each comes in one piece
		for _, p := range s.Calls {
			p.Closed = true
		}
		s.Settle()
	}
	if reason == "MALFORMED_FUNCTION_CALL" { // a call was written, but the vendor could not read it
		s.Emit(llm.InvalidCall{ID: s.IDs.Take(""), Raw: message, Reason: llm.BadArguments, Problem: unreadableCall})
	}
	if message != "" {
		s.ExtraField(&s.Finish.Extra, candidatePrefix+"finishMessage", js.AppendQuoted(nil, message))
	}
}

// answerPart sends a part. Pieces of text without a signature belong together.
func (s *stream) answerPart(v []byte) {
	if !s.Object(v) {
		return
	}
	switch p := decodePart(&s.Decoder, v).(type) {
	case llm.Text:
		s.textWithState(p)
	case llm.Thinking:
		if len(p.Extra) > 0 {
			s.Enter(codec.ThinkingSpan)
			s.Emit(llm.ThinkingDelta{Text: p.Text, Part: &llm.Thinking{Extra: p.Extra}})
		} else {
			s.Thinking(p.Text)
		}
		if !p.State.IsZero() {
			s.ThinkingState(p.State, false)
		}
	case llm.Media:
		s.Media(p)
	case llm.Call:
		if p.Hosted {
			s.HostedCall(p)
		} else {
			s.Call(p)
		}
	case llm.Result:
		s.HostedResult(p)
	}
}

func (s *stream) textWithState(t llm.Text) {
	if len(t.Extra) > 0 {
		s.Enter(codec.TextSpan)
		about := s.About()
		if about == nil {
			about = new(llm.Text)
		}
		about.Extra = t.Extra
		s.Emit(llm.TextDelta{Text: t.Text, Part: about})
	} else {
		s.Text(t.Text)
	}
	switch {
	case t.State.IsZero():
	case isSignature(t.State.Data):
		if s.Span != codec.TextSpan {
			s.NewPart = true
		}
		s.TextState(t.State)
	default:
		s.Part(t.State.Data)
	}
}

// citations reads where stretches of the text come from.
func (s *stream) citations(v []byte) []llm.Citation {
	var sources []llm.Citation
	for el := range js.Elements(camelGet(v, "groundingChunks")) {
		var c llm.Citation
		for _, val := range js.Members(el) { // web, maps, retrievedContext or image
			c = llm.Citation{URL: js.Text(camelGet(val, "uri")), Title: js.Text(camelGet(val, "title"))}
		}
		sources = append(sources, c)
	}
	var out []llm.Citation
	for el := range js.Elements(camelGet(v, "groundingSupports")) {
		segment := camelGet(el, "segment")
		for i := range js.Elements(camelGet(el, "groundingChunkIndices")) {
			n := s.Integer(i)
			if n < 0 || n >= len(sources) {
				continue
			}
			c := sources[n]
			c.Start, c.End = s.Integer(camelGet(segment, "startIndex")), s.Integer(camelGet(segment, "endIndex"))
			c.Quote, c.Raw = js.Text(camelGet(segment, "text")), s.State(el)
			out = append(out, c)
		}
	}
	return out
}
