package js

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzRead holds the walker to encoding/json: every value it finds in a valid
// text is the value encoding/json finds, and what the writer writes reads back.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, ` {"a" : 1 , "b":[1,{"c":"}\"]"}],"\u0061":null} `, `"\ud83d\ude00 \ud83d x\u00e9\n"`,
		`[1.5,-0,3e2,true,false,null,""]`, `{"":{"":[[]]}}`, "\"\xff\"", `"\\"`, `["a\\","b"]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			// Broken text must not panic or loop.
			for range Members(b) {
			}
			for range Elements(b) {
			}
			Path(b, len(b)/2)
			return
		}
		b = Trim(b)
		var want any
		if err := json.Unmarshal(b, &want); err != nil {
			return // a number out of range
		}
		if got := value(b); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", b, got, want)
		}
		var w Writer
		w.Raw(b)
		if w.Err != nil || !reflect.DeepEqual(value(w.Buf), want) {
			t.Fatalf("%q written as %q (%v)", b, w.Buf, w.Err)
		}
	})
}

// value reads v with this package only.
func value(v []byte) any {
	switch Kind(v) {
	case '{':
		m := map[string]any{}
		for k, val := range Members(v) {
			m[string(k)] = value(val)
		}
		return m
	case '[':
		a := []any{}
		for val := range Elements(v) {
			a = append(a, value(val))
		}
		return a
	case '"':
		return Text(v)
	case 't', 'f':
		return v[0] == 't'
	case '0':
		var f float64
		_ = json.Unmarshal(v, &f)
		return f
	}
	return nil
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c", "\x00\x1f\n\r\t", "é😀", "\xff\xc3", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := AppendQuoted(nil, s)
		if !json.Valid(q) {
			t.Fatalf("%q quoted as %q", s, q)
		}
		if utf8.ValidString(s) && Text(q) != s {
			t.Fatalf("%q came back as %q", s, Text(q))
		}
		var std string
		if err := json.Unmarshal(q, &std); err != nil || std != Text(q) {
			t.Fatalf("%q: encoding/json reads %q, we read %q", q, std, Text(q))
		}
	})
}

func TestInt(t *testing.T) {
	for in, want := range map[string]int64{"3": 3, "-7": -7, "3.0": 3, "3e2": 300} {
		if got, ok := Int([]byte(in)); !ok || got != want {
			t.Errorf("%s: %d %v", in, got, ok)
		}
	}
	for _, in := range []string{"3.5", `"3"`, "null", "1e300", ""} {
		if n, ok := Int([]byte(in)); ok {
			t.Errorf("%s is no integer, got %d", in, n)
		}
	}
}

func TestPath(t *testing.T) {
	doc := []byte(` {"model":"m","messages":[{"role":"user"},{"content":[{"text":5}]}]}`)
	var at int
	for i, c := range doc {
		if c == '5' {
			at = i
		}
	}
	if got := Path(doc, at); got != "messages[1].content[0].text" {
		t.Error(got)
	}
}

func TestWriterRefusesWhatIsNotJSON(t *testing.T) {
	for _, bad := range []string{"", "{", "nope", "1 2"} {
		var w Writer
		w.Raw([]byte(bad))
		if w.Err == nil {
			t.Errorf("%q was written as JSON: %s", bad, w.Buf)
		}
	}
	var w Writer
	w.Raw([]byte("{\n \"a\": 1\n}"))
	if string(w.Buf) != `{"a":1}` {
		t.Errorf("a value over several lines must become one line: %s", w.Buf)
	}
}
