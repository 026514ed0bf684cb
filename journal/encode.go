package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
)

// Intents and receipts are written for every call. Their encoders are several times
// faster than reflection: they write the output of json.Marshal with the keys in
// canonical order. Rare fields go through json.Marshal all the same.

// object is a JSON object on its way. Zero values are left out, except by
// methods that say otherwise.
type object struct {
	b       []byte
	loose   bool // a value in it lacks a canonical form
	suspect bool // something in it, other than a key, is suspicious
	err     error
}

func (o *object) known() known { return known{canonical: !o.loose, harmless: !o.suspect} }

// newObject begins an object of about that size, in space if it has room.
func newObject(space []byte, size int) object {
	if cap(space) < size {
		space = make([]byte, 0, size)
	}
	return object{b: append(space[:0], '{')}
}

func (o *object) key(k string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), k...), '"', ':')
}

// open begins a value that the caller will close.
func (o *object) open(k, opener string) {
	o.key(k)
	o.b = append(o.b, opener...)
}

func (o *object) text(k, v string) {
	if v != "" {
		o.textAlways(k, v)
	}
}

func (o *object) textAlways(k, v string) {
	o.key(k)
	if !utf8.ValidString(v) {
		v = strings.ToValidUTF8(v, "\uFFFD")
	}
	start := len(o.b)
	o.b = js.AppendShortest(o.b, v)
	o.suspect = o.suspect || secret.Suspicious(o.b[start:])
}

// word writes a word of this package's, which is plain and harmless.
func (o *object) word(k, v string) {
	o.key(k)
	o.b = append(append(append(o.b, '"'), v...), '"')
}

func (o *object) hash(k string, h Hash) {
	if h.Valid() {
		o.word(k, string(h))
	} else {
		o.textAlways(k, string(h))
	}
}

func (o *object) number(k string, n int64) {
	if n != 0 {
		o.numberAlways(k, n)
	}
}

func (o *object) numberAlways(k string, n int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) flag(k string, v bool) {
	if v {
		o.key(k)
		o.b = append(o.b, "true"...)
	}
}

// args writes arguments in their canonical form, which they become, unless they
// are on record.
func (o *object) args(args *json.RawMessage, refs *references) {
	before := len(o.b)
	if refs.repeated(*args) {
		return
	}
	o.key("args")
	start := len(o.b)
	o.b = appendParams(o.b, *args)
	form := o.b[start:]
	if !bytes.Equal(form, *args) {
		*args = bytes.Clone(form)
	}
	if refs.args(form) {
		o.b = o.b[:before]
		return
	}
	o.suspect = o.suspect || secret.Suspicious(form)
}

// any writes a rare field, if it is set.
func (o *object) any(k string, v any, there bool) {
	if !there || o.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		o.err = err
		return
	}
	if c, err := Canonical(b); err == nil {
		b = c
	} else {
		o.loose = true
	}
	o.key(k)
	o.b = append(o.b, b...)
	o.suspect = o.suspect || secret.Suspicious(b)
}

func (in *Intent) encode(refs *references, space []byte) object {
	const keysAndHash = 136
	o := newObject(space, keysAndHash+len(in.Args)+len(in.Call)+len(in.Effects)+len(in.Tool)+len(in.Approval)+len(in.StepID)+32)
	o.text("approval", string(in.Approval))
	o.args(&in.Args, refs)
	o.textAlways("call", in.Call)
	o.text("effects", in.Effects)
	o.text("idempotency", in.Key)
	o.hash("params_hash", in.ParamsHash)
	o.text("repeats", in.Repeats)
	o.text("step_id", in.StepID)
	o.textAlways("tool", in.Tool)
	o.b = append(o.b, '}')
	return o
}

func (r *Receipt) encode(refs *references, space []byte) object {
	o := newObject(space, r.size())
	o.any("approval", r.Approval, r.Approval != nil)
	o.args(&r.Args, refs)
	o.number("attempts", int64(r.Attempts))
	o.flag("cached", r.Cached)
	o.textAlways("call", r.Call)
	o.any("delays_ms", r.DelaysMS, len(r.DelaysMS) > 0)
	o.text("dialect", r.Dialect)
	o.any("error", r.Error, r.Error != nil)
	o.text("executed_by", r.ExecutedBy)
	o.any("exit_code", r.ExitCode, r.ExitCode != nil)
	o.numberAlways("latency_ms", r.LatencyMS)
	o.number("omitted_bytes", r.OmittedBytes)
	o.number("output_bytes", r.OutputBytes)
	if r.OutputHash != "" {
		o.hash("output_hash", r.OutputHash)
	}
	o.hash("params_hash", r.ParamsHash)
	o.text("reason", r.Reason)
	o.any("repairs", r.Repairs, len(r.Repairs) > 0)
	o.result(r.Result, refs)
	o.any("server", r.Server, r.Server != nil)
	o.number("shown_bytes", r.ShownBytes)
	o.any("side_effects", r.SideEffects, len(r.SideEffects) > 0)
	o.text("source", string(r.Source))
	o.text("spill", r.Spill)
	if r.Status == OK {
		o.word("status", string(OK))
	} else {
		o.textAlways("status", string(r.Status))
	}
	o.text("step_id", r.StepID)
	o.any("step_utility", r.StepUtility, r.StepUtility != nil)
	o.textAlways("tool", r.Tool)
	o.flag("truncated", r.Truncated)
	o.any("usage", r.Usage, r.Usage != nil)
	o.b = append(o.b, '}')
	return o
}

// size is about how long the body of a receipt is.
func (r *Receipt) size() int {
	const keysAndNumbers = 360
	n := keysAndNumbers + len(r.Args) + 2*(len(r.Call)+len(r.Tool)) + len(r.Reason)
	if r.Result != nil && len(r.Result.Parts) == 1 {
		if text, ok := r.Result.Parts[0].(llm.Text); ok {
			n += len(text.Text) + len(text.Text)/16 // for escapes
		}
	}
	return n
}

// result writes what the model was shown, or a reference to it.
func (o *object) result(r *llm.Result, refs *references) {
	if r == nil {
		return
	}
	suspect, key := o.suspect, len(o.b)
	o.wholeResult(r)
	if o.err != nil || o.loose {
		return
	}
	start := key + len(`"result":`)
	if o.b[key] == ',' {
		start++
	}
	if ref := refs.result(o.b[start:]); ref != nil {
		o.b, o.suspect = append(o.b[:start], ref...), suspect
	}
}

// wholeResult writes a result: one plain text in nearly all cases.
func (o *object) wholeResult(r *llm.Result) {
	var text llm.Text
	plain := len(r.Parts) == 1 && !r.Hosted && r.State.IsZero() && len(r.Extra) == 0
	if plain {
		text, plain = r.Parts[0].(llm.Text)
	}
	if !plain || text.Refusal || len(text.Citations) > 0 || !text.State.IsZero() || len(text.Extra) > 0 {
		o.any("result", r, true)
		return
	}
	o.open("result", "{")
	o.textAlways("call_id", r.CallID)
	o.flag("failed", r.Failed)
	o.text("name", r.Name)
	o.open("parts", "[{")
	o.textAlways("text", text.Text)
	o.word("type", "text")
	o.b = append(o.b, "}]}"...)
}
