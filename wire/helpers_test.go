package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"

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
