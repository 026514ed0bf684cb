package jsonfix

import (
	"strings"
	"testing"
)

// benchTexts are valid values of the shapes that arguments have.
var benchTexts = []struct{ name, text string }{
	{"small", `{"path": "src/main.go", "line": 12, "flags": ["-v", "-x"], "dry": false}`},
	{"prose", `{"content": "` + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20000) + `"}`},
	{"code", `{"content": "` + strings.Repeat(`func main() {\n\tfmt.Println(\"it's\")\n}\n`, 20000) + `"}`},
	{"chinese", `{"content": "` + strings.Repeat("敏捷的棕色狐狸跳过了懒狗。", 20000) + `"}`},
	{"numbers", "[" + strings.Repeat("12.5, -3, 1e9, true, ", 40000) + "0]"},
	{"objects", "[" + strings.Repeat(`{"id": 1234, "name": "Ada", "tags": ["a", "b"], "ok": true}, `, 15000) + "{}]"},
}

func BenchmarkReader(b *testing.B) {
	for _, c := range benchTexts {
		for _, size := range []int{1 << 30, 16} {
			name := c.name + "/whole"
			if size == 16 {
				name = c.name + "/16-byte-pieces"
			}
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(c.text)))
				b.ReportAllocs()
				for b.Loop() {
					var r Reader
					for rest := c.text; rest != ""; {
						n := min(size, len(rest))
						r.Feed(rest[:n])
						rest = rest[n:]
					}
					if !r.Done() {
						b.Fatal(r.Close())
					}
				}
			})
		}
	}
}

// BenchmarkCopy is what moving the bytes costs.
func BenchmarkCopy(b *testing.B) {
	text := benchTexts[1].text
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var out []byte
		out = append(out, text...)
		_ = out
	}
}

func BenchmarkFix(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"valid", benchTexts[0].text},
		{"trailing-comma", `{"path": "src/main.go", "line": 12, "flags": ["-v", "-x",],}`},
		{"python", `{'path': 'src/main.go', 'line': 12, 'dry': False}`},
		{"fenced", "Sure:\n```json\n{\"path\": \"src/main.go\", \"line\": 12}\n```\nDone."},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Fix(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
