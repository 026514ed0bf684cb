package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// chatStream reads chunks and whole answers: a message is a delta that says
// everything at once.
type chatStream struct {
	*answer
	// history says that the message is an old one, of a request.
	history  bool
	parts    func([]llm.Part)  // takes the parts of a message of history
	details  *reasoningDetails // nil before the first
	detailed int64             // start of the frame with the first of them
	places   places[chatPlace]
	audio    chatAudio
	audible  int64 // start of the frame with its first piece
	logprobs bytes.Buffer
	streams  map[int]*chatStream // of the answers after the first, by index
	// head and tail are what stood before and behind the choices of a chunk that said nothing else:
	// nearly all chunks of an answer repeat them.
	head, tail []byte
	one        chatChoice    // that is being read
	piece      chatDelta     // of it
	calling    chatCallPiece // in that
}

func (chat) decodeResponse(_ *decoder, body []byte, a *answer) {
	s := &chatStream{answer: a}
	s.chunk(body)
}

// chunk reads one chunk or one whole answer.
func (s *chatStream) chunk(v []byte) bool {
	choices, known := s.repeated(v)
	alive := len(choices) <= 2 // nothing but the envelope
	if !known {
		choices, alive = s.envelope(v)
	}
	if s.err != nil {
		return true
	}
	if alive && s.begun {
		s.keepAlive()
	}
	s.begin()
	s.choices(choices)
	return true
}

// repeated returns the choices of a chunk in which nothing else is new, and whether it is one.
func (s *chatStream) repeated(v []byte) ([]byte, bool) {
	at := len(s.head)
	if at == 0 || !bytes.HasPrefix(v, s.head) {
		return nil, false
	}
	end := js.EndOfValue(v, at)
	return v[at:end], bytes.Equal(v[end:], s.tail)
}

// envelope reads all of a chunk but its choices, and reports whether there is nothing else in it.
func (s *chatStream) envelope(v []byte) (choices []byte, alive bool) {
	alive = true
	plain, lists := !s.entire && !s.history, 0
	for key, val := range js.Members(v) {
		switch string(key) {
		case "choices":
			choices = val
			alive = alive && len(val) <= 2
			lists++
		case "created":
			if !s.seconds(val) {
				s.extra(&s.finish.Extra, key, val)
			}
		case "id":
			s.same(&s.finish.ID, val)
		case "model":
			s.same(&s.finish.Model, val)
		case "usage":
			if js.Kind(val) == '{' {
				alive, plain = false, false
				chat{}.decodeUsage(&s.decoder, val, &s.finish)
			}
		case "error":
			if plain = false; js.Kind(val) != 'n' {
				s.fail(v)
			}
		case "object", "obfuscation":
		default:
			s.keepField(string(key), val)
		}
	}
	if plain && lists == 1 {
		at := cap(v) - cap(choices)
		s.head = append(s.head[:0], v[:at]...)
		s.tail = append(s.tail[:0], v[at+len(choices):]...)
	}
	return choices, alive
}

// same reads a string that every chunk repeats.
func (a *answer) same(old *string, v []byte) {
	if len(v) > 2 && !js.Is(v, *old) {
		*old = a.str(v)
	}
}

func (s *chatStream) choices(v []byte) {
	c, places := &s.one, choicePlaces{all: v}
	for el := range js.Elements(v) {
		c.read(el)
		index := 0
		if i := c.index; len(i) > 0 && i[0] != '0' && js.Kind(i) == '0' {
			index = s.integer(i)
		}
		if s.entire && !s.history {
			index = places.next(index, js.Kind(c.index) == '0')
		}
		if index != 0 {
			s.otherChoice(index, c)
			continue
		}
		s.choice(c)
	}
}

// choicePlaces gives each choice of a document an index: its own, or the first that is free if it has none, one that
// another has, or one that there are not choices enough for.
type choicePlaces struct {
	all   []byte // the choices
	count int    // of them; 0 until it is needed
	first bool   // 0 is used
	used  map[int]bool
	free  int // no index below it is free
}

// next returns the index of the next choice, which says that it is index if it says so.
func (p *choicePlaces) next(index int, says bool) int {
	if index == 0 && says && !p.first { // as nearly always
		p.first = true
		return 0
	}
	if p.count == 0 {
		for range js.Elements(p.all) {
			p.count++
		}
		p.used = make(map[int]bool)
	}
	p.used[0] = p.first
	if !says || index < 0 || index >= p.count || p.used[index] {
		for p.used[p.free] {
			p.free++
		}
		index = p.free
	}
	p.used[index] = true
	p.first = p.used[0]
	return index
}

// chatChoice is a choice, as it came and by its members.
type chatChoice struct {
	all, index, message, reason, logprobs []byte

	more bool // there are other members
}

