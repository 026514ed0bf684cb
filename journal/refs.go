package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// In format 2 an entry that would repeat a value refers to it by its hash: that
// of the value's canonical JSON before secrets were stripped. The value stands
// whole in an earlier entry of the run. Where references may stand is decided by
// the kind of the entry; anywhere else, and in the bodies of other kinds, JSON
// means itself, whatever it looks like.

// form is what a place holds and how it is referred to.
type form uint8

const (
	// oneMessage is a message, the hash of one as a string, or
	// {"ids":[…],"of":HASH}, the message of that hash with other ids in its
	// calls. In a message a result may be a reference, as oneResult is.
	oneMessage form = iota + 1
	// manyMessages is a list of the above.
	manyMessages
	// oneResult is a result, its hash, or {"ids":[ID],"of":HASH}.
	oneResult
	// arguments are left out if the value of the body's params_hash is on record.
	arguments
	// anyValue is an object or a list, or the hash of one.
	anyValue
	// lastWords is the text of a message, clipped, for which the body's "answer"
	// has the hash of the message.
	lastWords
)

// place is a member of a body.
type place struct {
	key  string
	form form
}

// places says where the bodies of a kind hold values, in the order of values.
// The kinds of package agent hold messages and results, too.
var places = map[Kind][]place{
	KindRequest:    {{"messages", manyMessages}, {"settings", anyValue}, {"tools", anyValue}},
	KindAnswer:     {{"invalid", anyValue}, {"message", oneMessage}},
	KindIntent:     {{"args", arguments}},
	KindReceipt:    {{"args", arguments}, {"result", oneResult}},
	KindRefusal:    {{"args", arguments}, {"result", oneResult}},
	KindEnd:        {{"summary", lastWords}},
	"agent.begin":  {{"messages", manyMessages}},
	"agent.turn":   {{"invalid", anyValue}, {"message", oneMessage}},
	"agent.note":   {{"message", oneMessage}},
	"agent.choice": {{"result", oneResult}},
}

// fields are the members of a JSON object.
type fields map[string]json.RawMessage

// join returns the object in canonical form. The keys are those of this module,
// plain letters, so their order is that of their bytes.
func (f fields) join() []byte {
	b := []byte{'{'}
	for i, k := range slices.Sorted(maps.Keys(f)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(js.AppendShortest(b, k), ':')
		b = append(b, f[k]...)
	}
	return append(b, '}')
}

// values returns the values that stand whole in a body and may be referred to.
func values(kind Kind, body []byte) []json.RawMessage {
	spots, f := places[kind], fields{}
	if spots == nil || json.Unmarshal(body, &f) != nil {
		return nil
	}
	var out []json.RawMessage
	for _, p := range spots {
		raw, there := f[p.key]
		switch p.form {
		case arguments: // in any form they are not a reference
			if there {
				out = append(out, raw)
			}
		case oneMessage:
			out = append(out, messageValues(raw)...)
		case manyMessages:
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) == nil {
				for _, m := range list {
					out = append(out, messageValues(m)...)
				}
			}
		case oneResult, anyValue:
			if isWhole(raw) {
				out = append(out, raw)
			}
		}
	}
	return out
}

// isWhole reports whether raw is a value rather than a reference to one.
func isWhole(raw json.RawMessage) bool {
	return len(raw) > 0 && !isRef(raw) && !bytes.HasPrefix(raw, []byte(`{"ids":`))
}

func isNotWhole(raw json.RawMessage) bool { return !isWhole(raw) }

// isRef reports whether raw is a hash.
func isRef(raw json.RawMessage) bool {
	return len(raw) == len(hashPrefix)+2*32+2 && raw[0] == '"' && isHash(raw[1:len(raw)-1])
}

func refOf(raw json.RawMessage) Hash { return Hash(raw[1 : len(raw)-1]) }

// message is a message in JSON, or a reference to one with other ids.
type message struct {
	IDs   []string          `json:"ids"`
	Of    Hash              `json:"of"`
	Parts []json.RawMessage `json:"parts"`
}

// part is what matters here of a call or result in a message.
type part struct {
	Type string          `json:"type"`
	ID   string          `json:"id"`
	Args json.RawMessage `json:"args"`
}

