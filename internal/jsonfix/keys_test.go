package jsonfix

import (
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
)

// A Reader knows whether the object it has read has a key twice, as somebody who
// reads the whole again would find it.
func TestRepeatsKey(t *testing.T) {
	many := `{"k0":0`
	for i := 1; i < 40; i++ {
		many += fmt.Sprintf(`,"k%d":%d`, i, i)
	}
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a":1,"b":1}`, `{"a":1,"a":2}`, `{"a":1, "b":{"a":1}, "c":[{"a":1},{"a":2}]}`,
		`{"b":{"a":1,"a":2}}`, `[{"a":1,"a":2}]`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"a\\b":1,"a\u005cb":2}`, `{"a\"":1,"a":2}`,
		`{ "a" : 1 , "a" : 2 }`, `{a:1,'a':2}`, `{"a" 1, "a" 2}`, `{"a":1 "a":2}`, `{"a":1,,"a":2,}`, `{"a"=1,"b"=2,"a"=3}`, `{"a":1,/* no */"a":2`,
		`{"a":1,"a"`, `call({"a":1,"a":2})`, many + `}`, many + `,"k3":1}`, many + `,"k39":1}`, many + `,"k\u0033":1}`,
		`"a"`, `{"":1,"":2}`, `{"é":1,"\u00e9":2}`,
	} {
		for cut := range text {
			var r Reader
			if n := r.Feed(text[:cut]); n == cut && !r.Done() {
				r.Feed(text[cut:])
			}
			if !r.Done() {
				r.Close()
			}
			seen, want := map[string]bool{}, false
			for k := range js.Members(r.Value()) {
				want = want || seen[string(k)]
				seen[string(k)] = true
			}
			if r.Err() == nil && r.RepeatsKey() != want {
				t.Fatalf("%s cut at %d, which is %s: %v", text, cut, r.Value(), !want)
			}
		}
	}
}
