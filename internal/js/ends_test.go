package js

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomValue appends a value that is nested at most so deep, with blanks, escapes and brackets in its strings.
func randomValue(r *rand.Rand, dst []byte, depth int) []byte {
	blanks := func() { dst = append(dst, " \n\t\r   "[:r.IntN(3)]...) }
	texts := []string{`"a"`, `"\"}]{["`, `"` + strings.Repeat(`long \\`, 12) + `"`, `"\u00e9é"`, `""`}
	kind := r.IntN(6)
	if depth == 0 {
		kind = 2 + r.IntN(4)
	}
	switch kind {
	case 0, 1:
		open, closer := byte('{'), byte('}')
		if kind == 1 {
			open, closer = '[', ']'
		}
		dst = append(dst, open)
		for i := range r.IntN(7) {
			if i > 0 {
				dst = append(dst, ',')
			}
			blanks()
			if kind == 0 {
				dst = append(dst, texts[r.IntN(len(texts))]...)
				blanks()
				dst = append(dst, ':')
				blanks()
			}
			dst = randomValue(r, dst, depth-1)
			blanks()
		}
		return append(dst, closer)
	case 2, 3:
		return append(dst, texts[r.IntN(len(texts))]...)
	case 4:
		return append(dst, "-12.5e3"...)
	}
	return append(dst, "null"...)
}

// sameWalk walks a value with and without what is known of its ends, at every depth.
func sameWalk(t *testing.T, e *Ends, v []byte) {
	t.Helper()
	type member struct{ key, value string }
	var with, without []member
	var inner [][]byte
	for k, val := range e.Members(v) {
		with, inner = append(with, member{string(k), string(val)}), append(inner, val)
	}
	for k, val := range Members(v) {
		without = append(without, member{string(k), string(val)})
	}
	for val := range e.Elements(v) {
		with, inner = append(with, member{"", string(val)}), append(inner, val)
	}
	for val := range Elements(v) {
		without = append(without, member{"", string(val)})
	}
	if !slices.Equal(with, without) {
		t.Fatalf("%q has %q with its ends, and %q without", v, with, without)
	}
	for _, val := range inner {
		sameWalk(t, e, val)
	}
}

// Jumping over what is inside finds the same members and elements as walking it, in texts of every shape; what is no
// part of the text is walked.
func TestEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noted := 0
	for range 300 {
		text := append(bytes.Repeat([]byte(" "), r.IntN(3)), '[')
		for i := 0; len(text) < leastIndexed; i++ {
			if i > 0 {
				text = append(text, ',')
			}
			text = randomValue(r, text, r.IntN(8))
		}
		text = slices.Grow(append(text, ']'), r.IntN(100)) // the array of the text may go on behind it
		valid, _, ends := CheckEnds(text)
		if !valid || !json.Valid(text) || ends == nil {
			t.Fatalf("valid is %v, for encoding/json %v, and ends are %v: %q", valid, json.Valid(text), ends != nil, text)
		}
		noted += len(ends.list)
		sameWalk(t, ends, Trim(text))
		sameWalk(t, ends, bytes.Clone(Trim(text)))
		sameWalk(t, ends, []byte(`{"a":[{"b":"`+strings.Repeat("c", 100)+`"}],"d":{}}`))
		if n := leastIndexed / 2; ends.length(text[:n:n], 0) != 0 {
			t.Fatal("a part that is cut off has an end")
		}
	}
	if noted < 1000 {
		t.Errorf("only %d ends were noted", noted)
	}
}

// What is no JSON, nested too deep, or small, has no ends.
func TestNoEnds(t *testing.T) {
	long := `"` + strings.Repeat("x", leastIndexed) + `"`
	for text, want := range map[string]bool{
		`[` + long:       false,
		`[` + long + `}`: false,
		`{}`:             true,
		strings.Repeat("[", maxNested+1) + long + strings.Repeat("]", maxNested+1): true,
	} {
		if valid, _, ends := CheckEnds([]byte(text)); valid != want || ends != nil {
			t.Errorf("%.80q: valid is %v, and it has ends: %v", text, valid, ends != nil)
		}
	}
}

func BenchmarkEnds(b *testing.B) {
	tool := `{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{` + strings.Repeat(`"path":{"type":"string","description":"The path of a file."},`, 6) + `"n":{"type":"integer"}}}}}`
	text := []byte(`{"tools":[` + strings.Repeat(tool+",", 60) + tool + `]}`)
	read := func(e *Ends) {
		for _, list := range e.Members(text) {
			for el := range e.Elements(list) {
				for _, val := range e.Members(el) {
					for range e.Members(val) {
					}
				}
			}
		}
	}
	b.Run("jumping", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, _, e := CheckEnds(text)
			read(e)
		}
	})
	b.Run("walking", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			Check(text)
			read(nil)
		}
	})
}