// messageValues returns a message, unless it holds references, the arguments of
// its calls, and its results.
func messageValues(raw json.RawMessage) []json.RawMessage {
	var m message
	if !isWhole(raw) || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	out := []json.RawMessage{raw}
	for _, raw := range m.Parts {
		var p part
		if !isWhole(raw) {
			out[0] = nil // a value made of references cannot be referred to
			continue
		}
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		switch p.Type {
		case "call":
			if len(p.Args) > 0 {
				out = append(out, p.Args)
			}
		case "result":
			out = append(out, resultOfPart(raw))
		}
	}
	if out[0] == nil {
		return out[1:]
	}
	return out
}

// The type of a part is its last key.
const (
	resultPartEnd = `,"type":"result"}`
	resultEnd     = `}`
)

// resultOfPart returns a result as a receipt has it.
func resultOfPart(raw json.RawMessage) json.RawMessage {
	return slices.Concat(bytes.TrimSuffix(raw, []byte(resultPartEnd)), []byte(resultEnd))
}

// partOfResult returns a result as a message has it.
func partOfResult(raw json.RawMessage) json.RawMessage {
	return slices.Concat(bytes.TrimSuffix(raw, []byte(resultEnd)), []byte(resultPartEnd))
}

func hashes(values []json.RawMessage) []Hash {
	var out []Hash
	for _, v := range values {
		out = append(out, hashBytes(v))
	}
	return out
}

// addresses returns the values of an entry by what they are referred to.
func (e Entry) addresses() iter.Seq2[Hash, json.RawMessage] {
	return func(yield func(Hash, json.RawMessage) bool) {
		if e.Format < formatRefs {
			return
		}
		all := values(e.Kind, e.Body)
		named := e.Stripped != nil && len(e.Stripped.Values) == len(all)
		for i, v := range all {
			h := Hash("")
			if named {
				h = e.Stripped.Values[i]
			} else {
				h = hashBytes(v)
			}
			if !yield(h, v) {
				return
			}
		}
	}
}

