package conversation

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A vendor's signatures go back only to the answer that they came with (docs/design/gateway.md). An answer is
// recognized by the parts that clients repeat: its text, and the ids, names and arguments of its calls. White space,
// JSON formatting, omitted text and split messages do not matter, because clients often change them. If several answers
// match and have different signatures, nothing is restored.

// Signatures stores a vendor's signatures for clients that cannot carry them, and restores them in later requests.
type Signatures struct {
	*Scope
	looked   map[state.Hash][]signedTurn // looked-up entries, by key
	idToken  string                      // makes the ids of calls in the answer unique
	ownsTool func(tool string) bool      // reports whether the gateway runs a tool and hides its calls from the client
}

// NewSignatures returns the signatures of a request. ownsTool reports whether the gateway runs a tool.
func NewSignatures(m *Scope, ownsTool func(tool string) bool) Signatures {
	return Signatures{Scope: m, ownsTool: ownsTool}
}

// signedTurn is the stored form of an answer with calls of the client.
type signedTurn struct {
	// Message has the texts, the signed thinking and the calls without arguments, in order. It is empty for an answer
	// without signatures. Such answers are stored because a later request could otherwise match them with signatures of
	// another answer.
	Message llm.Message `json:"message"`
	Calls   []callMark  `json:"calls"`
	Text    []byte      `json:"text"`              // hash of the whole text
	Thought []byte      `json:"thought,omitempty"` // hash of the whole thinking, if any
	Before  []byte      `json:"before"`            // hash of all that the client had sent
	// Partial reports that the answer had other parts than the message, such as media and calls that the vendor ran.
	Partial bool `json:"partial,omitempty"`
}

// callMark identifies a call.
type callMark struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args []byte `json:"args"` // hash
	// Members are hashes of the arguments by name. Clients add defaults and drop arguments that are not in their
	// schema.
	Members map[string][]byte `json:"members,omitempty"`
}

// maxMembers limits the arguments that are hashed one by one.
const maxMembers = 64

// signs reports whether vendors of the signer's format sign thinking. They sign only some of their answers.
func signs(signer string) bool {
	codec, _ := wire.For(signer[strings.LastIndexByte(signer, '/')+1:])
	p := codec.Properties()
	return p.Signature != "" || len(p.Thinking.Keep) > 0
}

// squeezed returns a text without its white space.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// hashed returns a short hash. It only distinguishes answers of one owner to the same question.
func hashed(text []byte) []byte {
	h := sha256.Sum256(text)
	return h[:16]
}

// plainArgs returns the arguments of a call in canonical form. Missing arguments become an empty object.
func plainArgs(args json.RawMessage) []byte {
	if out := canonical(args); len(out) > 0 && string(out) != "null" && string(out) != `""` {
		return out
	}
	return []byte("{}")
}

// markOf returns the mark of a call.
func markOf(c llm.Call) callMark {
	args := plainArgs(c.Args)
	m := callMark{ID: c.ID, Name: c.Name, Args: hashed(args)}
	var members map[string]json.RawMessage
	if js.Kind(args) == '{' && json.Unmarshal(args, &members) == nil && len(members) <= maxMembers {
		m.Members = make(map[string][]byte, len(members))
		for name, value := range members {
			m.Members[name] = hashed(value)
		}
	}
	return m
}

// like reports whether a call sent by a client may be this call.
func (m callMark) like(sent callMark) bool {
	return m.Name == sent.Name && (m.ID == sent.ID || isCountedID(sent.ID)) && (bytes.Equal(m.Args, sent.Args) || m.shares(sent))
}

// shares reports whether the arguments that both calls have are equal.
func (m callMark) shares(sent callMark) bool {
	if m.Members == nil || sent.Members == nil {
		return false
	}
	common := 0
	for name, value := range m.Members {
		if other, ok := sent.Members[name]; ok {
			if !bytes.Equal(value, other) {
				return false
			}
			common++
		}
	}
	return common > 0 || len(m.Members) == 0 || len(sent.Members) == 0
}

