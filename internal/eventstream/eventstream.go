// Package eventstream reads and writes the frames of Amazon's event streams,
// application/vnd.amazon.eventstream. Amazon's own package reads headers and checksums, but it allocates 30 times for each frame that it writes. This one limits the size of a
// frame, distinguishes a lost stream from a damaged one, and knows the headers for the kind of a frame.
package eventstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// MediaType is the media type of a stream.
const MediaType = "application/vnd.amazon.eventstream"

// MaxFrame bounds the bytes of one frame.
const MaxFrame = 32 << 20

// ErrMalformed reports a wrong checksum or length.
var ErrMalformed = errors.New("the event stream is damaged")

// The kinds of frames.
const (
	Event     = "event"
	Exception = "exception" // an error that the API describes
	Failure   = "error"     // an error that it does not
)

// Frame is one message of a stream.
type Frame struct {
	Kind string // Event, Exception or Failure
	// Name is the type of the event or exception, or the code of a failure.
	Name string
	// Message is the text of a failure. An exception has its text in the payload.
	Message string
	Payload []byte
}

// headers are the headers with the name of a frame, by kind.
var headers = map[string]string{Event: ":event-type", Exception: ":exception-type", Failure: ":error-code"}

const (
	preludeLen = 12 // lengths of the frame and its headers, and their checksum
	minFrame   = preludeLen + 4
)

// Reader splits a stream into frames. The work and the memory are linear in the
// input, however it is cut into reads.
type Reader struct {
	src     io.Reader
	decoder *eventstream.Decoder
	buf     []byte
	payload []byte
	offset  int64
	partial bool
}

// NewReader returns the frames of src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, decoder: eventstream.NewDecoder(), buf: make([]byte, 4096)}
}

// Next returns the next frame, whose payload is valid until the next call. After
// the last frame it returns io.EOF, and io.ErrUnexpectedEOF if the stream ends
// within a frame. An error that wraps [ErrMalformed] reports invalid bytes; other errors come from the reader.
func (r *Reader) Next() (Frame, error) {
	n, err := io.ReadFull(r.src, r.buf[:preludeLen])
	if r.partial = n > 0; err != nil {
		return Frame{}, err
	}
	size, err := frameSize(r.buf)
	if err != nil {
		return Frame{}, err
	}
	if size > len(r.buf) {
		r.buf = append(r.buf, make([]byte, size-len(r.buf))...)
	}
	if _, err := io.ReadFull(r.src, r.buf[preludeLen:size]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	msg, err := r.decoder.Decode(bytes.NewReader(r.buf[:size]), r.payload)
	if err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if msg.Payload != nil {
		r.payload = msg.Payload
	}
	r.offset += int64(size)
	r.partial = false
	return frameOf(msg), nil
}

// Offset returns where the last frame ended, in bytes of the stream.
func (r *Reader) Offset() int64 { return r.offset }

// Partial reports whether the last error came within a frame.
func (r *Reader) Partial() bool { return r.partial }

// frameSize reads a prelude. It checks the checksum first, because noise must not be taken for a length.
func frameSize(prelude []byte) (int, error) {
	size, head := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]):
		return 0, fmt.Errorf("%w: the data is not a frame", ErrMalformed)
	case size < minFrame || head > size-minFrame:
		return 0, fmt.Errorf("%w: a frame of %d bytes with %d bytes of headers", ErrMalformed, size, head)
	case size > MaxFrame:
		return 0, fmt.Errorf("%w: a frame of more than %d bytes", ErrMalformed, MaxFrame)
	}
	return int(size), nil
}

func frameOf(msg eventstream.Message) Frame {
	f := Frame{Kind: text(msg, ":message-type"), Payload: msg.Payload}
	f.Name = text(msg, headers[f.Kind])
	if f.Kind == Failure {
		f.Message = text(msg, ":error-message")
	}
	return f
}

func text(msg eventstream.Message, header string) string {
	if v, ok := msg.Headers.Get(header).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}

// Append appends a frame to dst. The payload of events and exceptions is JSON.
func Append(dst []byte, f Frame) ([]byte, error) {
	name, ok := headers[f.Kind]
	if !ok {
		return dst, fmt.Errorf("no frame is of kind %q", f.Kind)
	}
	start := len(dst)
	out := append(dst, make([]byte, preludeLen)...)
	out = appendHeader(out, ":message-type", f.Kind)
	out = appendHeader(out, name, f.Name)
	if f.Kind == Failure {
		out = appendHeader(out, ":error-message", f.Message)
	} else {
		out = appendHeader(out, ":content-type", "application/json")
	}
	head := len(out) - start - preludeLen
	if len(f.Name) > math.MaxUint16 || len(f.Message) > math.MaxUint16 || len(f.Payload) > MaxFrame-minFrame-head {
		return dst, fmt.Errorf("a frame of %d bytes is too large", head+len(f.Payload))
	}
	out = append(out, f.Payload...)
	frame := out[start:]
	binary.BigEndian.PutUint32(frame, uint32(len(frame)+4))
	binary.BigEndian.PutUint32(frame[4:], uint32(head))
	binary.BigEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(frame[:8]))
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(frame)), nil
}

// stringHeader is the type of a header whose value is text.
const stringHeader = 7

func appendHeader(dst []byte, name, value string) []byte {
	dst = append(append(dst, byte(len(name))), name...)
	dst = binary.BigEndian.AppendUint16(append(dst, stringHeader), uint16(len(value)))
	return append(dst, value...)
}

// Begins reports whether b begins like a frame.
func Begins(b []byte) bool {
	if len(b) < preludeLen {
		return false
	}
	_, err := frameSize(b[:preludeLen])
	return err == nil
}
