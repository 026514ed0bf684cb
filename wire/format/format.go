// Package format is the vocabulary of a vendor format: its properties, the quirks of its hosts, the features of
// requests, and the interface that a program implements to add a format.
package format

import (
	"encoding/json"
	"io"

	"github.com/toolpost/toolpost/llm"
)

// Format is a format of a program's own. As wire.Codec.Own it is used like
// those of package wire: a codec adds the bounds, the assembly of calls and the
// promises of package llm about streams. llmtest.TestCodec checks the rest. A
// Format is safe for concurrent use.
//
// The opaque state that Format gets to encode is its own: the codec takes out
// what another vendor made.
type Format interface {
	// Properties returns the same value at every call. Callers must not change its maps and slices.
	Properties() Properties

	// EncodeRequest returns the body of a request, and a warning for each
	// thing the format cannot carry. What would be dangerous to drop, like a
	// filter of a hosted tool, is an error of kind llm.Unsupported.
	EncodeRequest(req *llm.Request, stream bool) (body []byte, lost []llm.Warning, err error)
	// DecodeRequest reads the body of a request. Where the properties say
	// that the path names the model, it need not know the model.
	DecodeRequest(body []byte) (req *llm.Request, stream bool, err error)

	// EncodeResponse returns the body of a whole answer.
	EncodeResponse(r *llm.Response) (body []byte, lost []llm.Warning, err error)
	// DecodeResponse reads the body of a whole answer and reports its contents
	// to a.
	DecodeResponse(body []byte, a *Answer) error

	// EncodeStream returns a writer for one answer.
	EncodeStream(head Head) EventWriter
	// DecodeStream reads a stream and reports its contents to a as they arrive.
	// It returns nil when the answer is whole, and as soon as a.Stopped.
	DecodeStream(src io.Reader, a *Answer) error

	// EncodeError returns the body of a response with the status.
	EncodeError(err *llm.Error, status int) []byte
	// DecodeError finds the code and the words in the body of an error.
	DecodeError(body []byte) (code, message string)
}

// EventWriter writes the events of one answer as a stream.
type EventWriter interface {
	// Event returns the bytes of the next event, which may be none. The
	// llm.Finish is the last one.
	Event(ev llm.Event) (chunk []byte, lost []llm.Warning, err error)
	// Fail returns the bytes that end the stream with an error.
	Fail(err *llm.Error) []byte
}

// Answer takes the contents of an answer from a [Format]. The codec makes the events of package llm from it. It adds
// missing call ids, keeps parallel calls apart and corrects a finish reason that contradicts the answer. It never
// delivers a truncated call as a complete one.
type Answer struct{ Sink }

// Sink receives the contents of an answer, in order. The codec implements it; a test of a Format may use its own.
type Sink interface {
	// Start reports the metadata of the answer before its first piece. It is optional: without it the codec uses the
	// values of Finish.
	Start(s llm.Start)
	// Text adds a piece of text.
	Text(s string)
	// Refusal adds a piece of a text in which the model declines to answer.
	Refusal(s string)
	// Thinking adds a piece of thinking.
	Thinking(s string)
	// SignThinking attaches the vendor's opaque state to the thinking so far. It is sent back with it; data is JSON.
	SignThinking(data []byte)
	// Media adds an image, audio or a document.
	Media(m llm.Media)
	// Call adds a piece of a call. The id decides which call a piece belongs to, then the index and the order. Leave out what
	// the format does not have; the index is then -1. The pieces of args, joined, are one JSON object.
	Call(index int, id, name, args string)
	// EndCalls reports that the calls so far are complete: a limit reached later did not truncate them.
	EndCalls()
	// Finish reports why the model stopped. From then on the answer is complete, even if the stream breaks.
	Finish(f llm.Finish)
	// Fail ends the answer with an error that the server sent inside it.
	Fail(body []byte)
	// Warn passes on a warning.
	Warn(w llm.Warning)
	// Stopped reports whether reading can end: the caller has stopped listening, or an error occurred.
	Stopped() bool
	// Events reads a stream of server-sent events with JSON data and calls each with the data of every event, until each
	// returns false or the stream ends. An event of more than 32 MiB is an error.
	Events(src io.Reader, each func(data []byte) (more bool)) error
	// Lines does the same for a stream with one JSON document per line.
	Lines(src io.Reader, each func(line []byte) (more bool)) error
}

// Head is the metadata at the start of a stream. Empty fields are taken from the llm.Start. An id and a time that are
// missing there too are generated.
type Head struct {
	ID      string // of the answer
	Model   string
	Created int64 // seconds since 1970, for formats that say when
	// NoUsage leaves out the chunk with the usage that clients of the chat
	// format get only if they ask for it.
	NoUsage bool
	// Echo returns the members of the request that the first events of the responses format repeat. It may be nil.
	Echo func() map[string]json.RawMessage
	// Lost is told of what the format cannot carry, before the bytes of the event that has it are written.
	Lost func(llm.Warning)
}
