package child

import (
	"strings"
	"testing"
)

// TestTailBeginsWithAWholeWord: of a word that is kept in part nothing is shown. It may be
// a secret, and half of one is not recognised.
func TestTailBeginsWithAWholeWord(t *testing.T) {
	var l Tail
	for range 3 {
		_, _ = l.Write([]byte("secret-0123456789 " + strings.Repeat("x", maxTail-9) + "\nend "))
	}
	if got := l.String(); strings.Contains(got, "9") || !strings.HasSuffix(got, "end ") {
		t.Errorf("it begins with %.40q", got)
	}
	var one Tail
	_, _ = one.Write([]byte(strings.Repeat("y", 2*maxTail)))
	if got := one.String(); got != "" {
		t.Errorf("one long word is shown as %.40q", got)
	}
	var short Tail
	_, _ = short.Write([]byte("all of it\n\n two\x1b[2J"))
	if got := short.LastLines(2); got != "all of it /  two[2J" {
		t.Errorf("it is %q", got)
	}
}
