package codec

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// Errors.

// AWSErrorHeader is the header of Amazon's responses with the kind of an error.
const AWSErrorHeader = "X-Amzn-Errortype"

// AWSError reads an error of Amazon. The code is in a header or in the body, sometimes with a namespace before it or a
// URL after it.
func AWSError(header http.Header, body []byte) (code, message string) {
	code = cmp.Or(header.Get(AWSErrorHeader), js.Text(js.Get(body, "__type")))
	code, _, _ = strings.Cut(code, ":")
	if _, name, ok := strings.Cut(code, "#"); ok {
		code = name
	}
	if code != "" { // streams begin it with a small letter
		code = strings.ToUpper(code[:1]) + code[1:]
	}
	return code, cmp.Or(js.Text(js.Get(body, "message")), js.Text(js.Get(body, "Message")))
}

// Amazon serves formats of other vendors in binary frames, each with one event of the format as base64. The code of the
// format sees server-sent events; only this file handles frames.

// ChunkEvent is the type of a frame that holds an event.
const ChunkEvent = "chunk"

// frameReader reads frames as server-sent events.
type frameReader struct {
	frames *eventstream.Reader
	buf    []byte // of the event that is being read
	rest   []byte // of buf, not yet read
	err    error
}

// FromFrames returns the server-sent events in the frames of src. A server that
// sends one JSON document instead of frames is passed through.
func FromFrames(src io.Reader) io.Reader {
	looked := Peek(src)
	if looked.First == '{' {
		return looked
	}
	return &frameReader{frames: eventstream.NewReader(bufio.NewReader(looked))}
}

// Read returns the next bytes.
func (u *frameReader) Read(p []byte) (int, error) {
	for len(u.rest) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.buf = u.buf[:0]
		u.err = u.next()
		u.rest = u.buf
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// next puts the event of the next frame into buf.
func (u *frameReader) next() error {
	f, err := u.frames.Next()
	switch {
	case errors.Is(err, eventstream.ErrMalformed):
		return malformedFrame(err)
	case err != nil:
		return err
	}
	if f.Kind != eventstream.Event {
		u.fail(f)
		return nil
	}
	data, ok := DecodeBase64(js.Text(js.Get(js.Trim(f.Payload), "bytes")))
	if !ok || f.Name == ChunkEvent && data == nil {
		return malformedFrame(errors.New("a frame does not hold an event as base64"))
	}
	u.data(data)
	return nil
}

func malformedFrame(err error) error {
	return &llm.Error{Op: "wire.DecodeStream", Kind: llm.Malformed, Err: err}
}

// data adds a server-sent event. Line breaks of JSON mean nothing.
func (u *frameReader) data(data []byte) {
	if len(data) == 0 {
		return
	}
	u.buf = append(u.buf, "data: "...)
	u.buf = append(u.buf, bytes.ReplaceAll(data, []byte("\n"), []byte(" "))...)
	u.buf = append(u.buf, "\n\n"...)
}

// fail adds an error as the messages format says it.
func (u *frameReader) fail(f eventstream.Frame) {
	code, message := AWSError(nil, js.Trim(f.Payload))
	if f.Name != "" {
		code = strings.ToUpper(f.Name[:1]) + f.Name[1:]
	}
	var e js.Writer
	e.Object()
	e.StringField("type", "error")
	e.ObjectField("error")
	e.StringField("type", code)
	e.StringField("message", cmp.Or(message, cmp.Or(f.Message, code)))
	e.End()
	e.End()
	u.data(e.Buf)
}

// toFrames returns server-sent events as frames.
func toFrames(h *Host, events []byte) ([]byte, error) {
	var out []byte
	for r := sse.NewReader(bytes.NewReader(events)); ; {
		_, data, err := r.Next()
		if err != nil {
			return out, nil // of a buffer: its end
		}
		if data = js.Trim(data); len(data) == 0 {
			continue
		}
		if out, err = eventstream.Append(out, frameOf(h, data)); err != nil {
			return nil, err
		}
	}
}

// frameOf returns the frame of an event. An error is an exception of Amazon's.
func frameOf(h *Host, data []byte) eventstream.Frame {
	if js.Is(js.Get(data, "type"), "error") {
		code, message := h.Impl.DecodeError(h.Registry, data)
		kind, _ := h.Registry.Kind(code)
		name := h.Registry.amazonCode(&llm.Error{Kind: kind, Code: code})
		payload, _ := json.Marshal(map[string]string{"message": message}) // a string
		return eventstream.Frame{Kind: eventstream.Exception, Name: strings.ToLower(name[:1]) + name[1:], Payload: payload}
	}
	payload := append([]byte(`{"bytes":"`), base64.StdEncoding.EncodeToString(data)...)
	return eventstream.Frame{Kind: eventstream.Event, Name: ChunkEvent, Payload: append(payload, `"}`...)}
}

// amazonCode returns Amazon's name for an error.
func (r *Registry) amazonCode(err *llm.Error) string {
	if f, ok := r.Find(names.Converse); ok {
		if named, ok := f.(ErrorHeaders); ok {
			return named.ErrorHeader(r, err).Get(AWSErrorHeader)
		}
	}
	return "InternalServerException"
}
