package chat

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// chatStream reads chunks and whole answers: a message is a delta that says
// everything at once.
type chatStream struct {
	*codec.Answer
	// history says that the message is an old one, of a request.
	history  bool
	parts    func([]llm.Part)  // takes the parts of a message of history
	details  *reasoningDetails // nil before the first
	detailed int64             // start of the frame with the first of them
	places   codec.Positions[chatPlace]
	audio    audio
	audible  int64 // start of the frame with its first piece
	logprobs bytes.Buffer
	streams  map[int]*chatStream // of the answers after the first, by index
	// head and tail are the bytes before and after the choices of the last chunk without other data. Nearly all chunks
	// of an answer repeat them.
	head, tail []byte
	one        chatChoice // that is being read
	piece      delta      // of it
	calling    callPiece  // in that
}

func (Format) DecodeResponse(_ *codec.Decoder, body []byte, a *codec.Answer) {
	s := &chatStream{Answer: a}
	s.chunk(body)
}

// chunk reads one chunk or one whole answer.
func (s *chatStream) chunk(v []byte) bool {
	choices, known := s.repeated(v)
	alive := len(choices) <= 2 // only the envelope
	if !known {
		choices, alive = s.envelope(v)
	}
	if s.Err != nil {
		return true
	}
	if alive && s.Begun {
		s.KeepAlive()
	}
	s.Begin()
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
	plain, lists := !s.OneDocument && !s.history, 0
	for key, val := range js.Members(v) {
		switch string(key) {
		case "choices":
			choices = val
			alive = alive && len(val) <= 2
			lists++
		case "created":
			if !s.Seconds(val) {
				s.Extra(&s.Finish.Extra, key, val)
			}
		case "id":
			s.Same(&s.Finish.ID, val)
		case "model":
			s.Same(&s.Finish.Model, val)
		case "usage":
			if js.Kind(val) == '{' {
				alive, plain = false, false
				decodeUsage(&s.Decoder, val, &s.Finish)
			}
		case "error":
			if plain = false; js.Kind(val) != 'n' {
				s.Fail(v)
			}
		case "object", "obfuscation":
		default:
			s.KeepField(string(key), val)
		}
	}
	if plain && lists == 1 {
		at := cap(v) - cap(choices)
		s.head = append(s.head[:0], v[:at]...)
		s.tail = append(s.tail[:0], v[at+len(choices):]...)
	}
	return choices, alive
}

func (s *chatStream) choices(v []byte) {
	c, places := &s.one, choicePlaces{all: v}
	for el := range js.Elements(v) {
		c.read(el)
		index := 0
		if i := c.index; len(i) > 0 && i[0] != '0' && js.Kind(i) == '0' {
			index = s.Integer(i)
		}
		if s.OneDocument && !s.history {
			index = places.next(index, js.Kind(c.index) == '0')
		}
		if index != 0 {
			s.otherChoice(index, c)
			continue
		}
		s.choice(c)
	}
}

// choicePlaces assigns an index to each choice of a document: its own, or the first free one if its index is missing,
// taken or too large.
type choicePlaces struct {
	all   []byte // the choices
	count int    // of them; 0 until it is needed
	first bool   // 0 is used
	used  map[int]bool
	free  int // no index below it is free
}

// next returns the index of the next choice, which has the given index if says is true.
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

// chatChoice is a choice: its bytes and its members.
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
	o := codec.OtherStream(&s.streams, s.Answer, index, func(a *codec.Answer) *chatStream { return &chatStream{Answer: a} })
	if o == nil {
		return
	}
	o.Body, o.Frame = s.Body, s.Frame
	o.choice(c)
	if o.Err != nil {
		s.Refuse(o.Err)
	}
}

