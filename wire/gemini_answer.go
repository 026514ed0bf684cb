package wire

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (gemini) decodeResponse(_ *decoder, body []byte, a *answer) {
	a.plainStop = true
	s := &geminiStream{answer: a}
	s.chunk(body)
}

// geminiStream reads chunks, which are answers with the next parts.
type geminiStream struct {
	*answer
	streams map[int]*geminiStream // of the answers after the first, by index
	ends    wholeCalls
}

func (s *geminiStream) mark(at moment) {
	s.ends.set(at, s.answer)
	for _, o := range s.streams {
		o.mark(at)
	}
}

func (s *geminiStream) resume(at moment, e *encoder, head streamHead) streamEncoder {
	w := &geminiWriter{e: e, head: head, list: s.list, opened: true, relayed: s.ends.sent(at, s.answer)}
	for i, o := range s.streams {
		w.others = append(w.others, relayedOther{i, o.ends.sent(at, o.answer)})
	}
	return w
}

func (s *geminiStream) chunk(v []byte) bool {
	var candidates []byte
	for key, val := range js.Members(v) {
		switch string(camel(key)) {
		case "candidates":
			candidates = val
		case "usageMetadata":
			gemini{}.decodeUsage(&s.decoder, val, &s.finish)
		case "modelVersion":
			s.same(&s.finish.Model, val)
		case "responseId":
			s.same(&s.finish.ID, val)
		case "error":
			s.fail(v)
		case "promptFeedback":
			s.keepField(string(key), val)
			if why := s.str(camelGet(val, "blockReason")); why != "" {
				s.finish.Raw, s.finish.Reason = why, llm.ContentFilter
				s.end()
			}
		default:
			if string(camel(key)) == "createTime" {
				s.moment(val)
			}
			s.keepField(string(key), val)
		}
	}
	if s.err == nil {
		s.begin()
		s.candidates(candidates)
	}
	return true
}

func (s *geminiStream) candidates(v []byte) {
	for c := range js.Elements(v) {
		if i := js.Get(c, "index"); len(i) > 0 && js.Kind(i) == '0' && i[0] != '0' {
			s.otherCandidate(s.integer(i), c)
			continue
		}
		s.candidate(c)
	}
}

// otherCandidate reads a piece of an answer after the first.
func (s *geminiStream) otherCandidate(index int, v []byte) {
	o := otherStream(&s.streams, s.answer, index, func(a *answer) *geminiStream { return &geminiStream{answer: a} })
	if o == nil {
		return
	}
	o.body, o.frame = s.body, s.frame
	o.candidate(v)
	if o.err != nil {
		s.refuse(o.err)
	}
}

const candidatePrefix = "candidate."

func (s *geminiStream) candidate(v []byte) {
	var reason, message, grounding, content []byte
	for key, val := range js.Members(v) {
		switch name := string(camel(key)); name {
		case "content":
			content = val
		case "logprobsResult":
			if rest := s.readProbs(val); rest != nil {
				s.keepField(candidatePrefix+name, rest)
			}
		case "finishReason":
			reason = val
		case "finishMessage":
			message = val
		case "index":
		case "groundingMetadata":
			grounding = val
			s.keepField(candidatePrefix+name, val)
		default:
			s.keepField(candidatePrefix+name, val)
		}
	}
	for el := range js.Elements(s.content(content)) {
		s.answerPart(el)
	}
	if s.probs != nil { // of a chunk without text
		s.emit(llm.TextDelta{Part: s.about()})
	}
	for _, c := range s.citations(grounding) {
		s.cite(c)
	}
	s.ending(s.str(reason), s.str(message))
}

// content returns the parts of what was said.
func (s *geminiStream) content(v []byte) (parts []byte) {
	for key, val := range js.Members(v) {
		switch string(camel(key)) {
		case "parts":
			parts = val
		case "role":
		default:
			s.stray(candidatePrefix+"/content", key, val)
		}
	}
	return parts
}

// unreadableCall is what became of a call that the vendor did not pass on.
const unreadableCall = "The model tried to make a call that the vendor could not read, and nothing was run. Write it again as a tool call."

func (s *geminiStream) ending(reason, message string) {
	if reason == "" || reason == "FINISH_REASON_UNSPECIFIED" {
		return
	}
	s.stop(reason, geminiReasons)
	if s.finish.Reason == llm.OtherReason { // which says nothing about the calls before: each comes in one piece
		for _, p := range s.calls {
			p.closed = true
		}
		s.settle()
	}
	if reason == "MALFORMED_FUNCTION_CALL" { // a call was written, but the vendor could not read it
		s.emit(llm.InvalidCall{ID: s.ids.Take(""), Raw: message, Reason: llm.BadArguments, Problem: unreadableCall})
	}
	if message != "" {
		s.extraNamed(&s.finish.Extra, candidatePrefix+"finishMessage", js.AppendQuoted(nil, message))
	}
}

// answerPart sends a part. Pieces of text without a signature belong together.
func (s *geminiStream) answerPart(v []byte) {
	if !s.object(v) {
		return
	}
	switch p := (gemini{}).decodePart(&s.decoder, v).(type) {
	case llm.Text:
		s.textWithState(p)
	case llm.Thinking:
		if len(p.Extra) > 0 {
			s.enter(thinkingSpan)
			s.emit(llm.ThinkingDelta{Text: p.Text, Part: &llm.Thinking{Extra: p.Extra}})
		} else {
			s.thinking(p.Text)
		}
		if !p.State.IsZero() {
			s.thinkingState(p.State, false)
		}
	case llm.Media:
		s.media(p)
	case llm.Call:
		if p.Hosted {
			s.hostedCall(p)
		} else {
			s.call(p)
		}
	case llm.Result:
		s.hostedResult(p)
	}
}

func (s *geminiStream) textWithState(t llm.Text) {
	if len(t.Extra) > 0 {
		s.enter(textSpan)
		about := s.about()
		if about == nil {
			about = new(llm.Text)
		}
		about.Extra = t.Extra
		s.emit(llm.TextDelta{Text: t.Text, Part: about})
	} else {
		s.text(t.Text)
	}
	switch {
	case t.State.IsZero():
	case isSignature(t.State.Data):
		if s.span != textSpan {
			s.apart = true
		}
		s.textState(t.State)
	default:
		s.part(t.State.Data)
	}
}

// citations reads where stretches of the text come from.
func (s *geminiStream) citations(v []byte) []llm.Citation {
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
			n := s.integer(i)
			if n < 0 || n >= len(sources) {
				continue
			}
			c := sources[n]
			c.Start, c.End = s.integer(camelGet(segment, "startIndex")), s.integer(camelGet(segment, "endIndex"))
			c.Quote, c.Raw = js.Text(camelGet(segment, "text")), s.state(el)
			out = append(out, c)
		}
	}
	return out
}
