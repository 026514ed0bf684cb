package sim

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// errCut ends a body early, on purpose.
var errCut = errors.New("sim: cut off as asked")

// send writes the answer, whole or as a stream, with the faults that happen on
// the wire.
func (b behaviour) send(ctx context.Context, codec wire.Codec, w http.ResponseWriter, r *llm.Response, stream bool) error {
	if b.Length {
		deliverable(r, codec.Properties(), stream)
	}
	out := &wireFaults{w: w, b: b, whole: !stream}
	if !stream && b.Fail > 0 {
		return midway
	}
	if !stream {
		return b.sendWhole(codec, w, out, r)
	}
	w.Header().Set("Content-Type", codec.StreamType())
	err := b.sendStream(ctx, codec, out, r)
	if err != nil {
		panic(http.ErrAbortHandler) // the status line is sent; only a lost connection is possible
	}
	return nil
}

// start returns the server's data about an answer before it. With a seed the
// same request gets the same bytes: its id and time then derive from the
// request.
func (b behaviour) start(codec wire.Codec, model string, request []byte) llm.Start {
	if b.Seed > 0 {
		hash := sha256.Sum256(append([]byte(model+"\n"), request...))
		return llm.Start{ID: "sim-" + hex.EncodeToString(hash[:12]), Created: time.Unix(1700000000, 0).UTC()}
	}
	s := llm.Start{Created: time.Now()}
	if p := codec.Properties(); p.AnswerIDs {
		s.ID = p.IDPrefix + rand.Text()
	}
	return s
}

func (b behaviour) sendWhole(codec wire.Codec, w http.ResponseWriter, out io.Writer, r *llm.Response) error {
	body, _, err := codec.EncodeResponse(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := out.Write(body); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// midway is the error at the end of a stream, if a fault demands it.
var midway = &llm.Error{Op: "sim", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, Err: errors.New("this fault was asked for")}

func (b behaviour) sendStream(ctx context.Context, codec wire.Codec, out io.Writer, r *llm.Response) error {
	enc := codec.NewStream(out, format.Head{})
	next := pieceLength(byWords)
	if b.Seed > 0 {
		next = bySeed(b.Seed)
	}
	sent := 0
	for _, ev := range r.Events() {
		for _, piece := range pieces(ev, next) {
			if _, last := piece.(llm.Finish); b.Fail > 0 && (last || sent >= b.Fail) {
				return enc.Fail(midway)
			}
			sent++
			pause := b.Slow
			if _, args := piece.(llm.CallDelta); args {
				pause += b.SlowArgs
			}
			if !sleep(ctx, pause) {
				return ctx.Err()
			}
			if err := enc.Write(piece); err != nil {
				return err
			}
			if _, last := piece.(llm.Finish); last {
				return nil // a client that has read it may disconnect
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverable changes a truncated call to the form that the vendor would send.
// Formats with arguments as text send the truncated text. Formats whose whole
// answers hold objects send an empty object. Formats that send arguments only
// in one piece send no call at all.
func deliverable(r *llm.Response, format format.Properties, stream bool) {
	last := len(r.Message.Parts) - 1
	if last < 0 {
		return
	}
	call, ok := r.Message.Parts[last].(llm.Call)
	switch {
	case !ok:
	case !format.StreamedArgs:
		r.Message.Parts = r.Message.Parts[:last]
	case !format.TextArgs && !stream:
		call.Args = json.RawMessage("{}")
		r.Message.Parts[last] = call
	}
}

// wireFaults is a response body with faults.
type wireFaults struct {
	w       http.ResponseWriter
	b       behaviour
	whole   bool // the body is one write
	written int
	garbled bool
}

// Write sends p with its faults and flushes it: every piece is also a piece on
// the wire.
func (f *wireFaults) Write(p []byte) (int, error) {
	out := p
	switch {
	case !f.b.WrongIndex:
	case eventstream.Begins(out):
		out = inFrames(out, sameIndex)
	default:
		out = sameIndex(out)
	}
	if f.b.Garbage && !f.garbled && (f.whole || f.written > 0) {
		f.garbled = true
		at := 0
		if f.whole {
			at = len(out) / 2
		}
		out = slices.Concat(out[:at], []byte("\x00}{ this is not a line of any protocol\n\n"), out[at:])
	}
	cut := f.b.Cut > 0 && f.written+len(out) > f.b.Cut
	if cut {
		out = out[:f.b.Cut-f.written]
	}
	n, err := f.w.Write(out)
	f.written += n
	if err != nil {
		return 0, err
	}
	if err := http.NewResponseController(f.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	if cut {
		return 0, errCut
	}
	return len(p), nil
}

// sameIndex gives every call of a stream the index 0, whatever the format calls
// it: index, output_index, contentBlockIndex.
func sameIndex(p []byte) []byte {
	for d := byte('1'); d <= '9'; d++ {
		p = bytes.ReplaceAll(p, append([]byte(`ndex":`), d), []byte(`ndex":0`))
	}
	return p
}