// SignedAnswer collects an answer whose signatures must be stored.
type SignedAnswer struct {
	signatures *Signatures
	signer     string
	history    *History
	answer     llm.Builder
	ids        map[string]string // new ids of calls, by original id
}

// Begin returns the collector of an answer whose signatures must be stored. It returns nil if the client carries the
// signatures, or the upstream makes none.
func (g *Signatures) Begin(l Signer, req *llm.Request) *SignedAnswer {
	if l.Upstream == "" || l.Client != "" {
		return nil
	}
	return &SignedAnswer{signatures: g, signer: l.Upstream, history: NewHistory(req.Messages)}
}

// UniqueIDs replaces counted ids of the client's calls in an event. Two runs of one question would otherwise have the
// same ids.
func (n *SignedAnswer) UniqueIDs(ev llm.Event) llm.Event {
	if n == nil {
		return ev
	}
	switch own := ev.(type) {
	case llm.CallStart:
		own.ID = n.idOf(own.ID, own.Name)
		return own
	case llm.CallDelta:
		if id, ok := n.ids[own.ID]; ok {
			own.ID = id
			return own
		}
	case llm.Call:
		if !own.Hosted {
			own.ID = n.idOf(own.ID, own.Name)
			return own
		}
	case llm.InvalidCall:
		own.ID = n.idOf(own.ID, own.Name)
		return own
	}
	return ev
}

// idOf returns the id of a call for the client.
func (n *SignedAnswer) idOf(id, name string) string {
	if own, ok := n.ids[id]; ok {
		return own
	}
	if !isCountedID(id) || n.signatures.ownsTool(name) {
		return id
	}
	if n.ids == nil {
		n.ids = make(map[string]string)
	}
	n.ids[id] = "call_" + n.signatures.callToken() + strings.TrimPrefix(id, "call")
	return n.ids[id]
}

// callToken returns a random token that makes the ids of calls unique.
func (g *Signatures) callToken() string {
	if g.idToken == "" {
		g.idToken = rand.Text()[:16]
	}
	return g.idToken
}

// Add records an event of an answer. It stores the signatures before the answer ends, because the client may send its
// results to another gateway immediately.
// It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (g *Signatures) Add(n *SignedAnswer, ev llm.Event) error {
	switch ev := ev.(type) {
	case llm.TextDelta, llm.ThinkingDelta, llm.PartEnd, llm.Retract, llm.Media, llm.HostedCall, llm.HostedResult:
		n.answer.Add(ev)
	case llm.Call:
		if !g.ownsTool(ev.Name) {
			n.answer.Add(ev)
		}
	case llm.Finish:
		return n.store()
	}
	return nil
}

// store stores the answer if it has calls of the client.
func (n *SignedAnswer) store() error {
	t, first := turnOf(n.answer.Response().Message)
	if len(t.Calls) == 0 || len(t.Message.Parts) == 0 && !signs(n.signer) {
		return nil
	}
	end := len(n.history.messages)
	before := n.history.sentBefore(end)
	t.Before = before[:]
	value, err := json.Marshal(t)
	if err != nil {
		return err
	}
	question, until := n.history.question(end), time.Now().Add(turnLife)
	kept := func(c llm.Call) state.Kept {
		return state.Kept{Place: n.signatures.signatureKey(n.signer, question, c), Item: n.signatures.callToken(), Value: value, Until: until}
	}
	list := []state.Kept{kept(first)}
	if n.signatures.Codec.Properties().OptionalCallIDs {
		first.ID = ""
		list = append(list, kept(first))
	}
	return n.signatures.Store.Put(n.signatures.Context(), list...)
}