func (c *chatChoice) read(v []byte) {
	*c = chatChoice{all: v}
	for key, val := range js.Members(v) {
		switch string(key) {
		case "delta", "message":
			c.message = val
		case "finish_reason":
			c.reason = val
		case "logprobs":
			c.logprobs = val
		case "index":
			c.index = val
		default:
			c.more = true
		}
	}
}

// otherChoice reads a piece of an answer after the first.
func (s *chatStream) otherChoice(index int, c *chatChoice) {
	o := otherStream(&s.streams, s.answer, index, func(a *answer) *chatStream { return &chatStream{answer: a} })
	if o == nil {
		return
	}
	o.body, o.frame = s.body, s.frame
	o.choice(c)
	if o.err != nil {
		s.refuse(o.err)
	}
}

func (s *chatStream) choice(c *chatChoice) {
	if c.logprobs != nil {
		s.readProbs(c.logprobs)
		s.strays("choice.", "/logprobs", c.logprobs, "content", "refusal")
	}
	if c.more {
		s.keepChoice(c)
	}
	s.message(c.message, &s.finish.Extra)
	s.keepProbs()
	if len(c.reason) > 2 && js.Kind(c.reason) == '"' {
		s.flush()
		s.stop(s.str(c.reason), chatReasons)
	} else if s.entire && !s.finished {
		s.flush()
		s.wordless(c.reason)
	}
}

// keepChoice keeps the members of a choice that nobody knows.
func (s *chatStream) keepChoice(c *chatChoice) {
	for key, val := range js.Members(c.all) {
		switch string(key) {
		case "delta", "message", "finish_reason", "logprobs", "index":
		default:
			s.keepField("choice."+string(key), val)
		}
	}
}

// chatDelta are the members of a message, in the order in which they are read.
type chatDelta struct {
	reasoning, content, reasoningOpenRouter, details []byte
	refusal, annotations, images, audio              []byte
	toolCalls, functionCall                          []byte
}

// message reads a message or a piece of one. Members that nobody knows go to
// rest, which is the message of history or the end of the answer.
func (s *chatStream) message(v []byte, rest *llm.Extra) {
	s.piece = chatDelta{}
	s.readPiece(v, rest, &s.piece)
	s.delta(&s.piece)
}

// readPiece finds the members of a message. It is a function of its own, as are those for what is rare in a piece:
// whoever reads a stream is deep in the stack, which is held as long as the stream.
//
//go:noinline
func (s *chatStream) readPiece(v []byte, rest *llm.Extra, d *chatDelta) {
	for key, val := range s.members(v) {
		switch string(key) {
		case "role":
		case "content":
			d.content = val
		case "tool_calls":
			d.toolCalls = val
		case "reasoning_content":
			d.reasoning = val
		case "reasoning":
			d.reasoningOpenRouter = val
		case "reasoning_details":
			d.details = val
		case "refusal":
			d.refusal = val
		case "annotations":
			d.annotations = val
		case "images":
			d.images = val
		case "audio":
			d.audio = val
		case "function_call":
			d.functionCall = val
		default:
			s.unknown(rest, key, val)
		}
	}
}

// unknown keeps a member of a message. At the end of an answer it is marked as
// one, so that it can be put back into the message.
func (s *chatStream) unknown(rest *llm.Extra, key, v []byte) {
	if s.history {
		s.extra(rest, key, v)
	} else {
		s.keepField(messagePrefix+string(key), v)
	}
}

const messagePrefix = "message."

func (s *chatStream) delta(d *chatDelta) {
	s.reasoning(d)
	if says(d.content) {
		s.content(d.content)
	}
	if d.annotations != nil || d.refusal != nil || d.images != nil || d.audio != nil {
		s.besides(d)
	}
	if d.toolCalls != nil || d.functionCall != nil {
		s.toolCalls(d)
	}
}

// besides reads what goes with the text.
//
//go:noinline
func (s *chatStream) besides(d *chatDelta) {
	for el := range s.elements(d.annotations) {
		s.cite(s.annotation(el))
	}
	if says(d.refusal) {
		s.refusal(s.quoted(d.refusal))
	}
	for el := range s.elements(d.images) {
		if m, ok := (chat{}).decodePart(&s.decoder, el).(llm.Media); ok {
			s.media(m)
		} else if s.asking {
			s.want(el, "an image")
		}
	}
	if s.oneOf(d.audio, "{", "an object") {
		if !s.audio.seen {
			s.audible = s.frame.start
		}
		s.audio.add(&s.decoder, d.audio)
	}
}

// toolCalls reads pieces of calls.
//
//go:noinline
func (s *chatStream) toolCalls(d *chatDelta) {
	for el := range s.elements(d.toolCalls) {
		if s.asking && !s.element(el, '{', "an object") {
			return
		}
		s.toolCall(el)
	}
	if s.oneOf(d.functionCall, "{", "an object") {
		s.ofOld, s.inPieces = true, !s.history && !s.entire
		s.function(0, "", d.functionCall)
		s.ofOld, s.inPieces = false, false
	}
}

