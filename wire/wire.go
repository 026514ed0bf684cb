// Package wire translates between package llm and the formats that vendors
// speak: OpenAI Chat Completions, OpenAI Responses, Anthropic Messages, Gemini
// generateContent, Ollama chat and Amazon Bedrock Converse. It reads and writes requests, answers,
// streams and errors, so that the same code serves a client of a vendor and a
// server that looks like the vendor.
//
// It knows no network, validates no arguments and retries nothing. It repairs
// what a stream gets wrong about its own calls and says so in warnings.
//
// # Nothing is lost
//
// What a format can say and package llm can not is kept: fields that only the
// format knows in [llm.Extra], and what only the vendor can read (signatures,
// encrypted thoughts, blocks of an unknown type) in [llm.State]. Both go back
// where they came from, untouched. A field that another format has, too, with
// the same meaning, goes to its place there; everything else stays at home.
// What a target cannot carry is a warning; what would be dangerous to drop is an error.
package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// The formats.
const (
	Chat      = "chat"      // OpenAI Chat Completions and all that copy it
	Responses = "responses" // OpenAI Responses
	Messages  = "messages"  // Anthropic Messages
	Gemini    = "gemini"    // Gemini generateContent
	Ollama    = "ollama"    // Ollama chat
	Converse  = "converse"  // Amazon Bedrock Converse
)

// Codec translates one format. It is a value: copy it and set its fields. A
// field left at zero follows the rules of the vendor who made the format. A
// Codec is safe for concurrent use.
type Codec struct {
	// Format is one of the constants above. With Own it may be left out.
	Format string
	// Own is a format that this package does not have.
	Own Format
	// Vendor labels opaque state: what is decoded gets the label, and only
	// what has it is encoded. Empty means Format.
	Vendor string
	// Calls is how many calls the conversation holds already. Ids minted for
	// an answer without ids count on from there.
	Calls int
	// Quirks are where a host differs from the vendor who made the format.
	Quirks Quirks

	names   *namespaces  // of the request that is answered
	request *llm.Request // that is answered, if it is known
}

// Quirks are the differences between hosts of one format.
type Quirks struct {
	// MaxTokens is the field of the chat format that limits the answer; empty
	// means max_completion_tokens.
	MaxTokens string
	// SystemRole is the role of Request.System in the chat format; empty
	// means system.
	SystemRole string
	// Thinking is the field of the chat format in which the thinking of
	// earlier turns goes back, like reasoning_content. Empty means it stays
	// out of requests. Answers have it under this name too, or under
	// reasoning_content.
	Thinking string
	// ThinkingForCalls sends thinking back only in turns that hold calls.
	ThinkingForCalls bool
	// ThinkingParts sends thinking back in the content of the chat format, as
	// parts of their own in their place among the text, as Mistral has it.
	// Answers that have it there are read in any case.
	ThinkingParts bool
	// NoParallel leaves out the flag that forbids parallel calls.
	NoParallel bool
	// NoStrict leaves out the flag that holds a model to a schema.
	NoStrict bool
	// NoStreamUsage leaves out the chat option that asks for usage.
	NoStreamUsage bool
	// NoCallIDs leaves out the ids of calls where the format can do without:
	// Gemini and Ollama. Results are then matched by name and order.
	NoCallIDs bool
	// OpenAPISchema puts the schemas of tools where Gemini hosts expect the
	// vendor's older kind of schema. The caller has narrowed them.
	OpenAPISchema bool
	// Path and StreamPath are where a host takes requests that its maker
	// takes elsewhere; see [Properties]. What they say, the messages format
	// leaves out of the body: which model, and whether a stream is asked for.
	Path, StreamPath string
	// Version is what hosts of the messages format other than its maker want
	// as anthropic_version in the body.
	Version string
	// Framed says that the host is Amazon's, whose streams hold the events of
	// the messages format in frames and whose errors are its own.
	Framed bool
	// ModelFields is the maker whose names the converse format uses for what it
	// leaves to each model, like [AnthropicFields]. Empty means that the models
	// take nothing beyond the format.
	ModelFields string
	// TypedMessages writes what the assistant said in the long form of the
	// responses format, as an item with its type. llama.cpp takes no other.
	TypedMessages bool
	// Members are the members of requests that the host takes from clients of
	// other formats although package llm does not have them, like user and
	// cache_control, separated by spaces. Empty means those that the vendor who
	// made the format takes.
	Members string
	// Prompt says that requests of the Ollama format hold one prompt instead of messages, and
	// answers one text instead of a message.
	Prompt bool
}

// For returns the codec of a format.
func For(format string) (Codec, bool) {
	_, ok := all.find(format)
	return Codec{Format: format}, ok
}

// Formats returns the names of all formats.
func Formats() []string {
	names := make([]string, len(all.formats))
	for i, f := range all.formats {
		names[i] = f.properties().Name
	}
	return names
}