// turnOf returns the stored form of a message, and its first call.
func turnOf(said llm.Message) (t signedTurn, first llm.Call) {
	var text, thought strings.Builder
	end, holds := 0, false // number of parts up to the last call; whether anything is signed
	var parts []llm.Part
	for _, p := range said.Parts {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
			parts = append(parts, llm.Text{Text: p.Text, Refusal: p.Refusal, State: p.State})
			holds = holds || !p.State.IsZero()
		case llm.Thinking:
			thought.WriteString(p.Text)
			if !p.State.IsZero() {
				parts = append(parts, p)
				holds = true
			}
		case llm.Call:
			if p.Hosted {
				t.Partial = true
				continue
			}
			if len(t.Calls) == 0 {
				first = p
			}
			t.Calls = append(t.Calls, markOf(p))
			parts = append(parts, llm.Call{ID: p.ID, Name: p.Name, State: p.State})
			end, holds = len(parts), holds || !p.State.IsZero()
		default:
			t.Partial = true
		}
	}
	if holds { // drop thinking after the last call
		t.Message = llm.Message{Role: llm.RoleAssistant, Parts: append(parts[:end:end], slices.DeleteFunc(parts[end:], isThinking)...)}
	}
	t.Text = hashed([]byte(squeezed(text.String())))
	if said := squeezed(thought.String()); said != "" {
		t.Thought = hashed([]byte(said))
	}
	return t, first
}

func isThinking(p llm.Part) bool {
	_, ok := p.(llm.Thinking)
	return ok
}

// restore returns a request with the stored signatures. The argument is not changed.
func (g *Signatures) restore(signer string, req *llm.Request) *llm.Request {
	history := NewHistory(req.Messages)
	turns := g.sentTurns(signer, history)
	if len(turns) == 0 {
		return req
	}
	if len(g.looked) > 0 || !g.Store.Empty(state.Signature) {
		g.lookUpTurns(turns)
	}
	g.warnOfUnknown(signer, turns, req.Messages)
	out, taken := req, 0 // taken counts the messages that are handled
	var messages []llm.Message
	for i := range turns {
		sent := &turns[i]
		kept := g.findSigned(sent, history)
		if kept == nil {
			continue
		}
		if out == req {
			out = req.Clone()
			messages = make([]llm.Message, 0, len(out.Messages))
		}
		messages = append(messages, out.Messages[taken:sent.from+1]...)
		messages[len(messages)-1].Parts = kept.restored(sent)
		taken = sent.to
	}
	if out != req {
		out.Messages = append(messages, out.Messages[taken:]...)
	}
	return out
}

// sentTurn is an answer with calls that a client repeats, in one message or in consecutive ones.
type sentTurn struct {
	from, to int // range of messages
	key      state.Hash
	parts    []llm.Part
	said     signedTurn // stored form of the parts
}

// sentTurns returns the answers in a conversation that may have stored signatures. It omits answers that already have
// signatures, such as turns that the gateway put back itself.
func (m *Scope) sentTurns(signer string, history *History) (list []sentTurn) {
	messages := history.messages
	for i := 0; i < len(messages); i++ {
		if messages[i].Role != llm.RoleAssistant {
			continue
		}
		t := sentTurn{from: i}
		for ; i < len(messages) && messages[i].Role == llm.RoleAssistant; i++ {
			t.parts = append(t.parts, messages[i].Parts...)
		}
		t.to = i
		calls := llm.Message{Parts: t.parts}.Calls()
		if len(calls) == 0 || slices.ContainsFunc(t.parts, func(p llm.Part) bool { return (Signer{Upstream: signer}).isSignedPart(p) }) {
			continue
		}
		t.key = m.signatureKey(signer, history.question(t.from), calls[0]).Hash
		list = append(list, t)
	}
	return list
}

// isSignedPart reports whether a part has the upstream's signature.
func (l Signer) isSignedPart(p llm.Part) bool {
	_, is := l.relabelPart(p)
	return is
}