// reasoning reads thinking under whichever name it comes. Some servers send
// the same piece under two names.
func (s *chatStream) reasoning(d *chatDelta) {
	if s.asking { // those that are not read are of the right kind, too
		s.oneOf(d.reasoning, `"`, "a string")
		s.oneOf(d.reasoningOpenRouter, `"`, "a string")
	}
	switch {
	case len(d.reasoning) > 2:
		s.thinking(s.quoted(d.reasoning))
	case len(d.reasoningOpenRouter) > 2:
		s.thinking(s.quoted(d.reasoningOpenRouter))
	case len(d.details) > 2:
		for el := range s.elements(d.details) {
			s.thinking(s.detailText(el))
		}
	}
	for el := range s.elements(d.details) {
		s.detail(el)
	}
}

// detail keeps a piece of thinking in the form of its vendor.
func (s *chatStream) detail(v []byte) {
	if !s.is(v, '{', "an object") {
		return
	}
	if s.details == nil {
		s.details, s.detailed = &reasoningDetails{}, s.frame.start
	}
	full := s.details.size > maxDetailBytes
	if s.details.add(v) || full {
		return
	}
	if s.history {
		s.want(v, fmt.Sprintf("one of at most %d", maxDetails))
	} else {
		s.warn(llm.Ignored, "reasoning_details", "there are more than %d pieces or %d bytes; none is kept for the next request", maxDetails, maxDetailBytes)
	}
}

// content reads text, or parts.
func (s *chatStream) content(v []byte) {
	s.endThinking()
	if js.Kind(v) == '"' {
		s.text(s.quoted(v))
		return
	}
	s.contentParts(v)
}

// contentParts reads the parts of servers that send parts.
//
//go:noinline
func (s *chatStream) contentParts(v []byte) {
	parts := chat{}.decodeSaid(&s.decoder, v)
	if s.history {
		s.parts(parts)
		return
	}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			s.textPart(p)
		case llm.Thinking:
			s.thinking(p.Text)
			s.aboutThinking(p)
		case llm.Media:
			s.media(p)
		}
	}
}

// textPart sends a whole part.
func (a *answer) textPart(t llm.Text) {
	switch {
	case !t.State.IsZero():
		a.part(t.State.Data)
	case t.Refusal:
		a.refusal(t.Text)
	default:
		a.text(t.Text)
	}
	if t.State.IsZero() {
		a.aboutText(t)
	}
}

func (s *chatStream) annotation(v []byte) llm.Citation {
	if inner := s.get(v, "url_citation"); s.str(s.get(v, "type")) == "url_citation" && inner != nil {
		c, complete := s.urlCitation(inner)
		if !complete || hasOthers(v, "type", "url_citation") {
			c.Raw = s.state(v)
		}
		return c
	}
	return llm.Citation{Raw: s.state(v)}
}

// urlCitation reads the members that both OpenAI formats give a citation, and
// reports whether there are no others.
func (d *decoder) urlCitation(v []byte) (c llm.Citation, complete bool) {
	complete = true
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "start_index":
			c.Start = d.integer(val)
		case "end_index":
			c.End = d.integer(val)
		case "url":
			c.URL = d.str(val)
		case "title":
			c.Title = d.str(val)
		default:
			complete = false
		}
	}
	return c, complete
}

func (s *chatStream) toolCall(v []byte) {
	s.endThinking()
	c := &s.calling
	s.readCall(v, c)
	s.indexed, s.inPieces = !s.history, !s.history && !s.entire
	var p *pending
	if c.custom != nil {
		p = s.custom(c.index, s.quoted(c.id), c.custom)
	} else {
		p = s.function(c.index, s.quoted(c.id), c.function)
	}
	s.indexed, s.inPieces = false, false // a function_call of old has neither
	if p != nil && (c.rest.w.Buf != nil || c.extra != nil) {
		s.keepCall(p, c)
	}
}

// chatCallPiece is a piece of a call, by its members.
type chatCallPiece struct {
	index                int
	id, function, custom []byte
	rest                 fields
	extra                llm.Extra
}

// readCall finds the members of a call. For why it is a function of its own see readPiece.
//
//go:noinline
func (s *chatStream) readCall(v []byte, c *chatCallPiece) {
	*c = chatCallPiece{index: -1}
	for key, val := range s.members(v) {
		switch string(key) {
		case "index":
			if s.oneOf(val, "0", "an integer") {
				c.index = s.integer(val)
			}
		case "id":
			c.id = val
		case "function":
			c.function = val
		case "custom":
			c.custom = val
		case "type":
			s.oneOf(val, `"`, "a string")
		case "extra_content":
			c.rest.add(key, val)
		default:
			s.extra(&c.extra, key, val)
		}
	}
}

