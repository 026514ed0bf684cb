package conversation

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// What a vendor signed goes back to the answer that it came with, and to no other (docs/design/gateway.md). An answer is known
// by what the client repeats of it: the ids, names and arguments of its calls, and its text. Clients change that in ordinary ways, so
// white space, the way JSON is written, text that is left out, and messages that are split do not count. If several answers look the same and
// hold something else, nothing is put back.

// signedTurn is the stored form of an answer with calls of the client.
type signedTurn struct {
	// Message has the texts, the signed thinking and the calls, without their arguments, in their order. It is empty if nothing was
	// signed: such answers are kept so that they are not taken for one that was.
	Message llm.Message `json:"message"`
	Calls   []callMark  `json:"calls"`
	Text    []byte      `json:"text"`              // hash of all that was said
	Thought []byte      `json:"thought,omitempty"` // hash of all that was thought, if anything was
	Before  []byte      `json:"before"`            // hash of all that the client had sent
	// Partial says that the answer had more than the message has, like media and calls that the vendor ran.
	Partial bool `json:"partial,omitempty"`
}

// callMark is what a call is known by.
type callMark struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args []byte `json:"args"` // hash
	// Members are hashes of the arguments, by their names: clients add defaults, and drop what their schema does not have.
	Members map[string][]byte `json:"members,omitempty"`
}

// maxMembers bounds the arguments of a call that are known one by one.
const maxMembers = 64

// signs reports whether vendors of the signer's format sign thinking. Only some of their answers are signed.
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

// hashed returns a short hash: what it tells apart are answers of one owner to the same question.
func hashed(text []byte) []byte {
	h := sha256.Sum256(text)
	return h[:16]
}

// plainArgs returns the arguments of a call in one form. No arguments are an empty object.
func plainArgs(args json.RawMessage) []byte {
	if out := canonical(args); len(out) > 0 && string(out) != "null" && string(out) != `""` {
		return out
	}
	return []byte("{}")
}

// markOf returns what a call is known by.
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

// like reports whether a call that a client sent may be this one.
func (m callMark) like(sent callMark) bool {
	return m.Name == sent.Name && (m.ID == sent.ID || isCountedID(sent.ID)) && (bytes.Equal(m.Args, sent.Args) || m.shares(sent))
}

// shares reports whether the arguments that both calls have are the same.
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

// SignedAnswer collects an answer whose signatures have to be kept.
type SignedAnswer struct {
	signatures *Signatures
	signer     string
	messages   []llm.Message // that are answered
	answer     llm.Builder
	ids        map[string]string // ids of calls, by those that they came with
}

// Begin returns the notes of an answer whose signatures have to be kept, and nil if there are none:
// the client carries them.
func (g *Signatures) Begin(l Signer, req *llm.Request) *SignedAnswer {
	if l.Upstream == "" || l.Client != "" {
		return nil
	}
	return &SignedAnswer{signatures: g, signer: l.Upstream, messages: req.Messages}
}

// UniqueIDs returns an event of an answer in which no call of the client has an id that is only a number: two runs of one
// question would have the same.
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

// idOf returns the id that the client is told for a call.
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

// callToken is what makes the ids of calls in an answer unique.
func (g *Signatures) callToken() string {
	if g.idToken == "" {
		g.idToken = rand.Text()[:16]
	}
	return g.idToken
}

// Add takes down an event of an answer. Before the answer ends, what it signed is kept: the client may
// send the results to another gateway at once.
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