// lookUpTurns reads the store entries of answers, once per request.
func (g *Signatures) lookUpTurns(turns []sentTurn) {
	var unknown []state.Hash
	for _, t := range turns {
		if _, known := g.looked[t.key]; !known {
			unknown = append(unknown, t.key)
		}
	}
	found := g.lookUp(state.Signature, unknown)
	for _, key := range unknown {
		if g.looked == nil {
			g.looked = make(map[state.Hash][]signedTurn)
		}
		g.looked[key] = decodeEach[signedTurn](found[key])
	}
}

// findSigned returns the stored turn of an answer. It returns nil if there is none, or if several match, and then warns
// the client.
func (g *Signatures) findSigned(sent *sentTurn, history *History) *signedTurn {
	held := g.looked[sent.key]
	if len(held) == 0 {
		return nil
	}
	sent.said, _ = turnOf(llm.Message{Parts: sent.parts})
	said, text := &sent.said, squeezed(llm.Message{Parts: sent.parts}.Text())
	list := preferred(held, true, func(t *signedTurn) bool { return t.has(said.Calls) != nil && t.says(text, said.Text) })
	list = preferred(list, false, func(t *signedTurn) bool { return slices.EqualFunc(t.Calls, said.Calls, sameArgs) })
	list = preferred(list, false, func(t *signedTurn) bool { return bytes.Equal(t.Text, said.Text) })
	list = preferred(list, false, func(t *signedTurn) bool { return len(said.Thought) > 0 && bytes.Equal(t.Thought, said.Thought) })
	if len(list) > 1 {
		all := history.sentBefore(sent.from)
		list = preferred(list, false, func(t *signedTurn) bool { return bytes.Equal(t.Before, all[:]) })
	}
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		if !list[0].same(&list[i]) {
			g.Warn(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: "several earlier answers to this question look the same, and the gateway cannot tell which of them " +
				"belongs to this conversation: the signatures of its calls are left out"})
			return nil
		}
	}
	if len(list[0].Message.Parts) == 0 {
		return nil // nothing was signed
	}
	return &list[0]
}

// warnOfUnknown warns the client if the store does not know the answer to the last question, although its vendor signs
// answers. Answers without signatures are also stored. Answers to older questions do not need their signatures.
func (g *Signatures) warnOfUnknown(signer string, turns []sentTurn, messages []llm.Message) {
	last := &turns[len(turns)-1]
	if len(g.looked[last.key]) > 0 || !signs(signer) || slices.ContainsFunc(messages[last.to:], asks) {
		return
	}
	g.Warn(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: "signatures of the last calls may be missing: the gateway does not know these calls, " +
		"because another model made them, they were changed, or they are older than a day"})
}

// asks reports whether a message of the client contains more than results of calls.
func asks(m llm.Message) bool {
	return m.Role == llm.RoleUser && slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.Result); return !ok })
}

func sameArgs(a, b callMark) bool { return bytes.Equal(a.Args, b.Args) }

// preferred returns the wanted turns of a list. If there are none, it returns the whole list, unless must is set.
func preferred(list []signedTurn, must bool, wanted func(*signedTurn) bool) []signedTurn {
	var out []signedTurn
	for i := range list {
		if wanted(&list[i]) {
			out = append(out, list[i])
		}
	}
	if len(out) == 0 && !must {
		return list
	}
	return out
}

// has returns the indexes of the answer's calls that match the sent calls, in order. It returns nil if a sent call has
// no match.
func (t *signedTurn) has(sent []callMark) (places []int) {
	k := 0
	for _, m := range sent {
		for k < len(t.Calls) && !t.Calls[k].like(m) {
			k++
		}
		if k == len(t.Calls) {
			return nil
		}
		places = append(places, k)
		k++
	}
	return places
}

// says reports whether a text may be a part of the answer's text. The hash is that of the text without white space.
func (t *signedTurn) says(text string, hash []byte) bool {
	if text == "" || bytes.Equal(t.Text, hash) {
		return true
	}
	if len(t.Message.Parts) == 0 {
		return false
	}
	own := squeezed(t.Message.Text())
	return strings.Contains(own, text) || strings.Contains(text, own)
}

