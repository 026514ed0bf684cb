package credential

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/secret"
)

// What a mask hides, and what it leaves as it is.
func TestMask(t *testing.T) {
	const key, word, pair = "sk-upstream-SECRET-0123456789abcdef", "lm-studio", "AKIA0123456789ABCDEF:wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY"
	for _, c := range []struct{ key, in, out string }{
		{key, "data: {\"a\":\"b\"}\n\n", "data: {\"a\":\"b\"}\n\n"},
		{key, ": " + key + "\ndata: {\"a\":\"" + key + "\"}\n\n", ": [stripped:value]\ndata: {\"a\":\"[stripped:value]\"}\n\n"},
		{word, ": lm-studio\ndata: {\"a\":\"use lm-studio\"}\n\n", ": [stripped:value]\ndata: {\"a\":\"use lm-studio\"}\n\n"},
		{"none", ": none\n", ": none\n"},
		{"", ": none\n", ": none\n"},
		{pair, ": AWS4-HMAC-SHA256 Credential=AKIA0123456789ABCDEF/x, Signature=0123abcd\n", ": AWS4-HMAC-SHA256 Credential=[stripped:value]/x, Signature=[stripped:value]\n"},
		{pair, "data: {\"a\":\"Signature=0123abcd\"}\n", "data: {\"a\":\"Signature=0123abcd\"}\n"},
		{key, `data: {"a":"sk\u002Dupstream-\u0053ECRET-0123456789abcdef b"}` + "\n", `data: {"a":"[stripped:value] b"}` + "\n"},
		{key, `id: sk\u002dupstream-SECRET\u002D0123456789abcdef` + "\n", "id: [stripped:value]\n"},
		{key, `data: {"a":"{\"b\":\"sk\\u002dupstream-SECRET-0123456789abcdef\"}"}` + "\n", `data: {"a":"{\"b\":\"[stripped:value]\"}"}` + "\n"},
		{key, `data: {"a":"caf\u00e9 \u003cb\u003e sk-upstream"}` + "\n", `data: {"a":"caf\u00e9 \u003cb\u003e sk-upstream"}` + "\n"},
		{pair, "data: {\"a\":\"wJalrXUtnFEMI+K7MDENG\\/bPxRfiCYEXAMPLEKEY\"}\n", "data: {\"a\":\"[stripped:value]\"}\n"},
	} {
		if got := string(new(Masks).Of(c.key).Redact([]byte(c.in))); got != c.out {
			t.Errorf("%q became %q, want %q", c.in, got, c.out)
		}
	}
	var frames []byte
	for _, payload := range []string{`{"p":"fine"}`, `{"p":"` + key + `"}`} {
		frames, _ = eventstream.Append(frames, eventstream.Frame{Kind: eventstream.Event, Name: "metadata", Payload: []byte(payload)})
	}
	clean := eventstream.NewReader(bytes.NewReader(NewMask(key).Redact(frames)))
	for _, want := range []string{`{"p":"fine"}`, `{"p":"[stripped:value]"}`} {
		if f, err := clean.Next(); err != nil || string(f.Payload) != want || f.Name != "metadata" {
			t.Errorf("a frame became %q %q, %v", f.Name, f.Payload, err)
		}
	}
}

// All spellings that errors are cleaned of are taken out of streams, and bytes without one are the same bytes.
func TestMaskKnowsAllForms(t *testing.T) {
	const key = "sk-upstream/SECRET+0123456789&abcdef"
	m := NewMask(key)
	for _, form := range secret.Forms(key) {
		if got := m.Redact([]byte("id: " + form + "\ndata: " + form + "\n\n")); strings.Contains(string(got), form) {
			t.Errorf("%q was passed on: %s", form, got)
		}
	}
	b := []byte("data: {\"delta\":\"hello\"}\n\n")
	if n := testing.AllocsPerRun(100, func() {
		if got := m.Redact(b); &got[0] != &b[0] {
			t.Error("the bytes were copied")
		}
	}); n != 0 {
		t.Errorf("%v allocations for a stream without a key", n)
	}
}

