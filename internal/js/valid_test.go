package js

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// Valid says what encoding/json.Valid says: of each text, of each with a byte
// missing, doubled or changed, and of each beginning.
func TestValid(t *testing.T) {
	texts := []string{
		``, ` `, `{}`, `[]`, ` { } `, `[ ]`, `""`, `"a"`, `0`, `-0`, `-`, `01`, `1.`, `1.5e+10`, `1e`, `.5`, `+1`, `true`, `false`, `null`, `nul`, `truex`,
		`{"a":1}`, `{"a":1,}`, `{"a" : [1 , 2,{"b":null} ] ,"c":"d"}`, `[[],[[]],{}]`, `{"a":{}}`, `[1,]`, `[,1]`, `{,}`, `{"a"}`, `{"a":}`, `{1:2}`,
		`"\u00e9\n\"\\\/\b\f\r\t"`, `"\x"`, `"\u12g4"`, `"\u12"`, "\"a\nb\"", "\"\x7f\x00\"", "\"\xff\xe2é\"", `{}{}`, `[]]`, `1 2`, "\ufeff{}", `'a'`,
		`{"id":"chatcmpl-9x8y7z","choices":[{"delta":{"content":"some words, and \"more\" of them\n"},"index":0,"finish_reason":null}],"usage":{"n":[1,2.5,-3e-7]}}`,
		strings.Repeat("[", 63) + strings.Repeat("]", 63), strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
		strings.Repeat(`{"a":[`, 40) + "1" + strings.Repeat("]}", 40), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	}
	check := func(text string) {
		if got, want := Valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Fatalf("%.200q: %v, want %v", text, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const bytes = "{}[]\",:\\ \n01-.etrufalsn\x00\x1f\x80x"
	for _, text := range texts {
		check(text)
		for i := range min(len(text), 160) {
			check(text[:i])
			check(text[:i] + text[i+1:])
			check(text[:i] + text[i:i+1] + text[i:])
			for range 8 {
				b := bytes[rng.IntN(len(bytes))]
				check(text[:i] + string([]byte{b}) + text[i:])
				check(text[:i] + string([]byte{b}) + text[i+1:])
			}
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e3,"b\u00e9",true,null,{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := Valid(text), json.Valid(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"word17 \\n"}}`)
	b.Run("js", func(b *testing.B) {
		for b.Loop() {
			Valid(text)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(text)
		}
	})
}
