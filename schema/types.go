package schema

import (
	"encoding/json"
	"math/bits"
	"strings"
)

// Types is a set of JSON types. The zero value is the empty set.
type Types uint8

// The JSON types, in the order in which text is tried against them.
const (
	Null Types = 1 << iota
	Integer
	Number
	Boolean
	Object
	Array
	String

	// Any is the set of all types.
	Any = Null | Integer | Number | Boolean | Object | Array | String
)

var typeNames = [...]string{"null", "integer", "number", "boolean", "object", "array", "string"}

// Has reports whether every type of u is in t. A set with Number has Integer.
func (t Types) Has(u Types) bool {
	if t&Number != 0 {
		t |= Integer
	}
	return t&u == u
}

// Names returns the types in the words of JSON Schema, in the order of the constants.
// Integer is left out next to Number, which includes it.
func (t Types) Names() []string {
	if t&Number != 0 {
		t &^= Integer
	}
	names := make([]string, 0, bits.OnesCount8(uint8(t)))
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the types as a phrase, like "integer or null".
func (t Types) String() string {
	switch t {
	case 0:
		return "nothing"
	case Any, Any &^ Integer:
		return "anything"
	}
	return strings.Join(t.Names(), " or ")
}

// aliases are type words outside JSON Schema that tool documents use, in lower case. A
// word that ends in * matches all words that begin so.
var aliases = []struct {
	word  string
	types Types
}{
	{"null", Null}, {"none", Null}, {"nil", Null},
	{"interval", String}, // before int*
	{"integer", Integer}, {"int*", Integer}, {"uint*", Integer}, {"long", Integer}, {"bigint", Integer},
	{"smallint", Integer}, {"short", Integer}, {"byte", Integer},
	{"number", Number}, {"num*", Number}, {"float*", Number}, {"double", Number}, {"decimal", Number}, {"real", Number},
	{"bool*", Boolean},
	{"object", Object}, {"dict*", Object}, {"map", Object}, {"hashmap", Object}, {"struct", Object},
	{"array*", Array}, {"list*", Array}, {"tuple", Array}, {"set", Array}, {"sequence", Array},
	{"string", String}, {"str", String}, {"text", String}, {"varchar*", String}, {"char", String}, {"enum", String},
	{"date", String}, {"datetime", String}, {"time", String}, {"uuid", String},
	{"any", Any}, {"", Any},
}

// typeWord returns the types that a type word means, and whether it is a word of JSON
// Schema itself. An unknown word means any type: a document that cannot be understood
// must not make a call wrong.
func typeWord(word string) (t Types, standard bool) {
	for i, name := range typeNames {
		if name == word {
			return 1 << i, true
		}
	}
	lower := strings.ToLower(word)
	for _, a := range aliases {
		prefix, open := strings.CutSuffix(a.word, "*")
		if lower == prefix || open && strings.HasPrefix(lower, prefix) {
			return a.types, false
		}
	}
	return Any, false
}

// Typed reads text without a type as the first type of t it fits, tried in the order
// null, integer, number, boolean, object, array, string. Where a string is allowed
// too, only the exact spellings of JSON count, and a name like None stays a name;
// otherwise Python's None, True, False and numbers like .5 are read as well. NaN,
// infinities and numbers with leading zeros are never numbers, and numbers keep every
// digit.
//
// A string is the exact text, byte for byte; the other types ignore white space around
// it. Text that fits no type of t is returned as a string, with ok false: Typed does
// not judge, validation does.
func (t Types) Typed(text string) (value json.RawMessage, ok bool) {
	trimmed := strings.Trim(text, " \t\r\n")
	for bit := Null; bit < String; bit <<= 1 {
		if t&bit == 0 {
			continue
		}
		if v := readAs(bit, trimmed, t&String != 0); v != "" {
			return json.RawMessage(v), true
		}
	}
	return quote(text), t&String != 0
}

// readAs returns text as JSON of the one type, or "" if it is none.
func readAs(t Types, text string, exact bool) string {
	switch t {
	case Null:
		if text == "null" || !exact && oneOf(text, "None", "NULL", "Null", "nil") {
			return "null"
		}
	case Boolean:
		switch {
		case text == "true" || !exact && oneOf(text, "True", "TRUE"):
			return "true"
		case text == "false" || !exact && oneOf(text, "False", "FALSE"):
			return "false"
		}
	case Integer, Number:
		return readNumber(t, text, exact)
	case Object:
		if strings.HasPrefix(text, "{") && wellFormed(text) {
			return text
		}
	case Array:
		if strings.HasPrefix(text, "[") && wellFormed(text) {
			return text
		}
	}
	return ""
}

func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}

// readNumber returns text as a JSON number of type t, or "". An integer
// written with a zero fraction loses it: 3.0 is 3.
func readNumber(t Types, text string, exact bool) string {
	if !exact {
		text = jsonNumber(text)
	}
	if !isNumber(text) {
		return ""
	}
	if t == Number {
		return text
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.ContainsAny(whole, "eE") || strings.Trim(fraction, "0") != "" || exact && fraction != "" {
		return ""
	}
	if whole == "-0" {
		return "0"
	}
	return whole
}

// jsonNumber respells +5, .5 and 5. as JSON does.
func jsonNumber(s string) string {
	s = strings.TrimPrefix(s, "+")
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	if strings.HasPrefix(s, ".") && len(s) > 1 {
		s = "0" + s
	}
	if strings.HasSuffix(s, ".") && len(s) > 1 {
		s += "0"
	}
	return sign + s
}
