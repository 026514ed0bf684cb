package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func all(src io.Reader) ([]string, error) {
	var got []string
	r := NewReader(src)
	for {
		name, data, err := r.Next()
		if err != nil {
			if IsEnd(err) {
				err = nil
			}
			return got, err
		}
		if data == nil {
			got = append(got, "keep-alive")
			continue
		}
		got = append(got, fmt.Sprintf("%s|%s", name, data))
	}
}

var streams = []struct {
	why, in string
	want    []string
}{
	{"plain", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
	{"named", "event: ping\ndata: {}\n\n", []string{"ping|{}"}},
	{"CR LF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"x|a", "|b"}},
	{"CR only", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
	{"several lines are one event", "data: a\ndata: b\ndata\n\n", []string{"|a\nb\n"}},
	{"only one space is taken", "data:  a\ndata:b\n\n", []string{"| a\nb"}},
	{"comments, ids and retries", ": keep-alive\n\nid: 1\nretry: 5\ndata: a\n\n:\n\n", []string{"keep-alive", "|a", "keep-alive"}},
	{"a comment inside an event", "event: x\n: hm\ndata: a\n\n", []string{"x|a"}},
	{"byte order mark", "\ufeffdata: a\n\n", []string{"|a"}},
	{"no blank line at the end", "data: a\n\ndata: [DONE]", []string{"|a", "|[DONE]"}},
	{"a name without data is no event and names nothing", "event: x\n\ndata: a\n\n", []string{"|a"}},
	{"a bare JSON line is data", "{\"error\":1}\n", []string{"|{\"error\":1}"}},
	{"nothing", "", nil},
	{"blank lines", "\n\n\r\n\r\r", nil},
}

func TestReader(t *testing.T) {
	for _, c := range streams {
		for i := range len(c.in) + 1 {
			src := io.MultiReader(strings.NewReader(c.in[:i]), strings.NewReader(c.in[i:]))
			got, err := all(src)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Fatalf("%s, cut at %d: %v\n%s", c.why, i, err, diff)
			}
		}
		got, err := all(iotest.OneByteReader(strings.NewReader(c.in)))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s, byte by byte: %v\n%s", c.why, err, diff)
		}
		got, err = all(iotest.DataErrReader(strings.NewReader(c.in)))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s, data with the end: %v\n%s", c.why, err, diff)
		}
	}
}

func TestBounds(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), neverEnds{})
	if _, err := all(endless); !errors.Is(err, ErrTooLong) {
		t.Errorf("an endless line: %v", err)
	}
	lines := strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 40)
	if _, err := all(strings.NewReader(lines)); !errors.Is(err, ErrTooLong) {
		t.Errorf("an endless event: %v", err)
	}
	if _, err := all(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never reads: %v", err)
	}
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// FuzzReader: the meaning of a stream does not depend on how it is cut, and a
// line of data is read as it was written.
func FuzzReader(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.in), uint16(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		want, err := all(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		at := min(int(cut), len(in))
		got, err := all(io.MultiReader(bytes.NewReader(in[:at]), iotest.OneByteReader(bytes.NewReader(in[at:]))))
		if err != nil || cmp.Diff(want, got) != "" {
			t.Fatalf("cut at %d: %v %v, whole: %v", at, got, err, want)
		}
		data := bytes.ReplaceAll(bytes.ReplaceAll(in, []byte("\n"), nil), []byte("\r"), nil)
		got, err = all(strings.NewReader("event: n\ndata: " + string(data) + "\n\n"))
		if err != nil || len(got) != 1 || got[0] != "n|"+string(data) {
			t.Fatalf("wrote %q, read %q (%v)", data, got, err)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	stream := bytes.Repeat([]byte("data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"), 4000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(stream))
		n := 0
		for {
			if _, _, err := r.Next(); err != nil {
				break
			}
			n++
		}
		if n != 4000 {
			b.Fatal(n)
		}
	}
}
