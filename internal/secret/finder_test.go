package secret_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/secret"
)

// A finder gives the same result as a plain search for each form, wherever the form is and whatever is around it.
func TestFinder(t *testing.T) {
	long := strings.Repeat("long-", 100)
	for _, values := range [][]string{{"sk-upstream-SECRET-0123456789abcdef"}, {"aa", "ab"}, {"aaaa", "aaab", "b-aaaa"}, {long}, {"12345678", "sk-a/b+c&d"}} {
		var forms []string
		for _, v := range values {
			forms = append(forms, secret.Forms(v)...)
		}
		f := secret.NewFinder(forms...)
		for _, form := range forms {
			for _, before := range []string{"", "a", "aaa", "sk-", "data: {\"id\":\"", form[1:], form[:len(form)-1], strings.Repeat("x", len(form))} {
				for _, after := range []string{"", "a", "\n\n", form[:len(form)-1]} {
					if !f.In([]byte(before + form + after)) {
						t.Errorf("%q was not found in %q", form, before+form+after)
					}
				}
			}
			half := []byte("data: " + form[:len(form)-1] + "\x00" + form[1:])
			plainly := false
			for _, other := range forms {
				plainly = plainly || bytes.Contains(half, []byte(other))
			}
			if got := f.In(half); got != plainly {
				t.Errorf("%q: found %v, want %v", half, got, plainly)
			}
		}
		if f.In(nil) || f.In([]byte("x")) {
			t.Error("something was found in nothing")
		}
	}
	if secret.NewFinder("", "x") != nil || secret.NewFinder().In([]byte("x")) {
		t.Error("a finder of nothing finds something")
	}
}

// The cost of searching an event of a stream: an allocation, or work for each byte, would show in all relayed streams.
func BenchmarkFinder(b *testing.B) {
	f := secret.NewFinder(secret.Forms("sk-upstream-SECRET-0123456789abcdefghijklmnopqrstuv")...)
	text := []byte(`data: {"id":"chatcmpl-ABCDEFGHIJKLMNOP","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}` + "\n\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if f.In(text) {
			b.Fatal("a key was found")
		}
	}
}
