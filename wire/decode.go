package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// decoder reads one body. Values are slices of the body, so that an error can
// say where it is. The first error sticks, and null counts as absent.
type decoder struct {
	c      host
	body   []byte
	err    error
	asking bool // it is a request
	entire bool // it is an answer that is one document

	surrogates bool // the document may have escapes of surrogates

	ends *js.Ends // of a large document
}

// valid reports whether a document is JSON.
func (d *decoder) valid(v []byte) (ok bool) {
	ok, d.surrogates, d.ends = js.CheckEnds(v)
	return ok
}

// args reads the arguments of a call in a format that has objects only. Some
// languages write an empty object as an empty list. Other values are refused in a
// request; in an answer they are the model's, and whoever runs the call judges.
func (d *decoder) args(v []byte) json.RawMessage {
	switch kind := js.Kind(v); {
	case kind == '[' && len(js.Trim(js.Trim(v)[1:])) == 1:
		return json.RawMessage("{}")
	case d.asking && kind != '{' && kind != 'n':
		d.want(v, "an object")
	}
	return d.raw(v)
}

// read returns what a format is to read of a body. Formats of this package are
// JSON; others may be anything.
func (d *decoder) read(body []byte) ([]byte, bool) {
	if d.c.own {
		return body, true
	}
	return d.document(body)
}

// document checks a body once, so that nobody has to check its parts again.
func (d *decoder) document(body []byte) ([]byte, bool) {
	v := js.Trim(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch {
	case d.asking && !utf8.Valid(v):
		d.err = errors.New(d.whole() + " is not UTF-8")
	case !d.valid(v):
		d.err = errors.New(d.whole() + " " + syntaxProblem(v))
	case js.Kind(v) != '{':
		d.err = errors.New(d.whole() + " is not a JSON object")
	}
	return v, d.err == nil
}

// whole is what a body is for people: whose it is decides who has to mend it.
func (d *decoder) whole() string {
	if d.asking {
		return "the body of the request"
	}
	return "the body of the answer"
}

// syntaxProblem says where a text stops being JSON.
func syntaxProblem(v []byte) string {
	var any json.RawMessage
	err := json.Unmarshal(v, &any)
	var syntax *json.SyntaxError
	switch {
	case len(v) == 0:
		return "is empty"
	case errors.As(err, &syntax):
		return fmt.Sprintf("is not JSON: %v at byte %d", err, syntax.Offset)
	}
	return fmt.Sprintf("is not JSON: %v", err)
}

// want notes that v is not what it should be.
func (d *decoder) want(v []byte, what string) {
	if d.err != nil {
		return
	}
	path := js.Path(d.body, cap(d.body)-cap(v))
	if path == "" {
		path = d.whole()
	}
	d.err = fmt.Errorf("%s must be %s", path, what)
}

func (d *decoder) is(v []byte, kind byte, what string) bool {
	switch js.Kind(v) {
	case kind:
		return true
	case 'n', 0:
	default:
		d.want(v, what)
	}
	return false
}

func (d *decoder) str(v []byte) string {
	if !d.is(v, '"', "a string") {
		return ""
	}
	return js.Text(v)
}

func (d *decoder) integer(v []byte) int {
	if !d.is(v, '0', "an integer") {
		return 0
	}
	n, ok := js.Int(v)
	if !ok || int64(int(n)) != n {
		d.want(v, "an integer")
	}
	return int(n)
}

// tokens reads a count of what was used. One that is no whole number is none: the answer is not worth less for it.
func (d *decoder) tokens(v []byte) int {
	n, ok := js.Int(v)
	if !ok || int64(int(n)) != n {
		return 0
	}
	return int(n)
}

func (d *decoder) float(v []byte) *float64 {
	if !d.is(v, '0', "a number") {
		return nil
	}
	var f float64
	if json.Unmarshal(v, &f) != nil {
		d.want(v, "a number")
	}
	return &f
}

func (d *decoder) boolean(v []byte) bool {
	switch js.Kind(v) {
	case 't':
		return true
	case 'f', 'n', 0:
	default:
		d.want(v, "true or false")
	}
	return false
}

// raw returns a copy of v, and nil for null.
func (d *decoder) raw(v []byte) json.RawMessage {
	if js.Kind(v) == 'n' || len(v) == 0 {
		return nil
	}
	return bytes.Clone(v)
}

func (d *decoder) object(v []byte) bool { return d.is(v, '{', "an object") }
func (d *decoder) array(v []byte) bool  { return d.is(v, '[', "an array") }

// Requests are read through members, elements, get and text alone: a value that is there and is of another
// kind than the one that is read is an error that names it, and never passed over. Answers are read as far as they can
// be: their client did not write them.

// askObject refuses a value of a request that is there and is no object, and returns how to walk it. It is not inlined,
// so that those who call it can be.
//
//go:noinline
func (d *decoder) askObject(v []byte) *js.Ends {
	if d.asking {
		d.object(v)
	}
	return d.ends
}

// askArray is askObject for an array.
//
//go:noinline
func (d *decoder) askArray(v []byte) *js.Ends {
	if d.asking {
		d.array(v)
	}
	return d.ends
}

// members yields the members of an object.
func (d *decoder) members(v []byte) iter.Seq2[[]byte, []byte] {
	return d.askObject(v).Members(v)
}

// elements yields the elements of an array.
func (d *decoder) elements(v []byte) iter.Seq[[]byte] {
	return d.askArray(v).Elements(v)
}

// get returns a member of an object, and nil if it has none of that name.
func (d *decoder) get(v []byte, key string) []byte {
	return d.askObject(v).Get(v, key)
}

// text reads a string.
func (d *decoder) text(v []byte) string {
	if d.asking {
		return d.str(v)
	}
	return js.Text(v)
}

// oneOf reports whether a value is of one of some kinds, as [js.Kind] names them. A request that has another is
// refused; null and nothing are none of them.
func (d *decoder) oneOf(v []byte, kinds, what string) bool {
	kind := js.Kind(v)
	if kind == 0 || kind == 'n' {
		return false
	}
	known := strings.IndexByte(kinds, kind) >= 0
	if !known && d.asking {
		d.want(v, what)
	}
	return known
}

// schema reads a schema, which is an object; some languages write an empty one as an empty list.
func (d *decoder) schema(v []byte) json.RawMessage { return d.args(v) }

// objects yields the objects of an array. Whatever else is there is an error.
func (d *decoder) objects(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !d.array(v) {
			return
		}
		for el := range d.ends.Elements(v) {
			if d.element(el, '{', "an object") && !yield(el) {
				return
			}
		}
	}
}

