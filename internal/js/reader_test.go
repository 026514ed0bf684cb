package js

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// walk reads any value with a Reader only. Names may repeat, and the last one
// counts, as encoding/json has it.
func walk(r *Reader[string]) (any, error) {
	switch r.Peek() {
	case '{':
		m := map[string]any{}
		if err := r.Enter(); err != nil {
			return nil, err
		}
		for first := true; ; first = false {
			more, err := r.Next('}', first)
			if !more {
				return m, err
			}
			name, _, err := r.Name()
			if err != nil {
				return nil, err
			}
			if m[Unquote(name)], err = walk(r); err != nil {
				return nil, err
			}
		}
	case '[':
		list := []any{}
		if err := r.Enter(); err != nil {
			return nil, err
		}
		for first := true; ; first = false {
			more, err := r.Next(']', first)
			if !more {
				return list, err
			}
			v, err := walk(r)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	case '"':
		s, _, err := r.String()
		if err != nil {
			return nil, err
		}
		return Unquote(s), nil
	case 't', 'f':
		word, err := r.Word()
		return word == "true", err
	case 'n':
		_, err := r.Word()
		return nil, err
	}
	lit, _, err := r.Number()
	return json.Number(lit), err
}

// FuzzReader holds the Reader to encoding/json: it accepts the same texts and
// finds the same values in them, also as bytes.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` {"a" : 1 , "b":[1,{"c":"}\"]"}],"\u0061":null} `, `"\ud83d\ude00 \ud83d x\u00e9\n"`, `[1,]`, `{"a":1,}`, `{,}`, `[1 2]`, `{"a" 1}`,
		`[1.5,-0,3e2,true,false,null,""]`, "\"\xff\"", `"\\"`, `"\x"`, `"\u12"`, "\"\n\"", `01`, `1.`, `1e`, `-`, `tru`, ``, ` `, "\x00", `[`, `{"a`, `"\ud800\u0041"`, `[[]`, `1 1`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &Reader[string]{Text: text, Max: 1000}
		got, err := walk(r)
		if err == nil {
			err = r.End()
		}
		valid := json.Valid([]byte(text))
		if deep := strings.Count(text, "[")+strings.Count(text, "{") > 1000; (err == nil) != valid && !deep {
			t.Fatalf("%q: valid is %v, but the reader says %v", text, valid, err)
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset > len(text)) {
			t.Fatalf("%q: %#v", text, err)
		}
		if err != nil {
			return
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", text, got, want)
		}
	})
}

func TestReaderBounds(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for n, ok := range map[int]bool{1: true, 8: true, 9: false, 100_000: false} {
		attacks++
		r := &Reader[string]{Text: nest(n), Max: 8}
		if _, err := walk(r); (err == nil) != ok {
			t.Errorf("%d levels: %v", n, err)
		}
	}
	for text, want := range map[string]string{
		`{"a":1`: "the JSON ends too early", `[1 2]`: "at byte 3: no comma or end of the array here", `{"a" 1}`: "at byte 5: no colon after a name",
		`{a:1}`: "at byte 1: an object needs a name in double quotes here", "\"a\nb\"": "at byte 2: a control character inside a string",
		`["\q"]`: "at byte 2: an escape that means nothing", `[nul]`: "at byte 1: not a JSON value",
	} {
		attacks++
		r := &Reader[string]{Text: text, Max: 8}
		if _, err := walk(r); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestAppendUnquoted(t *testing.T) {
	for quoted, want := range map[string]string{`"a\nb"`: "a\nb", `"\ud83d\ude00"`: "😀", `"x\ud83dy"`: "x\uFFFDy!", "\"\xff\\t\"": "\xff\t", `"\u0000\/"`: "\x00/"} {
		want, replaced := strings.CutSuffix(want, "!")
		if got, exact := AppendUnquoted(nil, quoted); string(got) != want || exact == replaced {
			t.Errorf("%s: got %q, exact %v", quoted, got, exact)
		}
		if got := Unquote(quoted); utf8.ValidString(want) && got != want || !utf8.ValidString(got) {
			t.Errorf("%s: got %q", quoted, got)
		}
	}
}

// FuzzTracker: in a valid text, what a Tracker calls a string is what a Reader
// does, and every bracket that is opened is closed.
func FuzzTracker(f *testing.F) {
	f.Add(`{"a\"":["\\",{"b":"]"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var tr Tracker
		var strs []string
		from := -1
		for i := range len(text) {
			if tr.Next(text[i]) && from < 0 {
				from = i
			}
			if from >= 0 && !tr.InString() {
				strs = append(strs, text[from:i+1])
				from = -1
			}
		}
		if !json.Valid([]byte(text)) {
			return
		}
		if tr.Depth != 0 || tr.InString() {
			t.Fatalf("%q: depth %d", text, tr.Depth)
		}
		for i := 0; i < len(text); i++ {
			if text[i] != '"' {
				continue
			}
			end := EndOfString([]byte(text), i)
			if len(strs) == 0 || strs[0] != text[i:end] {
				t.Fatalf("%q: %q instead of %q", text, strs, text[i:end])
			}
			strs, i = strs[1:], end-1
		}
		if len(strs) > 0 {
			t.Fatalf("%q: %q are no strings", text, strs)
		}
	})
}

var sample = `{"id":"toolu_01","name":"find_room","input":{"town":"Siena","beds":2,"price":{"max":120.5,"currency":"EUR"},"note":"quiet,\nwith a \"view\"","tags":["a","b","c"],"pets":false}}`

func BenchmarkReader(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		r := Reader[string]{Text: sample, Max: 16}
		if err := pass(&r); err != nil {
			b.Fatal(err)
		}
	}
}

// pass reads a value and keeps nothing of it.
func pass(r *Reader[string]) error {
	var err error
	switch c := r.Peek(); c {
	case '{', '[':
		if err := r.Enter(); err != nil {
			return err
		}
		for first := true; ; first = false {
			more, err := r.Next(c+2, first) // } and ] follow their openers by two
			if !more {
				return err
			}
			if c == '{' {
				if _, _, err := r.Name(); err != nil {
					return err
				}
			}
			if err := pass(r); err != nil {
				return err
			}
		}
	case '"':
		_, _, err = r.String()
	case 't', 'f', 'n':
		_, err = r.Word()
	default:
		_, _, err = r.Number()
	}
	return err
}

func BenchmarkMembers(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(sample)))
	text := []byte(sample)
	for b.Loop() {
		for range Members(Get(text, "input")) {
		}
	}
}

func BenchmarkTracker(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		var t Tracker
		for i := range len(sample) {
			t.Next(sample[i])
		}
	}
}
