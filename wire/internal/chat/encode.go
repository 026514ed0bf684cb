package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (Format) EncodeResponse(e *codec.Encoder, r *llm.Response) {
	top, choice, message := SplitFinish(e.OwnExtra(r.Finish.Extra))
	start := e.Object()
	e.StringField("id", r.Finish.ID)
	e.StringField("object", "chat.completion")
	created(e, top, codec.CreatedAt(r.Start))
	e.StringField("model", r.Finish.Model)
	e.ArrayField("choices")
	encodeAlternative(e, 0, r, choice, message)
	for i, o := range r.Alternatives {
		_, choice, message := SplitFinish(e.OwnExtra(o.Finish.Extra))
		encodeAlternative(e, i+1, o, choice, message)
	}
	e.EndArray()
	if e.HasUsage(r.Finish, "usage") {
		encodeUsage(e, r.Finish)
	}
	e.EndFields(start, top)
}

// encodeAlternative writes one answer.
func encodeAlternative(e *codec.Encoder, index int, r *llm.Response, choice, message map[string]json.RawMessage) {
	ch := e.Object()
	e.IntField("index", index)
	msg := e.ObjectField("message")
	e.StringField("role", "assistant")
	encodeAnswer(e, r)
	e.EndFields(msg, message)
	texts := codec.TextsOf(r.Message.Parts)
	if rest := choice["logprobs"]; rest != nil { // of tokens without text
		more := &codec.Decoder{Host: e.Host}
		texts = append(texts, llm.Text{LogProbs: more.LogProbs(js.Get(rest, "content"))})
		delete(choice, "logprobs")
	}
	encodeProbs(e, texts...)
	e.StringField("finish_reason", chatWord(r.Finish))
	e.EndFields(ch, choice)
}

// encodeAnswer writes the parts of an answer with the calls that cannot be
// run, as the vendor would deliver them: with arguments that do not parse.
func encodeAnswer(e *codec.Encoder, r *llm.Response) {
	if len(r.Invalid) == 0 {
		encodeAssistant(e, r.Message.Parts, true)
		return
	}
	var others []llm.Part
	for _, p := range r.Message.Parts {
		if call, ok := p.(llm.Call); !ok || call.Hosted {
			others = append(others, p)
		}
	}
	encodeAssistant(e, others, true)
	encodeCalls(e, r.Message.Calls(), r.Invalid)
}

// created writes the time of an answer: its own, or the one given.
func created(e *codec.Encoder, top map[string]json.RawMessage, at int64) {
	if top["created"] == nil {
		e.Key("created")
		e.Int(at)
	}
}

// SplitFinish sorts the extra fields of an answer by where they belong.
func SplitFinish(own map[string]json.RawMessage) (top, choice, message map[string]json.RawMessage) {
	top, choice, message = map[string]json.RawMessage{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := loss.CutPrefix(key, loss.MessagePrefix); ok {
			message[name] = v
		} else if name, ok := loss.CutPrefix(key, "choice."); ok {
			choice[name] = v
		} else if key == "logprobs" {
			choice[key] = v
		} else if key != "usage" {
			top[key] = v
		}
	}
	return top, choice, message
}

// writer writes a stream of chunks.
type writer struct {
	e       *codec.Encoder
	head    codec.StreamHead
	opening []byte // what the head says in each chunk, once it was written
	started bool
	calls   map[string]*chatCall
	index   int // of the choice
	// others write the answers after the first.
	others writers
	probs  *llm.Text // whose log probabilities are those of the next chunk
	// details are the vendor's own form of the thinking, of which the client of a relay has the first had pieces.
	details *reasoningDetails
	had     int
	joiner  codec.ThinkingJoiner
	// What the client of a relay was told before the translation began: why the model stopped, and the tokens of input and
	// output.
	ended string
	used  [2]int
}

type chatCall struct {
	index int
	free  bool
	// relayed: the call began before the translation of a relay did. What
	// was written of its input is sent.
	relayed bool
	sent    string
	bare    bool // nothing of its arguments is written
}

func (Format) NewStream(e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	return &writer{e: e, head: head, calls: map[string]*chatCall{}}
}

// writers are the writers of answers after the first, by index.
type writers map[int]*writer

func (c writers) with(index int, w *writer) writers {
	if c == nil {
		c = make(writers)
	}
	c[index] = w
	return c
}

// other returns the writer of an answer after the first.
func (w *writer) other(index int) *writer {
	o := w.others[index]
	if o == nil {
		o = &writer{e: w.e, head: w.head, index: index, calls: map[string]*chatCall{}}
		w.others = w.others.with(index, o)
	}
	return o
}