// strings reads an array of strings; a lone string is an array of one.
func (d *decoder) strings(v []byte) []string {
	if js.Kind(v) == '"' {
		return []string{js.Text(v)}
	}
	if !d.array(v) {
		return nil
	}
	list := []string{}
	for el := range js.Elements(v) {
		if d.element(el, '"', "a string") {
			list = append(list, js.Text(el))
		}
	}
	return list
}

// element is is for an element of a list: null in a list of a request is a mistake, and not an absent member.
func (d *decoder) element(v []byte, kind byte, what string) bool {
	if d.asking && js.Kind(v) == 'n' {
		d.want(v, what)
	}
	return d.is(v, kind, what)
}

// data reads base64 in any of its four spellings.
func (d *decoder) data(v []byte) []byte {
	s := d.str(v)
	b, ok := unbase64(s)
	if !ok {
		d.want(v, "base64")
	}
	return b
}

func unbase64(s string) ([]byte, bool) {
	s = strings.TrimRight(s, "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(s)
	if len(b) == 0 {
		b = nil
	}
	return b, err == nil
}

// extra keeps a field that only this format knows. Null says nothing, and what
// every chunk of a stream repeats is kept once.
func (d *decoder) extra(x *llm.Extra, key, v []byte) {
	if len(key) > 0 && key[0] == nestedMark[0] { // a name, and no place
		key = []byte(nestedMark + pointerEscape.Replace(string(key)))
	}
	if js.Kind(v) == 'n' || bytes.Equal((*x)[d.c.Format][string(key)], v) {
		return
	}
	d.extraNamed(x, string(key), v)
}

func (d *decoder) extraNamed(x *llm.Extra, key string, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	if *x == nil {
		*x = make(llm.Extra)
	}
	if (*x)[d.c.Format] == nil {
		(*x)[d.c.Format] = make(map[string]json.RawMessage)
	}
	(*x)[d.c.Format][key] = bytes.Clone(v)
}

// state keeps what only this vendor can read.
func (d *decoder) state(data []byte) llm.State {
	return llm.State{Vendor: d.c.Vendor, Data: bytes.Clone(data)}
}

// opaque keeps a block of a type that is not known, at its place.
func (d *decoder) opaque(v []byte) llm.Text { return llm.Text{State: d.state(v)} }

// fields collects members that are not understood, to be kept together.
type fields struct{ w js.Writer }

func (f *fields) add(key, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	if f.w.Buf == nil {
		f.w.Object()
	}
	f.w.AnyKey(string(key))
	f.w.Raw(v)
}

// object returns the members as an object, and nil if there are none.
func (f *fields) object() []byte {
	if f.w.Buf == nil {
		return nil
	}
	f.w.End()
	return f.w.Buf
}