func (s *chatStream) choice(c *chatChoice) {
	if c.logprobs != nil {
		s.readProbs(c.logprobs)
		s.UnknownFields("choice.", "/logprobs", c.logprobs, "content", "refusal")
	}
	if c.more {
		s.keepChoice(c)
	}
	s.message(c.message, &s.Finish.Extra)
	s.keepProbs()
	if len(c.reason) > 2 && js.Kind(c.reason) == '"' {
		s.flush()
		s.SetFinish(s.Str(c.reason), reasons)
	} else if s.OneDocument && !s.Finished {
		s.flush()
		s.EmptyFinish(c.reason)
	}
}

// keepChoice keeps the unknown members of a choice.
func (s *chatStream) keepChoice(c *chatChoice) {
	for key, val := range js.Members(c.all) {
		switch string(key) {
		case "delta", "message", "finish_reason", "logprobs", "index":
		default:
			s.KeepField("choice."+string(key), val)
		}
	}
}

// delta are the members of a message, in the order in which they are read.
type delta struct {
	reasoning, content, reasoningOpenRouter, details []byte
	refusal, annotations, images, audio              []byte
	toolCalls, functionCall                          []byte
}

// message reads a message or a piece of one. Unknown members go to rest, which is the message of a history or the end
// of the answer.
func (s *chatStream) message(v []byte, rest *llm.Extra) {
	s.piece = delta{}
	s.readPiece(v, rest, &s.piece)
	s.delta(&s.piece)
}