// keepCall keeps what else a piece of a call says.
func (s *chatStream) keepCall(p *pending, c *chatCallPiece) {
	if state := c.rest.object(); state != nil {
		p.state = s.state(state)
	}
	p.extra = mergeExtra(p.extra, c.extra)
}

// function reads a piece of a call of a function.
func (s *chatStream) function(index int, id string, v []byte) *pending {
	name, args, extra := s.readFunction(v)
	p := s.called(index, id, s.quoted(name), llm.FunctionTool, len(args) > 2)
	if p == nil {
		return nil
	}
	if extra != nil {
		p.extra = mergeExtra(p.extra, extra)
	}
	if js.Kind(args) == '{' { // some servers send the object itself
		s.changed = s.changed || !s.history
		s.addArgs(p, args)
	} else {
		s.addQuoted(p, args)
	}
	return p
}

// called returns the call that a piece belongs to, where says tells whether the piece holds arguments. In an answer in one
// piece and in a history each is another, also if it has the id of one before, and so are two in one chunk that have no
// index. Calls of a history keep the ids that their results have, also if two have the same or none.
func (s *chatStream) called(index int, id, name string, kind llm.ToolKind, says bool) *pending {
	if s.history {
		p := s.newCall(index, id, name, kind)
		if p != nil {
			p.id = id
		}
		return p
	}
	if s.entire || says && index < 0 && id != "" && name != "" && s.repeats(id) {
		return s.newCall(index, id, name, kind)
	}
	s.adds = says
	p := s.answer.delta(index, id, name, kind)
	if p != nil {
		p.frame = s.frame.start
	}
	return p
}

// repeats reports whether there is a call with an id to which nothing can be added: it is whole, or came in this chunk.
func (s *chatStream) repeats(id string) bool {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if p := s.calls[i]; p.said == id {
			return p.done || p.whole() || p.frame == s.frame.start
		}
	}
	return false
}

// readFunction finds the members of a function that is called.
//
//go:noinline
func (s *chatStream) readFunction(v []byte) (name, args []byte, extra llm.Extra) {
	for key, val := range s.members(v) {
		switch string(key) {
		case "name":
			name = val
		case "arguments":
			args = val
		default:
			s.extraNamed(&extra, innerPrefix+string(key), val)
		}
	}
	return name, args, extra
}

// custom reads a piece of a call of a free-text tool.
func (s *chatStream) custom(index int, id string, v []byte) *pending {
	input := s.get(v, "input")
	p := s.called(index, id, s.quoted(s.get(v, "name")), llm.FreeTool, len(input) > 2)
	if p == nil {
		return nil
	}
	s.addInput(p, input)
	s.unread(&p.extra, v, chatCustom)
	return p
}

func mergeExtra(old, more llm.Extra) llm.Extra {
	if old == nil {
		return more
	}
	for format, fields := range more {
		if old[format] == nil {
			old[format] = make(map[string]json.RawMessage)
		}
		for key, v := range fields {
			old[format][key] = v
		}
	}
	return old
}

// endThinking closes the thinking with what its vendor wants back.
func (s *chatStream) endThinking() {
	if state := s.details.object(0); state != nil {
		s.since(s.detailed, func() { s.thinkingState(s.state(state), false) })
	}
	s.details = nil
}

// flush sends what could not be sent before the end.
func (s *chatStream) flush() {
	s.endThinking()
	if m, ok := s.audio.media(&s.decoder); ok {
		s.since(s.audible, func() { s.media(m) })
		s.audio = chatAudio{}
	}
	if s.logprobs.Len() > 0 {
		s.extraNamed(&s.finish.Extra, "logprobs", append([]byte(`{"content":[`), append(s.logprobs.Bytes(), "]}"...)...))
		s.logprobs.Reset()
	}
}

// readProbs reads the log probabilities of a chunk. They are those of its text.
func (s *chatStream) readProbs(v []byte) {
	s.probs = s.probsOf(js.Get(v, "content"))
	if refusal := s.probsOf(js.Get(v, "refusal")); s.probs == nil {
		s.probs = refusal
	} else if refusal != nil {
		s.probs.Tokens = append(s.probs.Tokens, refusal.Tokens...)
	}
}

// keepProbs keeps the log probabilities of a chunk without text, like those of a
// call, for the end.
func (s *chatStream) keepProbs() {
	if s.probs == nil {
		return
	}
	for _, token := range s.probs.Tokens {
		if s.logprobs.Len()+len(token) > maxArgs {
			break
		}
		if s.logprobs.Len() > 0 {
			s.logprobs.WriteByte(',')
		}
		s.logprobs.Write(token)
	}
	s.probs = nil
}
