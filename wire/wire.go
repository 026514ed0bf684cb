// Package wire translates between package llm and the formats of vendors: OpenAI Chat Completions, OpenAI Responses,
// Anthropic Messages, Gemini generateContent, Ollama chat and Amazon Bedrock Converse. It reads and writes requests,
// answers, streams and errors. The same code serves a client of a vendor and a server that imitates the vendor.
//
// It does not use a network, validate arguments or retry. It repairs mistakes of a stream in its own calls and reports
// them in warnings.
//
// # Nothing is lost
//
// Data of a format that package llm lacks is kept: unknown fields in [llm.Extra], and data that only the vendor can
// read (signatures, encrypted thinking, blocks of unknown type) in [llm.State]. Both go back to their origin unchanged.
// A field that another format has with the same meaning is moved to its place there; other fields are not. Data that a
// target cannot carry is a warning. Data that is dangerous to drop is an error.
package wire

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/converse"
	"github.com/toolpost/toolpost/wire/internal/gemini"
	"github.com/toolpost/toolpost/wire/internal/messages"
	"github.com/toolpost/toolpost/wire/internal/ollama"
	"github.com/toolpost/toolpost/wire/internal/responses"
)

// Codec translates one format. It is a value: copy it and set its fields. A
// field left at zero follows the rules of the vendor who made the format. A
// Codec is safe for concurrent use.
type Codec struct {
	// Format is one of the constants above. With Own it may be left out.
	Format string
	// Own is a format that this package does not have.
	Own format.Format
	// Vendor labels opaque state. Decoding adds the label, and only state with this label is encoded. Empty means
	// Format.
	Vendor string
	// Calls is how many calls the conversation holds already. Ids minted for
	// an answer without ids count on from there.
	Calls int
	// Quirks are where a host differs from the vendor who made the format.
	Quirks format.Quirks

	names   *codec.Namespaces // of the request that is answered
	request *llm.Request      // that is answered, if it is known
}

// For returns the codec of a format.
func For(format string) (Codec, bool) {
	_, ok := all.Find(format)
	return Codec{Format: format}, ok
}

// Formats returns the names of all formats.
func Formats() []string {
	names := make([]string, len(all.Formats))
	for i, f := range all.Formats {
		names[i] = f.Properties().Name
	}
	return names
}

// all is the list of formats. A new one is a package and a line here.
var all = codec.NewRegistry(chat.Format{}, responses.Format{}, messages.Format{}, gemini.Format{}, ollama.Format{}, converse.Format{})

// name returns the name of the format.
func (c *Codec) name() string {
	if c.Own != nil {
		return ownName(c.Own)
	}
	return c.Format
}

func ownName(f format.Format) string { return f.Properties().Name }

// host returns the host that the codec describes. An error names the formats.
func (c *Codec) host(op string) (h codec.Host, err error) {
	err = c.fill(&h, op)
	return h, err
}

// fill sets the fields of a host one by one: copies of a host would be held on the stacks of streams.
func (c *Codec) fill(h *codec.Host, op string) error {
	h.Format = c.name()
	h.Vendor, h.Calls, h.Quirks = cmp.Or(c.Vendor, h.Format), c.Calls, c.Quirks
	h.Registry, h.Names, h.Request = all, c.names, c.request
	if c.Own != nil {
		h.Custom, h.Impl = true, codec.Custom{Impl: c.Own}
		return nil
	}
	if f, ok := all.Find(h.Format); ok {
		h.Impl = f
		return nil
	}
	return unknownFormat(op, h.Format)
}

func unknownFormat(op, name string) error {
	h := codec.Host{Format: name}
	return h.Fail(op, llm.Invalid, fmt.Errorf("no format is called %q; there are %q", name, Formats()))
}

// StreamType returns the media type of the format's streams.
func (c Codec) StreamType() string {
	return c.Properties().StreamType
}

// EncodeRequest returns req as the body of a request. The warnings list data that the format cannot carry. Options of
// hosted tools that cannot be carried are an error of kind llm.Unsupported: a domain filter must not be dropped.
func (c Codec) EncodeRequest(req *llm.Request, stream bool) ([]byte, []llm.Warning, error) {
	h, err := c.host("EncodeRequest")
	if err != nil {
		return nil, nil, err
	}
	h.Names, h.Request = codec.NamespacesOf(req), req
	e := codec.NewEncoder(h)
	if req.N > 1 && !h.Impl.Properties().Has(format.SeveralAnswers) {
		e.Lost(llm.Ignored, "n", codec.OneAnswer)
	}
	if c.Own == nil {
		req = e.ShareFields(req, stream)
	}
	h.Impl.EncodeRequest(&e, req, stream)
	if c.Own == nil {
		e.NoteForeign(req)
		e.LostSurrogates(req)
	}
	return e.Result("EncodeRequest")
}