// format is what differs between vendors. Bounds, checks and the assembly of
// calls are shared.
type format interface {
	// properties returns the same value at every call. Callers must not change it.
	properties() *Properties
	words() *words
	// detects reports whether a JSON document is part of an answer.
	detects(doc []byte) bool
	encodeRequest(e *encoder, req *llm.Request, stream bool)
	decodeRequest(d *decoder, body []byte, req *llm.Request) (stream bool)
	encodeResponse(e *encoder, r *llm.Response)
	decodeResponse(d *decoder, body []byte, a *answer)
	// decodeStream feeds a stream to a, until it ends or fails.
	decodeStream(a *answer, src io.Reader) error
	newStream(e *encoder, head Head) streamEncoder
	encodeError(e *encoder, err *llm.Error, status int)
	// decodeError finds the vendor's code and words in the body of an error.
	decodeError(all *registry, body []byte) (code, message string)
}

// all is the list of formats. A new one is a package and a line here.
var all = newRegistry(chat{}, responses{}, messages{}, gemini{}, ollama{}, converse{})

// name returns the name of the format.
func (c *Codec) name() string {
	if c.Own != nil {
		return c.Own.Properties().Name
	}
	return c.Format
}

// host returns the host that the codec describes. An error names the formats.
func (c *Codec) host(op string) (host, error) {
	name := c.name()
	h := host{
		Format: name, Vendor: or(c.Vendor, name), Calls: c.Calls, Quirks: c.Quirks,
		all: all, names: c.names, request: c.request, own: c.Own != nil,
	}
	if c.Own != nil {
		h.impl = own{c.Own}
		return h, nil
	}
	f, ok := all.find(name)
	if !ok {
		return h, h.fail(op, llm.Invalid, fmt.Errorf("no format is called %q; there are %q", name, Formats()))
	}
	h.impl = f
	return h, nil
}

// StreamType returns the media type of the format's streams.
func (c Codec) StreamType() string {
	return c.Properties().StreamType
}

// EncodeRequest returns req as the body of a request. The warnings say what
// the format cannot carry. Options of hosted tools that cannot be carried are
// an error of kind llm.Unsupported: a domain filter must not be dropped.
func (c Codec) EncodeRequest(req *llm.Request, stream bool) ([]byte, []llm.Warning, error) {
	h, err := c.host("EncodeRequest")
	if err != nil {
		return nil, nil, err
	}
	h.names, h.request = namespacesOf(req), req
	e := &encoder{c: h}
	if req.N > 1 && !h.impl.properties().Has(SeveralAnswers) {
		e.lost(llm.Ignored, "n", oneAnswer)
	}
	if c.Own == nil {
		req = e.shared(req, stream)
	}
	h.impl.encodeRequest(e, req, stream)
	if c.Own == nil {
		e.foreign(req)
		e.lostHalves(req)
	}
	return e.result("EncodeRequest")
}

// oneAnswer is why there is only one where several were asked for.
const oneAnswer = "the format has one answer to a request"

// DecodeRequest reads the body of a request and reports whether it asks for a
// stream. Results have the names of the calls they answer. An error is of
// kind llm.Invalid and names the field.
func (c Codec) DecodeRequest(body []byte) (req *llm.Request, stream bool, err error) {
	h, err := c.host("DecodeRequest")
	if err != nil {
		return nil, false, err
	}
	d := newDecoder(h, body)
	req, stream = d.readRequest()
	if d.err != nil {
		return nil, false, d.c.fail("DecodeRequest", llm.Invalid, d.err)
	}
	return req, stream, nil
}

// newDecoder returns the decoder of a request.
func newDecoder(h host, body []byte) *decoder { return &decoder{c: h, body: body, asking: true} }

// readRequest decodes a request.
func (d *decoder) readRequest() (req *llm.Request, stream bool) {
	req = new(llm.Request)
	if v, ok := d.read(d.body); ok {
		stream = d.c.impl.decodeRequest(d, v, req)
		d.countHalves(v, req)
		flattenNames(req)
		nameResults(req.Messages)
	}
	return req, stream
}

// EncodeResponse returns a whole answer as the body of a response.
func (c Codec) EncodeResponse(r *llm.Response) ([]byte, []llm.Warning, error) {
	h, err := c.host("EncodeResponse")
	if err != nil {
		return nil, nil, err
	}
	e := &encoder{c: h, answering: true}
	if len(r.Alternatives) > 0 && !h.impl.properties().Has(SeveralAnswers) {
		e.lost(llm.Ignored, "n", oneAnswer)
	}
	for _, t := range textsOf(r.Message.Parts) {
		e.ownProbs(t.LogProbs)
	}
	for _, u := range r.Unknown {
		e.lost(llm.Ignored, u.Type, "a whole answer has no place for an event that nobody knows")
	}
	h.impl.encodeResponse(e, e.sharedEnd(h.identified(r)))
	if c.Own == nil {
		e.foreignParts(r.Message.Parts)
		for _, o := range r.Alternatives {
			e.foreignParts(o.Message.Parts)
		}
	}
	return e.result("EncodeResponse")
}