// store keeps the answer, if it has calls of the client.
func (n *SignedAnswer) store() error {
	t, first := turnOf(n.answer.Response().Message)
	if len(t.Calls) == 0 || len(t.Message.Parts) == 0 && !signs(n.signer) {
		return nil
	}
	before := SaidBefore(n.messages)
	t.Before = before[:]
	value, err := json.Marshal(t)
	if err != nil {
		return err
	}
	asked, until := questionBefore(n.messages), time.Now().Add(stateLife)
	kept := func(c llm.Call) state.Kept {
		return state.Kept{Place: state.Place{Kind: state.Signature, Owner: n.signatures.Owner, Hash: turnKey(n.signer, asked, c)}, Item: n.signatures.callToken(), Value: value, Until: until}
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
	end, holds := 0, false // behind the last call
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
	if holds { // no answer ends with thinking
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

// restore returns a request whose calls have what belongs to them. The request is not changed.
func (g *Signatures) restore(signer string, req *llm.Request) *llm.Request {
	turns := sentTurns(signer, req.Messages)
	if len(turns) == 0 {
		return req
	}
	if len(g.looked) > 0 || !g.Store.Empty(state.Signature) {
		g.lookUpTurns(turns)
	}
	g.warnOfUnknown(signer, turns, req.Messages)
	before := sync.OnceValue(func() [][sha256.Size]byte { return saidBeforeEach(req.Messages) })
	out, taken := req, 0 // messages that are in out, or in one of its messages
	var messages []llm.Message
	for i := range turns {
		sent := &turns[i]
		kept := g.findSigned(sent, before)
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

// sentTurn is an answer with calls as a client repeats it, in one message or in several that follow each other.
type sentTurn struct {
	from, to int // the messages
	key      state.Hash
	parts    []llm.Part
	said     signedTurn // what the parts say
}

// sentTurns returns the answers of a conversation for which something may be kept. What a turn that the gateway put back itself
// has in it is all there is.
func sentTurns(signer string, messages []llm.Message) (list []sentTurn) {
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
		t.key = turnKey(signer, AskedBefore(messages[:t.from]), calls[0])
		list = append(list, t)
	}
	return list
}

// isSignedPart reports whether a part is the upstream's.
func (l Signer) isSignedPart(p llm.Part) bool {
	_, is := l.relabelPart(p)
	return is
}

// lookUpTurns reads the entries of answers, once per request.
func (g *Signatures) lookUpTurns(turns []sentTurn) {
	var unknown []state.Hash
	for _, t := range turns {
		if _, known := g.looked[t.key]; !known {
			unknown = append(unknown, t.key)
		}
	}
	found := g.lookUp(state.Signature, unknown)
	for _, key := range unknown {
		var list []signedTurn
		for _, value := range found[key] {
			var t signedTurn
			if json.Unmarshal(value, &t) == nil { // else it is of another version
				list = append(list, t)
			}
		}
		if g.looked == nil {
			g.looked = make(map[state.Hash][]signedTurn)
		}
		g.looked[key] = list
	}
}

// findSigned returns the stored turn of an answer. It returns nil if there is none, and warns the client if several
// match. The function before is called only to tell several apart.
func (g *Signatures) findSigned(sent *sentTurn, before func() [][sha256.Size]byte) *signedTurn {
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
		all := before()[sent.from]
		list = preferred(list, false, func(t *signedTurn) bool { return bytes.Equal(t.Before, all[:]) })
	}
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		if !list[0].same(&list[i]) {
			g.Warn(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: "several answers to the same question look the same, and it cannot be told which of them " +
				"is the one in this conversation: what the vendor signed for its calls is left out"})
			return nil
		}
	}
	if len(list[0].Message.Parts) == 0 {
		return nil // nothing was signed
	}
	return &list[0]
}

// warnOfUnknown tells the client if nothing is known of an answer to its last question, of a vendor that signs: not even that nothing was signed in it.
// Answers to older questions are complete without.
func (g *Signatures) warnOfUnknown(signer string, turns []sentTurn, messages []llm.Message) {
	last := &turns[len(turns)-1]
	if len(g.looked[last.key]) > 0 || !signs(signer) || slices.ContainsFunc(messages[last.to:], asks) {
		return
	}
	g.Warn(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: "the model goes on without what its vendor may have signed with the last calls: the gateway does not know them, " +
		"because they are another model's, were changed, or are older than a day"})
}

// asks reports whether a message of the client says more than the results of calls.
func asks(m llm.Message) bool {
	return m.Role == llm.RoleUser && slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.Result); return !ok })
}

func sameArgs(a, b callMark) bool { return bytes.Equal(a.Args, b.Args) }

// preferred returns those of a list that are as wanted. If none is, it returns all, unless they must be.
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

// has returns which calls of the answer those are that a client sent, in their order, and nil if one of them is none of these.
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

// says reports whether a text may be the rest of the answer's text. The hash is that of the text without white space.
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

// same reports whether the same was signed in two answers.
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

// restored returns the parts that a client sent, with the signed data in place.
func (t *signedTurn) restored(sent *sentTurn) []llm.Part {
	places := t.has(sent.said.Calls)
	parts := sent.parts
	if slices.ContainsFunc(t.Message.Parts, isThinking) { // in the place of any that is not signed
		parts = slices.DeleteFunc(slices.Clone(parts), isThinking)
	}
	if !t.Partial && !sent.said.Partial && len(places) == len(t.Calls) && bytes.Equal(sent.said.Text, t.Text) {
		return t.inOrder(parts)
	}
	return t.between(parts, places)
}

// inOrder returns the parts of an answer that a client repeated as a whole, in the order that they had. What the client says about
// its texts and calls stays with them.
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

// between returns parts with the thinking that stood before each call before what the client has there, and the calls with
// their signatures. The calls are those of the answer at places.
func (t *signedTurn) between(parts []llm.Part, places []int) []llm.Part {
	thinking, states := make([][]llm.Part, len(t.Calls)), make([]llm.State, 0, len(t.Calls)) // of each call
	for _, p := range t.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			thinking[len(states)] = append(thinking[len(states)], p)
		case llm.Call:
			states = append(states, p.State)
		}
	}
	var out []llm.Part
	next := 0 // of the answer's calls
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

// withState returns a call with its signature. What the client's own format says of it means nothing to the upstream.
func withState(c llm.Call, s llm.State) llm.Call {
	if !s.IsZero() {
		c.State = s
	}
	return c
}
