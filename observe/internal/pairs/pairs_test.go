package pairs_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolpost/toolpost/observe/internal/pairs"
)

func TestPairs(t *testing.T) {
	list := pairs.Text([]string{"first"}, func(name, value string) string { return name + "=" + value }, "a", "1", "b", "", "c", "3", "odd")
	list = pairs.Number(list, func(name string, n int) string { return name + "=" + strconv.Itoa(n) }, "d", 0, "e", -1, "f", 2)
	if got := fmt.Sprint(list); got != "[first a=1 c=3 e=-1 f=2]" {
		t.Error(got)
	}
}

// Names that models and upstreams make up do no harm where they are shown, and are short.
func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"gpt-4o": "gpt-4o", "": "", "Modell-ü": "Modell-ü", "a\nb\r\x1b[31mred\x00\x7f": "ab[31mred", "\u202egnp\u200b.exe\u2028": "gnp.exe", "half \xe2\x82": "half ",
		strings.Repeat("x", 300): strings.Repeat("x", 256), strings.Repeat("x", 255) + "€€": strings.Repeat("x", 255),
	} {
		if got := pairs.Name(in); got != want || !utf8.ValidString(got) || len(got) > pairs.MaxName {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	long := strings.Repeat("x", 300)
	pair := func(name, value string) string { return value }
	if got := pairs.Text(nil, pair, "a", long)[0]; len(got) != pairs.MaxName {
		t.Errorf("%d bytes of a name", len(got))
	}
	if got := pairs.Content(nil, pair, "a", long)[0]; got != long {
		t.Errorf("%d bytes of what was written", len(got))
	}
}