// DecodeResponse reads the body of a successful response. It goes through the
// same checks as a stream: the answer is what [llm.Builder] makes of the
// events of [Codec.DecodeStream]. With an error comes what could be read.
func (c Codec) DecodeResponse(body []byte) (*llm.Response, error) {
	h, err := c.host("DecodeResponse")
	if err != nil {
		return nil, err
	}
	var b llm.Builder
	a := newAnswer(&h, func(ev llm.Event) bool { b.Add(ev); return true })
	err = a.document("DecodeResponse", body)
	return b.Response(), err
}

// DecodeEvents is DecodeResponse for a reader of events. They end with an llm.Finish unless there is an
// error. Mended says that they are not quite what the body says: a call had to get another id or index, or its
// arguments had to be repaired. Whoever passes the body on should write it anew.
func (c Codec) DecodeEvents(body []byte) (events []llm.Event, mended bool, err error) {
	h, err := c.host("DecodeEvents")
	if err != nil {
		return nil, false, err
	}
	events = make([]llm.Event, 0, 8)
	a := newAnswer(&h, func(ev llm.Event) bool {
		events = append(events, ev)
		return true
	})
	err = a.document("DecodeEvents", body)
	return events, a.mended(), err
}

// DecodeStream reads the body of a streamed response. The stream of events
// keeps the promises of package llm: a call that was cut off arrives as an
// llm.InvalidCall, and an answer without its end as an error of kind
// llm.Incomplete. A server that answers with one JSON document instead of a
// stream is understood too. The caller closes src.
func (c Codec) DecodeStream(src io.Reader) iter.Seq2[llm.Event, error] {
	return c.decodeStream(src, false)
}

// decodeStream is DecodeStream. With asSent, arguments of calls leave as they
// come and are not repaired.
func (c Codec) decodeStream(src io.Reader, asSent bool) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		h, err := c.host("DecodeStream")
		if err != nil {
			yield(nil, err)
			return
		}
		a := newAnswer(&h, func(ev llm.Event) bool { return yield(ev, nil) })
		if h.Quirks.Framed {
			src = unframe(src)
		}
		a.asSent = asSent
		err = h.impl.decodeStream(a, src)
		if err != nil {
			a.cut()
			if !a.stopped {
				yield(nil, h.withKind("DecodeStream", err))
			}
			return
		}
		a.conclude()
	}
}

// callsByID returns the calls of a conversation by their ids.
func callsByID(messages []llm.Message) map[string]llm.Call {
	calls := make(map[string]llm.Call)
	for _, m := range messages {
		for _, c := range m.Calls() {
			calls[c.ID] = c
		}
	}
	return calls
}

// objectOf returns raw, and an empty object where there is none.
func objectOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// BrokenOff reports whether a finish reason of a vendor ([llm.Finish.Raw]) says that the answer is not complete although it
// reached no limit.
func BrokenOff(word string) bool { return all.interrupted(word) }

// FinishFits reports whether the vendor's finish reason agrees with the answer: it has calls, or none. Decoders correct the
// reason, but not the vendor's word for it.
func (c Codec) FinishFits(f llm.Finish) bool {
	impl, known := all.find(c.Format)
	if !known || f.Raw == "" || f.Reason != llm.Stop && f.Reason != llm.ToolCalls {
		return true
	}
	return impl.words().finishWord(f) == f.Raw
}

// EncodeError returns an error as the vendor would send it: the status and the body. A server adds the header Retry-After
// where err.RetryAfter is set, and the headers of [Codec.ErrorHeader].
func (c Codec) EncodeError(err *llm.Error) (status int, body []byte) {
	h, lookup := c.errorHost("EncodeError")
	if lookup != nil {
		return http.StatusInternalServerError, []byte(`{"error":{"message":"unknown format"}}`)
	}
	e := &encoder{c: h}
	status = errorStatus(err, h.impl.properties())
	h.impl.encodeError(e, err, status)
	return status, e.Buf
}

// ErrorHeader returns the headers in which the vendor names the kind of an error, for servers that imitate it. Most formats
// have none: nil.
func (c Codec) ErrorHeader(err *llm.Error) http.Header {
	h, _ := c.errorHost("ErrorHeader")
	if f, ok := h.impl.(interface {
		errorHeader(*registry, *llm.Error) http.Header
	}); ok {
		return f.errorHeader(all, err)
	}
	return nil
}

// ErrorsOf returns the name of the format in which the host sends errors: a model of one vendor may be served by another.
func (c Codec) ErrorsOf() string {
	h, err := c.errorHost("ErrorsOf")
	if err != nil {
		return ""
	}
	return h.impl.properties().Name
}

// errorHost returns the host with the format in which it sends errors.
func (c *Codec) errorHost(op string) (host, error) {
	if c.Quirks.Framed {
		amazon := Codec{Format: Converse, Vendor: c.Vendor, Quirks: c.Quirks}
		return amazon.host(op)
	}
	return c.host(op)
}

// DecodeError reads a response that is not a success. Status 0 is an error inside a stream; header may be nil. The kind
// comes from the vendor's code, its message and the status, in this order.
func (c Codec) DecodeError(status int, header http.Header, body []byte) *llm.Error {
	h, _ := c.host("DecodeError")
	return h.decodeError(status, header, body)
}