// DecodeRequest reads the body of a request and reports whether it asks for a
// stream. Results have the names of the calls they answer. An error is of
// kind llm.Invalid and names the field.
func (c Codec) DecodeRequest(body []byte) (req *llm.Request, stream bool, err error) {
	h, err := c.host("DecodeRequest")
	if err != nil {
		return nil, false, err
	}
	d := codec.NewDecoder(h, body)
	req, stream = d.ReadRequest()
	if d.Err != nil {
		return nil, false, d.Host.Fail("DecodeRequest", llm.Invalid, d.Err)
	}
	return req, stream, nil
}

// EncodeResponse returns a whole answer as the body of a response.
func (c Codec) EncodeResponse(r *llm.Response) ([]byte, []llm.Warning, error) {
	h, err := c.host("EncodeResponse")
	if err != nil {
		return nil, nil, err
	}
	e := codec.NewEncoder(h)
	e.Answering = true
	if len(r.Alternatives) > 0 && !h.Impl.Properties().Has(format.SeveralAnswers) {
		e.Lost(llm.Ignored, "n", codec.OneAnswer)
	}
	for _, t := range codec.TextsOf(r.Message.Parts) {
		e.OwnLogProbs(t.LogProbs)
	}
	for _, u := range r.Unknown {
		e.Lost(llm.Ignored, u.Type, "a whole answer has no place for an unknown event")
	}
	h.Impl.EncodeResponse(&e, e.ShareFinish(h.Identified(r)))
	if c.Own == nil {
		e.ForeignParts(r.Message.Parts)
		for _, o := range r.Alternatives {
			e.ForeignParts(o.Message.Parts)
		}
	}
	return e.Result("EncodeResponse")
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
	a := codec.NewAnswer(&h, func(ev llm.Event) bool { b.Add(ev); return true })
	err = a.DecodeWhole("DecodeResponse", body)
	return b.Response(), err
}

// DecodeEvents is DecodeResponse for a reader of events. They end with an llm.Finish unless there is an error. Mended
// means that the events differ from the body: a call got another id or index, or its arguments were repaired. A server
// that forwards the body should encode it again.
func (c Codec) DecodeEvents(body []byte) (events []llm.Event, mended bool, err error) {
	h, err := c.host("DecodeEvents")
	if err != nil {
		return nil, false, err
	}
	events = make([]llm.Event, 0, 8)
	a := codec.NewAnswer(&h, func(ev llm.Event) bool {
		events = append(events, ev)
		return true
	})
	err = a.DecodeWhole("DecodeEvents", body)
	return events, a.WasChanged(), err
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
		a := codec.NewAnswer(&h, func(ev llm.Event) bool { return yield(ev, nil) })
		if h.Quirks.Framed {
			src = codec.FromFrames(src)
		}
		a.Verbatim = asSent
		err = h.Impl.DecodeStream(a, src)
		if err != nil {
			a.CutOff()
			if !a.Stopped {
				yield(nil, h.WithKind("DecodeStream", err))
			}
			return
		}
		a.Conclude()
	}
}

// BrokenOff reports whether a finish reason of a vendor ([llm.Finish.Raw]) says that the answer is not complete although it
// reached no limit.
func BrokenOff(word string) bool { return all.Interrupted(word) }

// FinishFits reports whether the vendor's finish reason agrees with the answer: it has calls, or none. Decoders correct the
// reason, but not the vendor's word for it.
func (c Codec) FinishFits(f llm.Finish) bool {
	impl, known := all.Find(c.Format)
	if !known || f.Raw == "" || f.Reason != llm.Stop && f.Reason != llm.ToolCalls {
		return true
	}
	return impl.Words().FinishWord(f) == f.Raw
}

// EncodeError returns an error as the vendor would send it: the status and the body. A server adds the header Retry-After
// where err.RetryAfter is set, and the headers of [Codec.ErrorHeader].
func (c Codec) EncodeError(err *llm.Error) (status int, body []byte) {
	h, lookup := c.errorHost("EncodeError")
	if lookup != nil {
		return http.StatusInternalServerError, []byte(`{"error":{"message":"unknown format"}}`)
	}
	e := codec.NewEncoder(h)
	status = codec.ErrorStatus(err, h.Impl.Properties())
	h.Impl.EncodeError(&e, err, status)
	return status, e.Buf
}

