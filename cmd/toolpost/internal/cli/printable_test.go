package cli

import "testing"

// The output of a model cannot control the terminal.
func TestPrintable(t *testing.T) {
	if got, want := Printable("a\x1b[31mb\x00\n\tc\u202ed\x7f"), "a␛[31mb␀\n\tc\uFFFDd␡"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
