package journal

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
)

// onRecord is what a Recorder knows of the values of its run: enough to refer to
// them instead of writing them again.
type onRecord struct {
	known map[Hash]bool
	// alike finds the message of an answer by its hash without the ids of its calls:
	// ids that are not unique in the run are replaced.
	alike map[Hash]Hash
	// result is the last result that was written whole: a call that was run again
	// has its result, under the id of the first.
	result json.RawMessage
	// said is the last thing a model said, clipped, and saidIn its message.
	said   string
	saidIn Hash
}

func newOnRecord() onRecord {
	return onRecord{known: make(map[Hash]bool), alike: make(map[Hash]Hash)}
}

// learn takes in the values of an entry that is on record.
func (r *onRecord) learn(e Entry) {
	var answer struct {
		Message json.RawMessage `json:"message"`
	}
	if e.Kind == KindAnswer || e.Kind == "agent.turn" {
		if json.Unmarshal(e.Body, &answer) != nil {
			return
		}
	}
	for h, v := range e.addresses() {
		r.known[h] = true
		if len(answer.Message) > 0 && bytes.Equal(v, answer.Message) {
			r.saidIn, r.said = h, Clean{saidIn(v)}.Cut(maxSummary)
			if ids := idsOf(v); len(ids) > 0 {
				r.alike[hashBytes(withoutIDs(v, ids))] = h
			}
		}
	}
}

// idsOf returns the ids of the calls of a message, or of the call of a result.
func idsOf(raw json.RawMessage) []string {
	var m struct {
		CallID *string           `json:"call_id"`
		Parts  []json.RawMessage `json:"parts"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	if m.CallID != nil {
		return []string{*m.CallID}
	}
	var ids []string
	for _, raw := range m.Parts {
		var p part
		if isCall(raw) && json.Unmarshal(raw, &p) == nil {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// withoutIDs returns a value with its ids empty.
func withoutIDs(raw json.RawMessage, ids []string) json.RawMessage {
	return withIDs(raw, make([]string, len(ids)))
}

// refer returns a canonical body with references in the place of values that are
// on record.
func (r *onRecord) refer(kind Kind, body []byte) []byte {
	spots, f := places[kind], fields{}
	if kind == KindAnswer || spots == nil || json.Unmarshal(body, &f) != nil {
		return body // an answer is where its message stands
	}
	changed := false
	for _, p := range spots {
		changed = r.referAt(f, p) || changed
	}
	if !changed {
		return body
	}
	return f.join()
}

// referAt puts a reference at a place, if there can be one, and reports whether
// it did.
func (r *onRecord) referAt(f fields, p place) bool {
	raw, there := f[p.key]
	if !there {
		return false
	}
	ref := raw
	switch p.form {
	case oneMessage:
		ref = r.message(raw)
	case manyMessages:
		ref = r.messages(raw)
	case oneResult:
		ref = r.value(raw)
	case anyValue:
		if h := hashBytes(raw); r.known[h] && len(raw) > len(h)+2 {
			ref = quoted(h)
		}
	case arguments, lastWords:
		return r.leaveOut(f, p)
	}
	f[p.key] = ref
	return !bytes.Equal(ref, raw)
}

// leaveOut takes a value out of f that another member names by its hash.
func (r *onRecord) leaveOut(f fields, p place) bool {
	raw := f[p.key]
	switch {
	case p.form == arguments:
		hash := f["params_hash"]
		if !isRef(hash) || !r.known[refOf(hash)] || refOf(hash) != hashBytes(raw) {
			return false
		}
	case r.saidIn == "" || !bytes.Equal(raw, js.AppendShortest(nil, r.said)):
		return false
	default:
		f["answer"] = quoted(r.saidIn)
	}
	delete(f, p.key)
	return true
}

// messages returns a list of messages with references.
func (r *onRecord) messages(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw
	}
	for i, m := range list {
		list[i] = r.message(m)
	}
	return joinList(list)
}

func quoted(h Hash) json.RawMessage { return slices.Concat([]byte{'"'}, []byte(h), []byte{'"'}) }

// message returns a reference to a message, or the message with references to
// its results.
func (r *onRecord) message(raw json.RawMessage) json.RawMessage {
	if ref := r.value(raw); !bytes.Equal(ref, raw) {
		return ref
	}
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	changed := false
	for i, p := range m.Parts {
		if !bytes.HasSuffix(p, []byte(resultPartEnd)) {
			continue
		}
		result := resultOfPart(p)
		if ref := r.value(result); !bytes.Equal(ref, result) {
			m.Parts[i], changed = ref, true
		}
	}
	if !changed {
		return raw
	}
	return withParts(raw, m.Parts)
}

// value returns a reference to a message or result, or raw if there is none.
func (r *onRecord) value(raw json.RawMessage) json.RawMessage {
	if h := hashBytes(raw); r.known[h] {
		return quoted(h)
	}
	ids := idsOf(raw)
	if len(ids) == 0 {
		return raw
	}
	other, ok := r.alike[hashBytes(withoutIDs(raw, ids))]
	if !ok && len(r.result) > 0 && bytes.Equal(withIDs(r.result, ids), raw) {
		other, ok = hashBytes(r.result), true
	}
	if !ok {
		return raw
	}
	list, err := encode(ids)
	if err != nil {
		return raw
	}
	return fields{"ids": list, "of": quoted(other)}.join()
}

// references are those of one intent or receipt. Nil refers to nothing.
type references struct {
	r        *Recorder
	intended announced // by the intent of a receipt
	params   Hash

	learnt [2]Hash // values that stand whole in the entry
	whole  json.RawMessage
}

// repeated reports whether arguments equal those of the intent byte for byte. The
// intent's are canonical and on record.
func (f *references) repeated(args []byte) bool {
	return f != nil && f.intended.hash != "" && f.intended.hash == f.params && bytes.Equal(f.intended.args, args)
}

// args reports whether arguments are on record.
func (f *references) args(form []byte) bool {
	if f == nil || f.r.format < formatRefs {
		return false
	}
	if f.repeated(form) {
		return true
	}
	if !f.r.talking.Load() {
		return false
	}
	hash := hashBytes(form)
	if f.r.known(hash) && hash == f.params {
		return true
	}
	f.learnt[0] = hash
	return false
}

// result returns a reference to a result, nil if it is not on record.
func (f *references) result(value []byte) []byte {
	if f == nil || f.r.format < formatRefs || !f.r.talking.Load() {
		return nil
	}
	hash := hashBytes(value)
	if f.r.known(hash) {
		return quoted(hash)
	}
	f.learnt[1], f.whole = hash, value
	return nil
}

// known reports whether the value of that hash is on record.
func (r *Recorder) known(hash Hash) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values.known[hash]
}

// learn remembers the values that are on record.
func (f *references) learn() {
	if f.learnt[0] == "" && f.learnt[1] == "" {
		return
	}
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	for _, h := range f.learnt {
		if h != "" {
			f.r.values.known[h] = true
		}
	}
	if f.whole != nil {
		f.r.values.result = bytes.Clone(f.whole)
	}
}