// ErrorHeader returns the headers in which the vendor names the kind of an error, for servers that imitate it. Most formats
// have none: nil.
func (c Codec) ErrorHeader(err *llm.Error) http.Header {
	h, _ := c.errorHost("ErrorHeader")
	if f, ok := h.Impl.(codec.ErrorHeaders); ok {
		return f.ErrorHeader(all, err)
	}
	return nil
}

// ErrorsOf returns the name of the format in which the host sends errors: a model of one vendor may be served by another.
func (c Codec) ErrorsOf() string {
	h, err := c.errorHost("ErrorsOf")
	if err != nil {
		return ""
	}
	return h.Impl.Properties().Name
}

// errorHost returns the host with the format in which it sends errors.
func (c *Codec) errorHost(op string) (codec.Host, error) {
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
	return h.DecodeError(status, header, body)
}

// AskUsage returns the body of a streaming request that asks for usage, and whether that had to be added. Only servers of
// the chat format leave usage out unless the client asks for it.
func (c Codec) AskUsage(body []byte) (asking []byte, added bool) {
	h, _ := c.host("AskUsage")
	if f, ok := h.Impl.(codec.UsageOnRequest); ok {
		return f.AskUsage(body)
	}
	return body, false
}

// WithoutUsage returns complete events of a stream without the chunk that has only the usage, for a client that did not ask
// for it. In formats other than chat there is none.
func (c Codec) WithoutUsage(events []byte) []byte {
	h, _ := c.host("WithoutUsage")
	if f, ok := h.Impl.(codec.UsageOnRequest); ok {
		return f.WithoutUsage(events)
	}
	return events
}

// Defines reports whether the vendor of the format defines a client tool by its type. Such a tool is sent without a
// description or schema.
func (c Codec) Defines(t llm.ToolDef) bool {
	h, _ := c.host("Defines")
	f, ok := h.Impl.(codec.ToolDefiner)
	return ok && f.Defines(t)
}

// DefineTools adds descriptions and schemas to tools that another vendor defines by type. Call it before schemas are
// narrowed or tools are taught in a prompt. [Codec.EncodeRequest] and [Uncarried] return the warnings about it. The given
// tools are not changed.
func (c Codec) DefineTools(tools []llm.ToolDef) []llm.ToolDef {
	out := tools
	for _, f := range all.Formats {
		d, ok := f.(codec.ToolDefiner)
		if !ok || c.Own == nil && c.Format == f.Properties().Name {
			continue
		}
		for i, t := range tools {
			if len(t.Schema) > 0 || !d.Defines(t) {
				continue
			}
			if &out[0] == &tools[0] {
				out = slices.Clone(tools)
			}
			out[i] = d.Told(t)
		}
	}
	return out
}

// Relay copies the stream of an answer from src to dst, for a client that uses the upstream's format, and shows each
// event to observe before its bytes are written. If all decisions are [format.Pass], the bytes are copied unchanged. [format.Hold]
// and [format.Replace] act at the boundary of the event's frame (an event of the format's stream). A nil observe passes
// everything.
//
// The events are those of [Codec.DecodeStream], with four differences:
//   - An error of the upstream inside its stream is a [format.RelayFailure].
//   - Arguments of calls are not repaired, because the client gets the upstream's bytes. A call that DecodeStream would
//     repair is invalid here.
//   - The final frames are written after the decision about the llm.Finish.
//   - A [format.RelayTrailing] may follow the llm.Finish. Bytes after the end of an answer are dropped.
//
// Decided frames are written before Relay waits for more, and dst is flushed if it has a method Flush or FlushError.
//
// An error has the kind that DecodeStream gives it. Held frames are dropped, and the client gets the error in its
// format unless the upstream sent one. If nothing was written yet, nothing is written: the caller can still answer with
// another status.
//
// A document instead of a stream is written as a stream. So are the streams of a program's own [format.Format], and events in
// frames.
func (c *Codec) Relay(dst io.Writer, src io.Reader, observe func(llm.Event) format.RelayDecision) error {
	r := codec.NewRelay(dst, src, observe)
	if err := c.fill(r.Host(), "Relay"); err != nil {
		return err
	}
	return r.Run()
}

// StreamEncoder writes an answer as a stream of its format. It takes the events of package llm in any order that their
// contract allows. Parallel calls come out one after the other where the format demands it. It is not safe for concurrent
// use.
type StreamEncoder struct{ s *codec.Stream }

