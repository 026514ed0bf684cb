package jsonfix

import (
	"fmt"
	"strings"
	"testing"
)

// repeated is a text made of many units.
type repeated struct{ name, head, unit, tail string }

// hostile are texts that make a careless reader look at the same bytes again.
var hostile = []repeated{
	{"prose", `{"a":"`, "word ", `"}`},
	{"inner quotes", `{"a":"`, `x" y`, `"}`},
	{"quotes and commas", `{"a":"`, `x", y`, `"}`},
	{"quotes, commas, quotes", `{"a":"`, `x", "y`, `"}`},
	{"apostrophes", `{'a':'`, `x's `, `'}`},
	{"empty strings", `[`, `"" `, `]`},
	{"a string of quotes", `["`, `"`, `]`},
	{"line ends", `["`, "\n", `"]`},
	{"white space after a quote", `["a"`, " ", `]`},
	{"commas", `[`, ",", `]`},
	{"escaped twice", `{\"a\": \"`, `x\\n`, `\"}`},
	{"values side by side", ``, "{}\n", ``},
	{"escaped values side by side", ``, `{\"a\":1} `, ``},
	{"brackets in prose", "see ", "[x ", "{"},
	{"open brackets", ``, "{\"a\":[", ``},
	{"words", `[`, "a b ", `]`},
	{"comments", `[`, "/* x */", `1]`},
	{"cut escapes", `["`, `\u12`, `"]`},
	{"fences", ``, "``` x\n", ``},
	{"pluses", `["`, `a" + "`, `"]`},
	{"triple quotes", `["""`, `"" `, `"""]`},
	{"objects", `[`, `{"id": 1, "name": "x"}, `, `0]`},
}

func (c repeated) text(n int) string {
	return c.head + strings.Repeat(c.unit, n/len(c.unit)) + c.tail
}

// BenchmarkHostile shows whether the work per byte grows with the text: the
// MB/s of a text and of one ten times as long should be the same.
func BenchmarkHostile(b *testing.B) {
	for _, c := range hostile {
		for _, size := range []int{20 << 10, 200 << 10} {
			text := c.text(size)
			run := func(name string, read func()) {
				b.Run(fmt.Sprintf("%s/%s/%dKB", c.name, name, size>>10), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						read()
					}
				})
			}
			run("fix", func() { Fix(text) })
			run("bytewise", func() {
				var r Reader
				for i := range len(text) {
					r.Feed(text[i : i+1])
				}
				r.Close()
			})
		}
	}
}
