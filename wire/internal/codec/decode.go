package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// Counts reads the known counters of an object and returns the others.
func (d *Decoder) Counts(v []byte, known map[string]*int) []byte {
	if !d.Object(v) {
		return nil
	}
	var rest Fields
	for key, val := range js.Members(v) {
		if n, ok := known[string(key)]; ok {
			*n = d.Tokens(val)
		} else {
			rest.Add(key, val)
		}
	}
	return rest.Object()
}

// Flag reads a boolean that may be absent.
func (d *Decoder) Flag(v []byte) *bool {
	if js.Kind(v) == 'n' {
		return nil
	}
	b := d.Boolean(v)
	return &b
}

// Decoder reads one body. Values are slices of the body, which lets errors report their path. The first error stays,
// and null counts as absent.
type Decoder struct {
	Host        Host
	Body        []byte
	Err         error
	IsRequest   bool // it is a request
	OneDocument bool // it is an answer that is one document

	Surrogates bool // the document may have escapes of surrogates

	ends *js.Ends // of a large document
}

// Valid reports whether a document is JSON.
func (d *Decoder) Valid(v []byte) (ok bool) {
	ok, d.Surrogates, d.ends = js.CheckEnds(v)
	return ok
}

// Args reads the arguments of a call in a format that has only objects. Some languages write an empty object as an
// empty list. Other values are an error in a request. In an answer they are the model's mistake, and the caller
// decides.
func (d *Decoder) Args(v []byte) json.RawMessage {
	switch kind := js.Kind(v); {
	case kind == '[' && len(js.Trim(js.Trim(v)[1:])) == 1:
		return json.RawMessage("{}")
	case d.IsRequest && kind != '{' && kind != 'n':
		d.Want(v, "an object")
	}
	return d.Raw(v)
}

// read returns what a format is to read of a body. Formats of this package are
// JSON; others may be anything.
func (d *Decoder) read(body []byte) ([]byte, bool) {
	if d.Host.Custom {
		return body, true
	}
	return d.document(body)
}