// NewStream returns an encoder that writes to w. Each event is one Write, so a server can flush after each.
func (c Codec) NewStream(w io.Writer, head format.Head) *StreamEncoder {
	h, err := c.host("NewStream")
	s := codec.NewStream(h, w, codec.StreamHead{Head: head})
	s.Err = err
	return &StreamEncoder{s}
}

// Write writes an event. The llm.Finish ends the stream. An llm.KeepAlive is written if the format has one. An llm.Retract
// ends the stream with an error. Events of unknown types are ignored. After a failed write all writes fail.
func (s *StreamEncoder) Write(ev llm.Event) error { return s.s.Write(ev) }

// Fail ends the stream with an error, as the vendor would send it.
func (s *StreamEncoder) Fail(err *llm.Error) error { return s.s.FailWith(err) }

// Warnings returns what the format could not carry so far.
func (s *StreamEncoder) Warnings() []llm.Warning { return s.s.E.Warnings }

// Answering returns a codec for the answer to req. Tools in a namespace of the Responses format have other names in req;
// answers in that format name both, and answers that are read are given the names of req.
func (c Codec) Answering(req *llm.Request) Codec {
	c.names, c.request = codec.NamespacesOf(req), req
	return c
}

// WithNamespaces returns messages whose calls name their tools as the client does, with the namespace. Store messages in this form:
// a later request may have other names for the same tools. [Codec.WithoutNamespaces] is the reverse.
func (c Codec) WithNamespaces(messages []llm.Message) []llm.Message {
	return c.names.WithNamespaces(messages)
}

// WithoutNamespaces returns messages of [Codec.WithNamespaces] with the names that their tools have in the request which the codec answers.
// Results have the names of their calls, even if several calls have the same id.
func (c Codec) WithoutNamespaces(messages []llm.Message) []llm.Message {
	return c.names.WithoutNamespaces(messages)
}

// MergePieces returns the messages of a client with consecutive pieces of the model's text merged, and of its thinking too, where
// nothing belongs to one piece alone. Clients of streams send a text back in the pieces in which it came. It is for servers
// that use another format upstream than the client's. Where a turn is a list of items, their texts stay separate. The
// messages are not changed.
func (c Codec) MergePieces(messages []llm.Message) []llm.Message {
	if c.Properties().Items {
		return messages
	}
	return history.MergePieces(messages)
}

// Portable returns req without the hosted tools that the format cannot express, with a warning for each. It is for servers
// that pass on the tools of clients of another vendor. A program that offers a hosted tool itself gets an error from
// [Codec.EncodeRequest] instead. The request is not changed.
func (c Codec) Portable(req *llm.Request) (*llm.Request, []llm.Warning) {
	return loss.WithoutHosted(req, func(t llm.ToolDef) error {
		_, _, err := c.EncodeRequest(&llm.Request{Model: req.Model, Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolDef{t}, MaxTokens: 1}, false)
		if llm.KindOf(err) != llm.Unsupported {
			return nil
		}
		return err
	})
}

// Uncarried returns a warning for each extra field of the tools, messages and parts of req that sent, which was made from req,
// does not have. It is for requests in which tools, calls and results become prose. Media, thinking, citations and parts
// that only a vendor can read are reported too.
func Uncarried(req, sent *llm.Request) []llm.Warning { return loss.Uncarried(req, sent, all.Describe) }

// Properties returns the properties of the codec's format at its host, and the
// zero value if there is no such format.
func (c Codec) Properties() format.Properties {
	if c.Own == nil && c.Quirks.Path == "" && !c.Quirks.Framed && c.Quirks.ModelFields == "" {
		if f, ok := all.Find(c.Format); ok {
			return *f.Properties()
		}
	}
	return c.propertiesAtHost()
}

// propertiesAtHost returns the properties of a format that depend on its host.
func (c *Codec) propertiesAtHost() format.Properties {
	h, err := c.host("Properties")
	if err != nil {
		return format.Properties{}
	}
	return h.Properties()
}

// Server describes the HTTP API of the vendor's servers: paths, lists of models, stored answers. Without such a format
// it has no routes. Callers must not change it.
func (c Codec) Server() *serverapi.ServerAPI {
	if f, ok := all.Find(c.Format); ok && c.Own == nil {
		if described, ok := f.(codec.ServerDescriber); ok {
			return described.Server()
		}
	}
	return new(serverapi.ServerAPI)
}
