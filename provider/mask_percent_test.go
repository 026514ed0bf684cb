package provider

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

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
	m := newMask(key)
	for _, form := range []string{"%%%02x", "%%%02X"} {
		for n := 1; n < len(key); n += 5 {
			in := percent(key, form, n)
			for _, line := range []string{"data: {\"a\":\"%s b\"}\n\n", ": %s b\n\n", "id: %s b\n", `{"error":{"message":"see ?key=%s b"}}`} {
				want := strings.Replace(line, "%s", "[stripped:value]", 1)
				if got := string(m.redact([]byte(strings.Replace(line, "%s", in, 1)))); got != want {
					t.Errorf("%q became %q, want %q", in, got, want)
				}
			}
			for _, size := range []int{1, 7, 1 << 20} {
				f := &forwarded{body: body{ReadCloser: io.NopCloser(&pieces{`{"see":"` + in + `"}`, size}), w: new(Client).watch(t.Context(), llm.Limits{})}, mask: m}
				if got, err := io.ReadAll(f); err != nil || string(got) != `{"see":"[stripped:value]"}` {
					t.Errorf("%q in pieces of %d became %q, %v", in, size, got, err)
				}
			}
		}
	}
	for _, text := range []string{"data: {\"a\":\"100% sure, 5%5 and %zz %\"}\n\n", "data: {\"a\":\"hello\"}\n\n"} {
		b := []byte(text)
		if n := testing.AllocsPerRun(100, func() {
			if got := m.redact(b); &got[0] != &b[0] {
				t.Errorf("%q was copied", text)
			}
		}); n != 0 {
			t.Errorf("%q takes %v allocations", text, n)
		}
	}
	if in := "data: {\"a\":\"a%20b %73%6b\"}\n\n"; string(m.redact([]byte(in))) != in {
		t.Error("other escapes were changed")
	}
}