func (w *writer) Event(ev llm.Event) {
	if other, ok := ev.(llm.Alternative); ok && other.Index > 0 && other.Event != nil {
		w.other(other.Index).Event(other.Event)
		return
	}
	if !w.started {
		w.started = true
		w.delta(func() {
			w.e.StringField("role", "assistant")
			w.e.StringField("content", "")
		})
	}
	switch ev := w.joiner.Joined(ev).(type) {
	case llm.TextDelta:
		w.text(ev)
	case llm.ThinkingDelta:
		w.thinking(ev)
	case llm.Media:
		w.delta(func() { encodeAssistantMedia(w.e, []llm.Media{ev}) })
	case llm.CallStart:
		w.start(ev.ID, ev.Name, ev.Kind)
	case llm.CallDelta:
		if c := w.calls[ev.ID]; c != nil && !c.free {
			c.bare = false
			w.args(c.index, ev.Args)
		}
	case llm.Call:
		w.call(ev)
	case llm.InvalidCall:
		w.invalid(ev)
	case llm.UnknownEvent:
		w.unknown(ev)
	case llm.HostedCall:
		w.e.Lost(llm.Ignored, "hosted call", "the chat format has no place for calls the provider ran")
	case llm.HostedResult:
		w.e.Lost(llm.Ignored, "hosted result", "the chat format has no place for results the provider made")
	case llm.Finish:
		w.finish(ev)
	}
}

// unknown writes an unknown field of a chunk.
func (w *writer) unknown(ev llm.UnknownEvent) {
	top, choice, message := SplitFinish(map[string]json.RawMessage{ev.Type: ev.Raw})
	start := w.open(nil)
	w.e.ArrayField("choices")
	ch := w.e.Object()
	w.e.IntField("index", w.index)
	w.e.Key("delta")
	w.e.EndFields(w.e.Object(), message)
	w.e.Key("finish_reason")
	w.e.Null()
	w.e.EndFields(ch, choice)
	w.e.EndArray()
	w.e.EndFields(start, top)
	w.e.FrameEnd()
}

// open begins a chunk and returns where its object starts.
func (w *writer) open(top map[string]json.RawMessage) int {
	start := w.e.OpenFrame("")
	if top == nil && w.opening != nil {
		w.e.Buf = append(w.e.Buf, w.opening...)
		return start
	}
	w.e.StringField("id", w.head.ID)
	w.e.StringField("object", "chat.completion.chunk")
	created(w.e, top, w.head.Created)
	w.e.StringField("model", w.head.Model)
	if top == nil {
		w.opening = bytes.Clone(w.e.Buf[start+1:])
	}
	return start
}

// delta writes a chunk with one delta.
func (w *writer) delta(body func()) {
	w.open(nil)
	w.e.ArrayField("choices")
	w.e.Object()
	w.e.IntField("index", w.index)
	w.e.ObjectField("delta")
	body()
	w.e.End()
	if w.probs != nil {
		encodeProbs(w.e, *w.probs)
		w.probs = nil
	}
	w.e.Key("finish_reason")
	w.e.Null()
	w.e.End()
	w.e.EndArray()
	w.e.CloseFrame()
}

func (w *writer) text(ev llm.TextDelta) {
	about := ev.About()
	if ev.Text == "" && len(about.Citations) == 0 && about.LogProbs == nil {
		w.e.Opaque(llm.Text{State: about.State})
		return
	}
	if about.LogProbs != nil {
		w.probs = ev.Part
	}
	w.delta(func() {
		switch {
		case about.Refusal:
			w.e.StringField("refusal", ev.Text)
		case ev.Text != "" || about.LogProbs == nil:
			w.e.StringField("content", ev.Text)
		}
		encodeCitations(w.e, about.Citations, true)
	})
}

func (w *writer) thinking(ev llm.ThinkingDelta) {
	t := llm.Thinking{Text: ev.Text, State: ev.About().State}
	if rest, ok := w.details.rest(w.had, t.State.Data); ok {
		if t.State.Data, w.details = rest, nil; rest == nil {
			t.State = llm.State{}
		}
	}
	if ev.Text == "" && w.e.OwnState(t.State) == nil {
		return
	}
	w.delta(func() {
		encodeThinkingStates(w.e, thinkingState(w.e, t))
		encodeThinking(w.e, ev.Text, true, false, true)
	})
}

func (w *writer) start(id, name string, kind llm.ToolKind) *chatCall {
	c := &chatCall{index: w.nextIndex(), free: kind == llm.FreeTool, bare: true}
	w.calls[id] = c
	if !c.free {
		w.toolCall(c.index, func() {
			w.e.StringField("id", id)
			w.e.StringField("type", "function")
			w.e.ObjectField("function")
			w.e.StringField("name", name)
			w.e.StringField("arguments", "")
			w.e.End()
		})
	}
	return c
}

