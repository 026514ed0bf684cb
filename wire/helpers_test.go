package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
)

// twoReads is a reader that returns its two halves in a read each.
type twoReads struct{ a, b string }

func (r *twoReads) Read(p []byte) (int, error) {
	if r.a == "" {
		r.a, r.b = r.b, ""
	}
	if r.a == "" {
		return 0, io.EOF
	}
	n := copy(p, r.a)
	r.a = r.a[n:]
	return n, nil
}

// transcript writes the events of a stream, one a line, and its error.
func transcript(t *testing.T, c Codec, src io.Reader) string {
	t.Helper()
	var b strings.Builder
	for ev, err := range c.DecodeStream(src) {
		if err != nil {
			fmt.Fprintf(&b, "error %s\n", llm.KindOf(err))
			continue
		}
		line, err := llm.MarshalEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	return b.String()
}

// streamBytes returns the stream that a golden file shows: as it stands, or,
// for a format in binary frames, a frame a line: its kind, its name and its
// payload, or what went wrong.
func streamBytes(t testing.TB, format string, data []byte) []byte {
	t.Helper()
	if (Codec{Format: format}).StreamType() != eventstream.MediaType {
		return data
	}
	var out []byte
	for line := range strings.Lines(string(data)) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(word) != 3 {
			t.Fatalf("a line of frames is KIND NAME PAYLOAD: %q", line)
		}
		f := eventstream.Frame{Kind: word[0], Name: word[1], Payload: []byte(word[2])}
		if f.Kind == eventstream.Failure {
			f.Message, f.Payload = word[2], nil
		}
		var err error
		if out, err = eventstream.Append(out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
