package wire

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// BenchmarkRequest reads and writes the requests of coding agents, in the format of the client and in another.
func BenchmarkRequest(b *testing.B) {
	files, err := filepath.Glob("testdata/agents/*.txtar")
	if err != nil || len(files) == 0 {
		b.Fatal(err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			b.Fatal(err)
		}
		from, body := Codec{Format: ar.Files[0].Name}, ar.Files[0].Data
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := from.DecodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		req, stream, err := from.DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		for _, to := range []string{from.Format, Chat, Messages} {
			c := Codec{Format: to}
			req, _ := c.Portable(req)
			b.Run(name+"/"+to, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := c.EncodeRequest(req, stream); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
