package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// The framings of captures.
const (
	framingSSE    = "sse"    // server-sent events
	framingNDJSON = "ndjson" // a JSON document a line
	framingJSON   = "json"   // one JSON document, or an array of them
	framingFrames = "frames" // the binary frames of Amazon's event streams
)

// Capture is what a captured answer was found to be.
type Capture struct {
	Format string
	// Framing is "sse" (server-sent events), "ndjson" (a JSON document a line), "json" (one document, or an array of
	// them) or "frames" (the binary frames of Amazon's event streams).
	Framing string
}

// Detect finds out which format a captured answer is in, streamed or not. It
// looks at the first documents of the capture and reports false for anything
// that is not an answer of a known vendor, like plain text or a request.
func Detect(capture []byte) (Capture, bool) {
	if eventstream.Begins(capture) {
		return detectFrames(capture)
	}
	capture = js.Trim(bytes.TrimPrefix(capture, []byte("\ufeff")))
	if len(capture) == 0 {
		return Capture{}, false
	}
	switch capture[0] {
	case '{', '[':
		return detectJSON(capture)
	}
	r := sse.NewReader(bytes.NewReader(capture))
	for looked := 0; looked < maxLook; {
		_, data, err := r.Next()
		if err != nil {
			break
		}
		if data == nil {
			continue // a keep-alive
		}
		looked++
		if format, ok := detectDocument(js.Trim(data)); ok {
			return Capture{format, framingSSE}, true
		}
	}
	return Capture{}, false
}

// detectFrames asks what the first frames are called.
func detectFrames(capture []byte) (Capture, bool) {
	frames := eventstream.NewReader(bytes.NewReader(capture))
	for range maxLook {
		f, err := frames.Next()
		if err != nil {
			break
		}
		for _, impl := range all.Formats {
			if d, ok := impl.(codec.FrameDetector); ok && d.DetectsFrame(f) {
				return Capture{impl.Properties().Name, framingFrames}, true
			}
		}
	}
	return Capture{}, false
}

// maxLook is how many documents Detect looks at.
const maxLook = 20

func detectJSON(capture []byte) (Capture, bool) {
	if json.Valid(capture) {
		doc := capture
		for el := range js.Elements(capture) {
			doc = el
			break
		}
		format, ok := detectDocument(doc)
		return Capture{format, framingJSON}, ok
	}
	lines := sse.NewLines(bytes.NewReader(capture))
	for range maxLook {
		line, err := lines.Next()
		if err != nil {
			break
		}
		if format, ok := detectDocument(js.Trim(line)); ok {
			return Capture{format, framingNDJSON}, true
		}
	}
	return Capture{}, false
}

func detectDocument(doc []byte) (string, bool) {
	if !json.Valid(doc) || js.Kind(doc) != '{' {
		return "", false
	}
	for _, f := range all.Formats {
		if f.Detects(doc) {
			return f.Properties().Name, true
		}
	}
	return "", false
}

// Replay returns the events of a captured answer: what [Codec.DecodeStream]
// or [Codec.DecodeResponse] makes of it.
func (c Capture) Replay(capture io.Reader) iter.Seq2[llm.Event, error] {
	return Codec{Format: c.Format}.DecodeStream(capture)
}
