package jsonfix

import (
	"strings"
	"testing"
)

func TestDuplicateKeys(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[{"c":1,"c":2,"c":3}],"a":2}`: "/b/0/c /b/0/c /a",
		`{"x/y":1,"x/y":2}`:                       "/x~1y",
		`{"a":{"a":{"a":1}}}`:                     "",
		`[1,[2]]`:                                 "",
		`not JSON`:                                "",
	} {
		if got := strings.Join(DuplicateKeys([]byte(in)), " "); got != want {
			t.Errorf("%s: %s, not %s", in, got, want)
		}
	}
}
