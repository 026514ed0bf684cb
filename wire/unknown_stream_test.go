package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/wire"
)

type goldenStream struct {
	name  string
	codec wire.Codec
	lines []byte
}

// goldenStreams are the streams of all golden files, and those that are made of [moreAnswers].
func goldenStreams(t *testing.T) []goldenStream {
	t.Helper()
	var list []goldenStream
	eachGolden(t, func(dir, name string, part txtar.File) {
		if part.Name == "stream" {
			list = append(list, goldenStream{name, wire.Codec{Format: dir}, part.Data})
		}
	})
	for format, bodies := range moreAnswers {
		for _, body := range bodies {
			list = append(list, goldenStream{"more/" + format, wire.Codec{Format: format}, streamLines(t, format, body)})
		}
	}
	return list
}

// streamLines returns an answer as the lines of a stream.
func streamLines(t *testing.T, format, body string) []byte {
	t.Helper()
	c := wire.Codec{Format: format}
	r, err := c.DecodeResponse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := c.NewStream(&out, wire.Head{})
	for _, ev := range r.Events() {
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if format != wire.Converse {
		return out.Bytes()
	}
	var lines bytes.Buffer
	frames := eventstream.NewReader(&out)
	for f, err := frames.Next(); err == nil; f, err = frames.Next() {
		fmt.Fprintf(&lines, "%s %s %s\n", f.Kind, f.Name, f.Payload)
	}
	return lines.Bytes()
}

// framed returns the stream that lines stand for.
func framed(t *testing.T, format string, lines []byte) []byte {
	if format != wire.Converse {
		return lines
	}
	var out []byte
	for line := range strings.Lines(string(lines)) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		var err error
		if out, err = eventstream.Append(out, eventstream.Frame{Kind: word[0], Name: word[1], Payload: []byte(word[2])}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestUnknownMembersOfStreamsAreNotSilent adds a member that no format knows to each object of the events of streams: clients of
// the same format get it, or a warning that names it, and those of others a warning. The same holds where the client
// asked for one document.
func TestUnknownMembersOfStreamsAreNotSilent(t *testing.T) {
	for _, s := range goldenStreams(t) {
		if failed(s.codec, framed(t, s.codec.Format, s.lines)) {
			continue // an error of the vendor's
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			events := losses.Events{Lines: s.lines, Bytes: func(lines []byte) []byte { return framed(t, s.codec.Format, lines) }}
			for _, to := range wire.Formats() {
				for _, events.Whole = range []bool{false, true} {
					silent, err := losses.UnknownStream(s.codec, to, events)
					if err != nil {
						t.Error(err)
					}
					for _, object := range silent {
						t.Errorf("→ %s (whole: %v): %s", to, events.Whole, object)
					}
				}
			}
		})
	}
}

// failed reports whether a stream ends with an error.
func failed(c wire.Codec, stream []byte) bool {
	for _, err := range c.DecodeStream(bytes.NewReader(stream)) {
		if err != nil {
			return true
		}
	}
	return false
}
