package eventstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

var sample = []Frame{
	{Kind: Event, Name: "messageStart", Payload: []byte(`{"role":"assistant"}`)},
	{Kind: Event, Name: "contentBlockDelta", Payload: []byte(`{"delta":{"text":"` + strings.Repeat("long ", 2000) + `"}}`)},
	{Kind: Event, Name: "metadata"},
	{Kind: Exception, Name: "throttlingException", Payload: []byte(`{"message":"slow down"}`)},
	{Kind: Failure, Name: "InternalError", Message: "it broke"},
}

func encode(t testing.TB, frames ...Frame) []byte {
	t.Helper()
	var b []byte
	for _, f := range frames {
		var err error
		if b, err = Append(b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// readAll returns the frames before the first error, and the error.
func readAll(src io.Reader) (frames []Frame, err error) {
	for r := NewReader(src); ; {
		f, err := r.Next()
		if err != nil {
			return frames, err
		}
		f.Payload = bytes.Clone(f.Payload)
		frames = append(frames, f)
	}
}

func sameFrame(a, b Frame) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Message == b.Message && bytes.Equal(a.Payload, b.Payload)
}

// TestRoundTrip: what was written is read, however it arrives.
func TestRoundTrip(t *testing.T) {
	stream := encode(t, sample...)
	for name, src := range map[string]io.Reader{
		"whole": bytes.NewReader(stream), "byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
	} {
		got, err := readAll(src)
		if err != io.EOF || !slices.EqualFunc(got, sample, sameFrame) {
			t.Errorf("%s: %v %+v", name, err, got)
		}
	}
}

// TestAmazonsPackageWritesTheSameBytes: a frame has the bytes that Amazon's own encoder gives it.
func TestAmazonsPackageWritesTheSameBytes(t *testing.T) {
	for _, f := range sample {
		msg := eventstream.Message{Payload: f.Payload}
		msg.Headers.Set(":message-type", eventstream.StringValue(f.Kind))
		msg.Headers.Set(headers[f.Kind], eventstream.StringValue(f.Name))
		if f.Kind == Failure {
			msg.Headers.Set(":error-message", eventstream.StringValue(f.Message))
		} else {
			msg.Headers.Set(":content-type", eventstream.StringValue("application/json"))
		}
		var want bytes.Buffer
		if err := eventstream.NewEncoder().Encode(&want, msg); err != nil {
			t.Fatal(err)
		}
		if got := encode(t, f); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s %s: % x\nwant % x", f.Kind, f.Name, got, want.Bytes())
		}
	}
}

// TestAFrameThatNoReaderTakesIsNotWritten: a name or a payload is too long.
func TestAFrameThatNoReaderTakesIsNotWritten(t *testing.T) {
	for _, f := range []Frame{
		{Kind: "other"}, {Kind: Event, Name: strings.Repeat("n", 1<<16)}, {Kind: Failure, Message: strings.Repeat("m", 1<<16)},
		{Kind: Event, Name: "big", Payload: make([]byte, MaxFrame)},
	} {
		if b, err := Append([]byte("before"), f); err == nil || string(b) != "before" {
			t.Errorf("%s: %v", f.Kind, err)
		}
	}
}

// TestEndsAnywhere: a stream that ends between frames ended, one that ends
// within a frame was lost, and never is anything made up.
func TestEndsAnywhere(t *testing.T) {
	stream := encode(t, sample[0], sample[3])
	first := len(encode(t, sample[0]))
	for i := range len(stream) {
		frames, err := readAll(bytes.NewReader(stream[:i]))
		want, n := io.ErrUnexpectedEOF, 0
		if i == 0 || i == first {
			want = io.EOF
		}
		if i >= first {
			n = 1
		}
		if !errors.Is(err, want) || len(frames) != n {
			t.Fatalf("ended at %d: %v, %d frames", i, err, len(frames))
		}
	}
}

// TestDamage: a byte that is wrong anywhere is found.
func TestDamage(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	good := encode(t, sample[0])
	for i := range good {
		attacks++
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		if frames, err := readAll(bytes.NewReader(bad)); !errors.Is(err, ErrMalformed) || len(frames) > 0 {
			t.Errorf("byte %d: %v %+v", i, err, frames)
		}
	}
}

// prelude makes the start of a frame with a right checksum.
func prelude(size, head uint32) []byte {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, size), head)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// TestBounds: a length that lies costs no memory.
func TestBounds(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, p := range [][]byte{prelude(MaxFrame+1, 0), prelude(1<<32-1, 8), prelude(20, 1<<32-1), prelude(15, 0), prelude(0, 0)} {
		attacks++
		if _, err := readAll(bytes.NewReader(append(p, make([]byte, 64)...))); !errors.Is(err, ErrMalformed) {
			t.Errorf("%x: %v", p, err)
		}
	}
	if Begins([]byte("data: {}\n\n, which is text")) || !Begins(encode(t, sample[0])) {
		t.Error("Begins cannot tell frames from text")
	}
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, sample...))
	f.Add(prelude(1<<31, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := readAll(bytes.NewReader(b))
		cut, err2 := readAll(iotest.HalfReader(bytes.NewReader(b)))
		if !slices.EqualFunc(whole, cut, sameFrame) || (err == io.EOF) != (err2 == io.EOF) {
			t.Fatalf("%d frames and %v, in halves %d and %v", len(whole), err, len(cut), err2)
		}
	})
}