// readPiece finds the members of a message. It is a separate function, like those for rare members: the stack of a
// reader stays as large as its deepest call until the stream ends.
func (s *chatStream) readPiece(v []byte, rest *llm.Extra, d *delta) {
	for key, val := range s.Members(v) {
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

// unknown keeps a member of a message. At the end of an answer it gets a prefix, which puts it back into the message.
func (s *chatStream) unknown(rest *llm.Extra, key, v []byte) {
	if s.history {
		s.Extra(rest, key, v)
	} else {
		s.KeepField(loss.MessagePrefix+string(key), v)
	}
}

func (s *chatStream) delta(d *delta) {
	s.reasoning(d)
	if codec.HasValue(d.content) {
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
func (s *chatStream) besides(d *delta) {
	for el := range s.Elements(d.annotations) {
		s.Cite(s.annotation(el))
	}
	if codec.HasValue(d.refusal) {
		s.Refusal(s.Quoted(d.refusal))
	}
	for el := range s.Elements(d.images) {
		if m, ok := decodePart(&s.Decoder, el).(llm.Media); ok {
			s.Media(m)
		} else if s.IsRequest {
			s.Want(el, "an image")
		}
	}
	if s.OneOf(d.audio, "{", "an object") {
		if !s.audio.seen {
			s.audible = s.Frame.Start
		}
		s.audio.add(&s.Decoder, d.audio)
	}
}

// toolCalls reads pieces of calls.
func (s *chatStream) toolCalls(d *delta) {
	for el := range s.Elements(d.toolCalls) {
		if s.IsRequest && !s.Element(el, '{', "an object") {
			return
		}
		s.toolCall(el)
	}
	if s.OneOf(d.functionCall, "{", "an object") {
		s.LegacyCalls, s.NamesInPieces = true, !s.history && !s.OneDocument
		s.function(0, "", d.functionCall)
		s.LegacyCalls, s.NamesInPieces = false, false
	}
}

// reasoning reads thinking under whichever name it comes. Some servers send
// the same piece under two names.
func (s *chatStream) reasoning(d *delta) {
	if s.IsRequest { // check the kind of unread members too
		s.OneOf(d.reasoning, `"`, "a string")
		s.OneOf(d.reasoningOpenRouter, `"`, "a string")
	}
	switch {
	case len(d.reasoning) > 2:
		s.Thinking(s.Quoted(d.reasoning))
	case len(d.reasoningOpenRouter) > 2:
		s.Thinking(s.Quoted(d.reasoningOpenRouter))
	case len(d.details) > 2:
		for el := range s.Elements(d.details) {
			s.Thinking(detailText(&s.Answer.Decoder, el))
		}
	}
	for el := range s.Elements(d.details) {
		s.detail(el)
	}
}

// detail keeps a piece of thinking in the form of its vendor.
func (s *chatStream) detail(v []byte) {
	if !s.Is(v, '{', "an object") {
		return
	}
	if s.details == nil {
		s.details, s.detailed = &reasoningDetails{}, s.Frame.Start
	}
	full := s.details.size > maxDetailBytes
	if s.details.add(v) || full {
		return
	}
	if s.history {
		s.Want(v, fmt.Sprintf("one of at most %d", maxDetails))
	} else {
		s.Warn(llm.Ignored, "reasoning_details", "there are more than %d pieces or %d bytes; none is kept for the next request", maxDetails, maxDetailBytes)
	}
}

// content reads text, or parts.
func (s *chatStream) content(v []byte) {
	s.endThinking()
	if js.Kind(v) == '"' {
		s.Text(s.Quoted(v))
		return
	}
	s.contentParts(v)
}

// contentParts reads the parts of servers that send parts.
func (s *chatStream) contentParts(v []byte) {
	parts := decodeSaid(&s.Decoder, v)
	if s.history {
		s.parts(parts)
		return
	}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			s.TextPart(p)
		case llm.Thinking:
			s.Thinking(p.Text)
			s.AboutThinking(p)
		case llm.Media:
			s.Media(p)
		}
	}
}

func (s *chatStream) annotation(v []byte) llm.Citation {
	if inner := s.Get(v, "url_citation"); s.Str(s.Get(v, "type")) == "url_citation" && inner != nil {
		c, complete := DecodeURLCitation(&s.Answer.Decoder, inner)
		if !complete || codec.HasOthers(v, "type", "url_citation") {
			c.Raw = s.State(v)
		}
		return c
	}
	return llm.Citation{Raw: s.State(v)}
}

// DecodeURLCitation reads the members that both OpenAI formats give a citation, and
// reports whether there are no others.
func DecodeURLCitation(d *codec.Decoder, v []byte) (c llm.Citation, complete bool) {
	complete = true
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "start_index":
			c.Start = d.Integer(val)
		case "end_index":
			c.End = d.Integer(val)
		case "url":
			c.URL = d.Str(val)
		case "title":
			c.Title = d.Str(val)
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
	s.Indexed, s.NamesInPieces = !s.history, !s.history && !s.OneDocument
	var p *codec.PendingCall
	if c.custom != nil {
		p = s.custom(c.index, s.Quoted(c.id), c.custom)
	} else {
		p = s.function(c.index, s.Quoted(c.id), c.function)
	}
	s.Indexed, s.NamesInPieces = false, false // a function_call of old has neither
	if p != nil && (c.rest.W.Buf != nil || c.extra != nil) {
		s.keepCall(p, c)
	}
}

// callPiece is a piece of a call, by its members.
type callPiece struct {
	index                int
	id, function, custom []byte
	rest                 codec.Fields
	extra                llm.Extra
}

// readCall finds the members of a call. It is a separate function for the reason given at readPiece.
func (s *chatStream) readCall(v []byte, c *callPiece) {
	*c = callPiece{index: -1}
	for key, val := range s.Members(v) {
		switch string(key) {
		case "index":
			if s.OneOf(val, "0", "an integer") {
				c.index = s.Integer(val)
			}
		case "id":
			c.id = val
		case "function":
			c.function = val
		case "custom":
			c.custom = val
		case "type":
			s.OneOf(val, `"`, "a string")
		case "extra_content":
			c.rest.Add(key, val)
		default:
			s.Extra(&c.extra, key, val)
		}
	}
}

// keepCall keeps what else a piece of a call says.
func (s *chatStream) keepCall(p *codec.PendingCall, c *callPiece) {
	if state := c.rest.Object(); state != nil {
		p.State = s.State(state)
	}
	p.Extra = mergeExtra(p.Extra, c.extra)
}

// function reads a piece of a call of a function.
func (s *chatStream) function(index int, id string, v []byte) *codec.PendingCall {
	name, args, extra := s.readFunction(v)
	p := s.called(index, id, s.Quoted(name), llm.FunctionTool, len(args) > 2)
	if p == nil {
		return nil
	}
	if extra != nil {
		p.Extra = mergeExtra(p.Extra, extra)
	}
	if js.Kind(args) == '{' { // some servers send the object itself
		s.Changed = s.Changed || !s.history
		s.AddArgs(p, args)
	} else {
		s.AddQuoted(p, args)
	}
	return p
}

// called returns the call that a piece belongs to, where says tells whether the piece holds arguments. In an answer in one
// piece and in a history each is another, also if it has the id of one before, and so are two in one chunk that have no
// index. Calls of a history keep the ids that their results have, also if two have the same or none.
func (s *chatStream) called(index int, id, name string, kind llm.ToolKind, says bool) *codec.PendingCall {
	if s.history {
		p := s.NewCall(index, id, name, kind)
		if p != nil {
			p.ID = id
		}
		return p
	}
	if s.OneDocument || says && index < 0 && id != "" && name != "" && s.repeats(id) {
		return s.NewCall(index, id, name, kind)
	}
	s.HasArgs = says
	p := s.Answer.Delta(index, id, name, kind)
	if p != nil {
		p.Frame = s.Frame.Start
	}
	return p
}

// repeats reports whether there is a call with an id to which nothing can be added: it is whole, or came in this chunk.
func (s *chatStream) repeats(id string) bool {
	for i := len(s.Calls) - 1; i >= 0; i-- {
		if p := s.Calls[i]; p.VendorID == id {
			return p.Done || p.Whole() || p.Frame == s.Frame.Start
		}
	}
	return false
}

// readFunction finds the members of a function that is called.
func (s *chatStream) readFunction(v []byte) (name, args []byte, extra llm.Extra) {
	for key, val := range s.Members(v) {
		switch string(key) {
		case "name":
			name = val
		case "arguments":
			args = val
		default:
			s.ExtraField(&extra, loss.InnerPrefix+string(key), val)
		}
	}
	return name, args, extra
}

// custom reads a piece of a call of a free-text tool.
func (s *chatStream) custom(index int, id string, v []byte) *codec.PendingCall {
	input := s.Get(v, "input")
	p := s.called(index, id, s.Quoted(s.Get(v, "name")), llm.FreeTool, len(input) > 2)
	if p == nil {
		return nil
	}
	s.AddInput(p, input)
	s.KeepUnread(&p.Extra, v, custom)
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
		s.Since(s.detailed, func() { s.ThinkingState(s.State(state), false) })
	}
	s.details = nil
}

// flush sends what could not be sent before the end.
func (s *chatStream) flush() {
	s.endThinking()
	if m, ok := s.audio.media(&s.Decoder); ok {
		s.Since(s.audible, func() { s.Media(m) })
		s.audio = audio{}
	}
	if s.logprobs.Len() > 0 {
		s.ExtraField(&s.Finish.Extra, "logprobs", append([]byte(`{"content":[`), append(s.logprobs.Bytes(), "]}"...)...))
		s.logprobs.Reset()
	}
}

// readProbs reads the log probabilities of a chunk. They are those of its text.
func (s *chatStream) readProbs(v []byte) {
	s.Probs = s.LogProbs(js.Get(v, "content"))
	if refusal := s.LogProbs(js.Get(v, "refusal")); s.Probs == nil {
		s.Probs = refusal
	} else if refusal != nil {
		s.Probs.Tokens = append(s.Probs.Tokens, refusal.Tokens...)
	}
}

// keepProbs keeps the log probabilities of a chunk without text, like those of a
// call, for the end.
func (s *chatStream) keepProbs() {
	if s.Probs == nil {
		return
	}
	for _, token := range s.Probs.Tokens {
		if s.logprobs.Len()+len(token) > codec.MaxArgs {
			break
		}
		if s.logprobs.Len() > 0 {
			s.logprobs.WriteByte(',')
		}
		s.logprobs.Write(token)
	}
	s.Probs = nil
}
