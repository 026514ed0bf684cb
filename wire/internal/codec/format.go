// Package codec is the machinery that all formats share: the encoder and decoder of bodies, the assembly of calls from a
// stream, error kinds, and the relay.
package codec

import (
	"io"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// Format is what differs between vendors. Bounds, checks and the assembly of
// calls are shared.
type Format interface {
	// properties returns the same value at every call. Callers must not change it.
	Properties() *format.Properties
	Words() *Words
	// detects reports whether a JSON document is part of an answer.
	Detects(doc []byte) bool
	EncodeRequest(e *Encoder, req *llm.Request, stream bool)
	DecodeRequest(d *Decoder, body []byte, req *llm.Request) (stream bool)
	EncodeResponse(e *Encoder, r *llm.Response)
	DecodeResponse(d *Decoder, body []byte, a *Answer)
	// decodeStream feeds a stream to a, until it ends or fails.
	DecodeStream(a *Answer, src io.Reader) error
	NewStream(e *Encoder, head StreamHead) StreamEncoder
	EncodeError(e *Encoder, err *llm.Error, status int)
	// decodeError finds the vendor's code and words in the body of an error.
	DecodeError(all *Registry, body []byte) (code, message string)
}