// same reports whether two answers have the same signatures.
func (t *signedTurn) same(other *signedTurn) bool {
	return slices.EqualFunc(t.Message.Parts, other.Message.Parts, func(a, b llm.Part) bool {
		switch a := a.(type) {
		case llm.Text:
			b, ok := b.(llm.Text)
			return ok && sameState(a.State, b.State)
		case llm.Thinking:
			b, ok := b.(llm.Thinking)
			return ok && a.Text == b.Text && sameState(a.State, b.State)
		case llm.Call:
			b, ok := b.(llm.Call)
			return ok && sameState(a.State, b.State)
		}
		return false
	})
}

func sameState(a, b llm.State) bool { return a.Vendor == b.Vendor && bytes.Equal(a.Data, b.Data) }

// restored returns the parts that a client sent, with the signatures restored.
func (t *signedTurn) restored(sent *sentTurn) []llm.Part {
	places := t.has(sent.said.Calls)
	parts := sent.parts
	if slices.ContainsFunc(t.Message.Parts, isThinking) { // it replaces all unsigned thinking
		parts = slices.DeleteFunc(slices.Clone(parts), isThinking)
	}
	if !t.Partial && !sent.said.Partial && len(places) == len(t.Calls) && bytes.Equal(sent.said.Text, t.Text) {
		return t.inOrder(parts)
	}
	return t.between(parts, places)
}

// inOrder returns the parts of an answer that a client repeated completely, in the original order. Fields that the
// client set on texts and calls are kept.
func (t *signedTurn) inOrder(parts []llm.Part) []llm.Part {
	var out, texts, calls []llm.Part
	for _, p := range parts {
		switch p.(type) {
		case llm.Text:
			texts = append(texts, p)
		case llm.Call:
			calls = append(calls, p)
		default:
			out = append(out, p)
		}
	}
	own := slices.DeleteFunc(slices.Clone(t.Message.Parts), func(p llm.Part) bool { _, ok := p.(llm.Text); return !ok })
	alike := slices.EqualFunc(own, texts, func(a, b llm.Part) bool {
		return squeezed(a.(llm.Text).Text) == squeezed(b.(llm.Text).Text)
	})
	for _, p := range t.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			if alike {
				theirs := texts[0].(llm.Text)
				theirs.Text, theirs.State, texts = p.Text, p.State, texts[1:]
				p = theirs
			}
			out = append(out, p)
		case llm.Call:
			out = append(out, withState(calls[0].(llm.Call), p.State))
			calls = calls[1:]
		default:
			out = append(out, p)
		}
	}
	return out
}

// between inserts the thinking that preceded each call, and adds the signatures of the calls. The argument places has
// the indexes of the calls in the answer.
func (t *signedTurn) between(parts []llm.Part, places []int) []llm.Part {
	thinking, states := make([][]llm.Part, len(t.Calls)), make([]llm.State, 0, len(t.Calls)) // by call
	for _, p := range t.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			thinking[len(states)] = append(thinking[len(states)], p)
		case llm.Call:
			states = append(states, p.State)
		}
	}
	var out []llm.Part
	next := 0 // index of the next call of the answer
	think := func(until int) {
		for ; next <= until; next++ {
			out = append(out, thinking[next]...)
		}
	}
	k := 0
	think(places[0])
	for _, p := range parts {
		c, ok := p.(llm.Call)
		if !ok || c.Hosted {
			out = append(out, p)
			continue
		}
		out = append(out, withState(c, states[places[k]]))
		if k++; k < len(places) {
			think(places[k])
		}
	}
	return out
}

// withState returns a call with its signature. It replaces the state in the client's format, which the upstream cannot
// read.
func withState(c llm.Call, s llm.State) llm.Call {
	if !s.IsZero() {
		c.State = s
	}
	return c
}