// document checks a whole body once. Its parts need no further check.
func (d *Decoder) document(body []byte) ([]byte, bool) {
	v := js.Trim(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch {
	case d.IsRequest && !utf8.Valid(v):
		d.Err = errors.New(d.whole() + " is not UTF-8")
	case !d.Valid(v):
		d.Err = errors.New(d.whole() + " " + syntaxProblem(v))
	case js.Kind(v) != '{':
		d.Err = errors.New(d.whole() + " is not a JSON object")
	}
	return v, d.Err == nil
}

// whole returns the name of the body for error messages.
func (d *Decoder) whole() string {
	if d.IsRequest {
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

// Want notes that v is not what it should be.
func (d *Decoder) Want(v []byte, what string) {
	if d.Err != nil {
		return
	}
	path := js.Path(d.Body, cap(d.Body)-cap(v))
	if path == "" {
		path = d.whole()
	}
	d.Err = fmt.Errorf("%s must be %s", path, what)
}

func (d *Decoder) Is(v []byte, kind byte, what string) bool {
	switch js.Kind(v) {
	case kind:
		return true
	case 'n', 0:
	default:
		d.Want(v, what)
	}
	return false
}

func (d *Decoder) Str(v []byte) string {
	if !d.Is(v, '"', "a string") {
		return ""
	}
	return js.Text(v)
}

func (d *Decoder) Integer(v []byte) int {
	if !d.Is(v, '0', "an integer") {
		return 0
	}
	n, ok := js.Int(v)
	if !ok || int64(int(n)) != n {
		d.Want(v, "an integer")
	}
	return int(n)
}

// Tokens reads a token count. A value that is not an integer counts as 0, because the answer is still useful.
func (d *Decoder) Tokens(v []byte) int {
	n, ok := js.Int(v)
	if !ok || int64(int(n)) != n {
		return 0
	}
	return int(n)
}

func (d *Decoder) Float(v []byte) *float64 {
	if !d.Is(v, '0', "a number") {
		return nil
	}
	var f float64
	if json.Unmarshal(v, &f) != nil {
		d.Want(v, "a number")
	}
	return &f
}

func (d *Decoder) Boolean(v []byte) bool {
	switch js.Kind(v) {
	case 't':
		return true
	case 'f', 'n', 0:
	default:
		d.Want(v, "true or false")
	}
	return false
}

// Raw returns a copy of v, and nil for null.
func (d *Decoder) Raw(v []byte) json.RawMessage {
	if js.Kind(v) == 'n' || len(v) == 0 {
		return nil
	}
	return bytes.Clone(v)
}

func (d *Decoder) Object(v []byte) bool { return d.Is(v, '{', "an object") }

func (d *Decoder) Array(v []byte) bool { return d.Is(v, '[', "an array") }

// Decoders of requests use only Members, Elements, Get and Text. These report a value of the wrong kind as an error
// with its path. Answers are read leniently, because the client did not write them.

// AskObject reports a value of a request that is not an object, and returns the iterator over it. It is not inlined, to
// let its callers be inlined; see TestAllocations of package wire.
//
//go:noinline
func (d *Decoder) AskObject(v []byte) *js.Ends {
	if d.IsRequest {
		d.Object(v)
	}
	return d.ends
}

// askArray is [Decoder.AskObject] for an array.
//
//go:noinline
func (d *Decoder) askArray(v []byte) *js.Ends {
	if d.IsRequest {
		d.Array(v)
	}
	return d.ends
}

// Members yields the members of an object.
func (d *Decoder) Members(v []byte) iter.Seq2[[]byte, []byte] {
	return d.AskObject(v).Members(v)
}

// Elements yields the elements of an array.
func (d *Decoder) Elements(v []byte) iter.Seq[[]byte] {
	return d.askArray(v).Elements(v)
}

// Get returns a member of an object, and nil if it has none of that name.
func (d *Decoder) Get(v []byte, key string) []byte {
	return d.AskObject(v).Get(v, key)
}

// Text reads a string.
func (d *Decoder) Text(v []byte) string {
	if d.IsRequest {
		return d.Str(v)
	}
	return js.Text(v)
}

// OneOf reports whether a value is of one of some kinds, as [js.Kind] names them. A request that has another is
// refused; null and nothing are none of them.
func (d *Decoder) OneOf(v []byte, kinds, what string) bool {
	kind := js.Kind(v)
	if kind == 0 || kind == 'n' {
		return false
	}
	known := strings.IndexByte(kinds, kind) >= 0
	if !known && d.IsRequest {
		d.Want(v, what)
	}
	return known
}

// Schema reads a schema, which is an object; some languages write an empty one as an empty list.
func (d *Decoder) Schema(v []byte) json.RawMessage { return d.Args(v) }

// Objects yields the objects of an array. Whatever else is there is an error.
func (d *Decoder) Objects(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !d.Array(v) {
			return
		}
		for el := range d.ends.Elements(v) {
			if d.Element(el, '{', "an object") && !yield(el) {
				return
			}
		}
	}
}

// Strings reads an array of strings; a lone string is an array of one.
func (d *Decoder) Strings(v []byte) []string {
	if js.Kind(v) == '"' {
		return []string{js.Text(v)}
	}
	if !d.Array(v) {
		return nil
	}
	list := []string{}
	for el := range js.Elements(v) {
		if d.Element(el, '"', "a string") {
			list = append(list, js.Text(el))
		}
	}
	return list
}

// Element is is for an element of a list: null in a list of a request is a mistake, and not an absent member.
func (d *Decoder) Element(v []byte, kind byte, what string) bool {
	if d.IsRequest && js.Kind(v) == 'n' {
		d.Want(v, what)
	}
	return d.Is(v, kind, what)
}

// Data reads base64 in any of its four spellings.
func (d *Decoder) Data(v []byte) []byte {
	s := d.Str(v)
	b, ok := DecodeBase64(s)
	if !ok {
		d.Want(v, "base64")
	}
	return b
}

func DecodeBase64(s string) ([]byte, bool) {
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

// Extra keeps a field that only this format knows. Null says nothing, and what
// every chunk of a stream repeats is kept once.
func (d *Decoder) Extra(x *llm.Extra, key, v []byte) {
	if len(key) > 0 && key[0] == loss.NestedMark[0] { // a name, and no place
		key = []byte(loss.NestedMark + loss.PointerEscape.Replace(string(key)))
	}
	if js.Kind(v) == 'n' || bytes.Equal((*x)[d.Host.Format][string(key)], v) {
		return
	}
	d.ExtraField(x, string(key), v)
}

func (d *Decoder) ExtraField(x *llm.Extra, key string, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	if *x == nil {
		*x = make(llm.Extra)
	}
	if (*x)[d.Host.Format] == nil {
		(*x)[d.Host.Format] = make(map[string]json.RawMessage)
	}
	(*x)[d.Host.Format][key] = bytes.Clone(v)
}

// State keeps what only this vendor can read.
func (d *Decoder) State(data []byte) llm.State {
	return llm.State{Vendor: d.Host.Vendor, Data: bytes.Clone(data)}
}

// Opaque keeps a block of a type that is not known, at its place.
func (d *Decoder) Opaque(v []byte) llm.Text { return llm.Text{State: d.State(v)} }

// Fields collects members that are not understood, to be kept together.
type Fields struct{ W js.Writer }

func (f *Fields) Add(key, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	if f.W.Buf == nil {
		f.W.Object()
	}
	f.W.AnyKey(string(key))
	f.W.Raw(v)
}

// Object returns the members as an object, and nil if there are none.
func (f *Fields) Object() []byte {
	if f.W.Buf == nil {
		return nil
	}
	f.W.End()
	return f.W.Buf
}

// CamelCase returns a name in camel case. It allocates only where the name is
// written otherwise.
func CamelCase(key []byte) []byte {
	if bytes.IndexByte(key, '_') < 0 {
		return key
	}
	out := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		if key[i] == '_' && i+1 < len(key) {
			i++
			out = append(out, bytes.ToUpper(key[i:i+1])...)
		} else {
			out = append(out, key[i])
		}
	}
	return out
}

// ToolFound says to models of others that a tool was found. They are offered it anyway.
func ToolFound(name string) string { return "The tool " + name + " can be called now." }

func OnlyKey(v []byte, key string) bool {
	for k := range js.Members(v) {
		if string(k) != key {
			return false
		}
	}
	return true
}

// NewDecoder returns the decoder of a request.
func NewDecoder(h Host, body []byte) *Decoder { return &Decoder{Host: h, Body: body, IsRequest: true} }

// ReadRequest decodes a request.
func (d *Decoder) ReadRequest() (req *llm.Request, stream bool) {
	req = new(llm.Request)
	if v, ok := d.read(d.Body); ok {
		stream = d.Host.Impl.DecodeRequest(d, v, req)
		d.countSurrogates(v, req)
		flattenNames(req)
		turns.NameResults(req.Messages)
	}
	return req, stream
}

// countSurrogates notes that a request has halves of pairs.
func (d *Decoder) countSurrogates(body []byte, req *llm.Request) {
	if !d.Surrogates {
		return
	}
	if js.Halves(body) > 0 {
		d.ExtraField(&req.Extra, surrogatesField, strconv.AppendInt(nil, int64(replacements(body)), 10))
	}
}