func (w *writer) toolCall(index int, body func()) {
	w.delta(func() {
		w.e.ArrayField("tool_calls")
		w.e.Object()
		w.e.IntField("index", index)
		body()
		w.e.End()
		w.e.EndArray()
	})
}

func (w *writer) args(index int, s string) {
	w.toolCall(index, func() {
		w.e.ObjectField("function")
		w.e.StringField("arguments", s)
		w.e.End()
	})
}

// call completes a call. The input of a free-text tool is sent in one piece.
func (w *writer) call(call llm.Call) {
	c := w.calls[call.ID]
	if c == nil {
		c = w.start(call.ID, call.Name, call.Kind)
	}
	if c.bare && !c.free {
		c.bare = false
		w.args(c.index, string(codec.ObjectOf(call.Args)))
	}
	if c.relayed && !c.free {
		return // what else there is to say about it may be there already
	}
	state := w.e.OwnState(call.State)
	switch {
	case c.free && c.relayed:
		w.toolCall(c.index, func() {
			w.e.ObjectField("custom")
			w.e.StringField("input", strings.TrimPrefix(js.Text(call.Args), c.sent))
			w.e.End()
		})
	case c.free:
		w.toolCall(c.index, func() {
			w.e.StringField("id", call.ID)
			w.e.StringField("type", "custom")
			w.e.ObjectField("custom")
			w.e.StringField("name", call.Name)
			w.e.StringField("input", js.Text(call.Args))
			w.e.End()
		})
	case state != nil:
		w.toolCall(c.index, func() {
			for key, v := range js.Members(state) {
				w.e.AnyKey(string(key))
				w.e.Raw(v)
			}
		})
	}
	w.callExtra(c.index, w.e.OwnExtra(call.Extra))
}

// callExtra writes the fields of a call that only the format knows.
func (w *writer) callExtra(index int, extra map[string]json.RawMessage) {
	if len(extra) == 0 {
		return
	}
	w.toolCall(index, func() {
		for _, key := range js.Keys(extra) {
			if name, inner := loss.CutPrefix(loss.Dotted(key), loss.InnerPrefix); inner || strings.HasPrefix(key, loss.NestedMark) {
				w.e.Lost(llm.Ignored, name, "a stream has no place for a field inside a call's function")
				continue
			}
			w.e.AnyKey(key)
			w.e.Raw(extra[key])
		}
	})
}

// invalid passes on a call that cannot be run as the vendor would. Its pieces
// are out already if it began in this stream.
func (w *writer) invalid(ev llm.InvalidCall) {
	if w.calls[ev.ID] != nil {
		return
	}
	if ev.Name == "" {
		w.text(llm.TextDelta{Text: ev.Raw})
		return
	}
	c := w.start(ev.ID, ev.Name, llm.FunctionTool)
	w.args(c.index, ev.Raw)
}

func (w *writer) finish(f llm.Finish) {
	top, choice, message := SplitFinish(w.e.OwnExtra(f.Extra))
	tells := !w.head.NoUsage && w.e.HasUsage(f, "usage") && (w.used == [2]int{} || w.used != [2]int{f.Usage.Input, f.Usage.Output})
	if words.FinishWord(f) != w.ended {
		var here map[string]json.RawMessage // what the last chunk says of the whole answer, if this is the last
		if !tells && w.index == 0 && len(top) > 0 {
			here = top
		}
		w.ending(chatWord(f), here, choice, message)
	}
	if w.index > 0 {
		return // the first answer ends the stream
	}
	if tells {
		start := w.open(top)
		w.e.RawField("choices", []byte("[]"))
		encodeUsage(w.e, f)
		w.e.EndFields(start, top)
		w.e.FrameEnd()
	}
	w.e.Buf = append(w.e.Buf, "data: [DONE]\n\n"...)
}

// ending writes the chunk with the finish reason.
func (w *writer) ending(word string, top, choice, message map[string]json.RawMessage) {
	start := w.open(top)
	w.e.ArrayField("choices")
	ch := w.e.Object()
	w.e.IntField("index", w.index)
	w.e.Key("delta")
	w.e.EndFields(w.e.Object(), message)
	w.e.StringField("finish_reason", word)
	w.e.EndFields(ch, choice)
	w.e.EndArray()
	w.e.EndFields(start, top)
	w.e.FrameEnd()
}

func (w *writer) Fail(err *llm.Error) {
	w.e.Buf = append(w.e.Buf, "data: "...)
	Format{}.EncodeError(w.e, err, codec.ErrorStatus(err, &properties))
	w.e.FrameEnd()
}
