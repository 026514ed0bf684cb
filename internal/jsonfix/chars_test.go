package jsonfix

import (
	"bytes"
	"testing"
)

// Verbatim finds what a loop finds, wherever it stands.
func TestVerbatim(t *testing.T) {
	for n := range 40 {
		for at := range n {
			for c := range 256 {
				p := bytes.Repeat([]byte("a"), n)
				p[at] = byte(c)
				want := at
				if c >= ' ' && c < 0x80 && c != '"' && c != '\\' {
					want = n
				}
				if got := Verbatim(p); got != want {
					t.Fatalf("%q: %d, want %d", p, got, want)
				}
			}
		}
	}
}