// Whole yields the entries of a run with whole bodies: each reference is replaced by
// its value. The entries must begin with the first of the run. Their hashes cover the
// text before that, so [Verify] takes them as the store yields them.
//
// A reference to a value that no entry before it holds is an error.
func Whole(entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var r Resolver
		for e, err := range entries {
			if err == nil {
				e, err = r.Whole(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Resolver resolves references for a reader that needs each entry in both forms.
// The zero value is ready to use. It must be given every entry of one run, in
// order. Most readers want [Whole].
type Resolver struct {
	values map[Hash]json.RawMessage
}

// ReferenceError says that an entry refers to something that no entry before it
// holds.
type ReferenceError struct {
	Run  string
	Seq  int64
	Hash Hash
}

// Error names the entry and its reference.
func (e *ReferenceError) Error() string {
	return fmt.Sprintf("journal: entry %d of run %s refers to %s, which no entry before it holds", e.Seq, e.Run, e.Hash)
}

// Whole returns e with its references resolved. An entry without references is
// returned unchanged.
func (r *Resolver) Whole(e Entry) (Entry, error) {
	spots, f := places[e.Kind], fields{}
	if e.Format < formatRefs || spots == nil || json.Unmarshal(e.Body, &f) != nil {
		return e, nil
	}
	if r.values == nil {
		r.values = make(map[Hash]json.RawMessage)
	}
	changed, missing := false, Hash("")
	for _, p := range spots {
		c, m := r.resolve(f, p)
		changed = changed || c
		if missing == "" {
			missing = m
		}
	}
	for h, v := range e.addresses() {
		r.values[h] = v
	}
	if missing != "" {
		return e, &ReferenceError{e.Run, e.Seq, missing}
	}
	if changed {
		e.Body, e.Format = f.join(), 0
	}
	return e, nil
}

// resolve puts the value of a place into f. It reports whether there was a
// reference, and the first hash that is not on record.
func (r *Resolver) resolve(f fields, p place) (changed bool, missing Hash) {
	raw, there := f[p.key]
	switch {
	case p.form == arguments && !there:
		return r.named(f, p.key, "params_hash")
	case p.form == lastWords && !there:
		if changed, missing = r.named(f, p.key, "answer"); changed {
			f[p.key] = js.AppendShortest(nil, Clean{saidIn(f[p.key])}.Cut(maxSummary)) // stripped when it was stored
			delete(f, "answer")
		}
		return changed, missing
	case !there:
		return false, ""
	}
	switch p.form {
	case oneMessage:
		f[p.key], changed, missing = r.message(raw)
	case manyMessages:
		f[p.key], changed, missing = r.messages(raw)
	case oneResult, anyValue:
		f[p.key], changed, missing = r.value(raw)
	}
	return changed, missing
}

// named puts the value with the hash at another key into f.
func (r *Resolver) named(f fields, key, hash string) (changed bool, missing Hash) {
	raw := f[hash]
	if !isRef(raw) {
		return false, ""
	}
	value, changed, missing := r.value(raw)
	if changed {
		f[key] = value
	}
	return changed, missing
}

// value resolves a reference to a result or to any value.
func (r *Resolver) value(raw json.RawMessage) (json.RawMessage, bool, Hash) {
	if isWhole(raw) {
		return raw, false, ""
	}
	var m message
	if isRef(raw) {
		m.Of = refOf(raw)
	} else if json.Unmarshal(raw, &m) != nil {
		return raw, false, ""
	}
	value, ok := r.values[m.Of]
	if !ok {
		return raw, false, m.Of
	}
	return withIDs(value, m.IDs), true, ""
}

// message resolves a reference to a message, or those in it.
func (r *Resolver) message(raw json.RawMessage) (json.RawMessage, bool, Hash) {
	if !isWhole(raw) {
		return r.value(raw)
	}
	var m message
	if json.Unmarshal(raw, &m) != nil || !slices.ContainsFunc(m.Parts, isNotWhole) {
		return raw, false, ""
	}
	for i, p := range m.Parts {
		if isWhole(p) {
			continue
		}
		result, _, missing := r.value(p)
		if missing != "" {
			return raw, false, missing
		}
		m.Parts[i] = partOfResult(result)
	}
	return withParts(raw, m.Parts), true, ""
}

func (r *Resolver) messages(raw json.RawMessage) (out json.RawMessage, changed bool, missing Hash) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw, false, ""
	}
	for i, m := range list {
		whole, c, miss := r.message(m)
		if miss != "" {
			return raw, false, miss
		}
		list[i], changed = whole, changed || c
	}
	if !changed {
		return raw, false, ""
	}
	return joinList(list), true, ""
}

func joinList(list []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte{'['}, bytes.Join(rawBytes(list), []byte{','}), []byte{']'})
}

// withParts returns a message with other parts.
func withParts(raw json.RawMessage, parts []json.RawMessage) json.RawMessage {
	f := fields{}
	if json.Unmarshal(raw, &f) != nil {
		return raw
	}
	f["parts"] = joinList(parts)
	return f.join()
}

// withIDs returns a message with other ids in its calls, in their order, or a
// result with another one.
func withIDs(raw json.RawMessage, ids []string) json.RawMessage {
	var m message
	f := fields{}
	if len(ids) == 0 || json.Unmarshal(raw, &f) != nil {
		return raw
	}
	if _, result := f["call_id"]; result {
		f["call_id"] = js.AppendShortest(nil, ids[0])
		return f.join()
	}
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	for i, p := range m.Parts {
		if !isCall(p) || len(ids) == 0 {
			continue
		}
		call := fields{}
		if json.Unmarshal(p, &call) != nil {
			continue
		}
		call["id"] = js.AppendShortest(nil, ids[0])
		m.Parts[i], ids = call.join(), ids[1:]
	}
	f["parts"] = joinList(m.Parts)
	return f.join()
}

func isCall(raw json.RawMessage) bool { return bytes.HasSuffix(raw, []byte(`,"type":"call"}`)) }

// saidIn returns the text of a message, as [llm.Message.Text] does.
func saidIn(raw json.RawMessage) string {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	var b strings.Builder
	for _, raw := range m.Parts {
		var p struct{ Type, Text string }
		if json.Unmarshal(raw, &p) == nil && p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// maxSummary bounds the summary of an [End] that is an answer: its message holds
// all of it.
const maxSummary = 1000

func rawBytes(raw []json.RawMessage) [][]byte {
	out := make([][]byte, len(raw))
	for i, r := range raw {
		out[i] = r
	}
	return out
}