// The keys that are remembered are bounded.
func TestMasksAreBounded(t *testing.T) {
	var s Masks
	for i := range 3 * maxMasks {
		k := strings.Repeat("k", 8+i)
		if first := s.Of(k); first != s.Of(k) || len(s.by) > maxMasks {
			t.Fatalf("%d masks", len(s.by))
		}
	}
}

// The body of an answer that is handed on shows no key, however it is cut, and comes as far as it can be served: to the end of a line at once.
func TestReader(t *testing.T) {
	const key = "sk-upstream-SECRET-0123456789abcdef"
	form := secret.Forms(key)[2]
	for in, want := range map[string]string{
		"data: a\n\n: " + key + "\n\ndata: {\"x\":\"" + key + "\"}\n\n":  "data: a\n\n: [stripped:value]\n\ndata: {\"x\":\"[stripped:value]\"}\n\n",
		`{"error":{"message":"wrong key ` + key + ` and ` + form + `"}}`: `{"error":{"message":"wrong key [stripped:value] and [stripped:value]"}}`,
		key: "[stripped:value]",
		"":  "",
		strings.Repeat("\x00\xff binary sk-upstream-SECRET ", 1000) + "sk-upstream-": strings.Repeat("\x00\xff binary sk-upstream-SECRET ", 1000) + "sk-upstream-",
	} {
		for _, size := range []int{1, 3, 35, 64, 1 << 20} {
			f := NewReader(&pieces{in, size}, NewMask(key))
			got, err := io.ReadAll(f)
			if err != nil || string(got) != want {
				t.Errorf("in pieces of %d: %v %.200q, want %.200q", size, err, got, want)
			}
		}
	}
	f := NewReader(&pieces{"data: a\n\ndata: b", 9}, NewMask(key))
	b := make([]byte, 99)
	if n, err := f.Read(b); err != nil || string(b[:n]) != "data: a\n\n" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

// pieces serves a text in pieces of a size.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), p.size)])
	p.text = p.text[n:]
	return n, nil
}

// percent escapes every n-th character of a text as addresses have them, though they need not.
func percent(text, form string, n int) string {
	var b strings.Builder
	for i, c := range []byte(text) {
		if i%n == 0 {
			fmt.Fprintf(&b, form, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A key some or all of whose characters are escaped as in an address is hidden; text without such an escape is the same bytes,
// and costs no memory.
func TestMaskKnowsPercentEscapes(t *testing.T) {
	const key = "sk-upstream-SECRET-0123456789abcdef"
	m := NewMask(key)
	for _, form := range []string{"%%%02x", "%%%02X"} {
		for n := 1; n < len(key); n += 5 {
			in := percent(key, form, n)
			for _, line := range []string{"data: {\"a\":\"%s b\"}\n\n", ": %s b\n\n", "id: %s b\n", `{"error":{"message":"see ?key=%s b"}}`} {
				want := strings.Replace(line, "%s", "[stripped:value]", 1)
				if got := string(m.Redact([]byte(strings.Replace(line, "%s", in, 1)))); got != want {
					t.Errorf("%q became %q, want %q", in, got, want)
				}
			}
			for _, size := range []int{1, 7, 1 << 20} {
				f := NewReader(&pieces{`{"see":"` + in + `"}`, size}, m)
				if got, err := io.ReadAll(f); err != nil || string(got) != `{"see":"[stripped:value]"}` {
					t.Errorf("%q in pieces of %d became %q, %v", in, size, got, err)
				}
			}
		}
	}
	for _, text := range []string{"data: {\"a\":\"100% sure, 5%5 and %zz %\"}\n\n", "data: {\"a\":\"hello\"}\n\n"} {
		b := []byte(text)
		if n := testing.AllocsPerRun(100, func() {
			if got := m.Redact(b); &got[0] != &b[0] {
				t.Errorf("%q was copied", text)
			}
		}); n != 0 {
			t.Errorf("%q takes %v allocations", text, n)
		}
	}
	if in := "data: {\"a\":\"a%20b %73%6b\"}\n\n"; string(m.Redact([]byte(in))) != in {
		t.Error("other escapes were changed")
	}
}
