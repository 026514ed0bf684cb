package jsonfix

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// rules are texts that a Reader must read, with the reason. Every rule of the
// package has a row. The class is the worst of all edits.
var rules = []struct {
	why, in, out string
	class        llm.RepairClass
	edits        string // the rules, in order
}{
	{"valid JSON passes byte for byte", `{ "a" : [1, -2.50e+3, true , null, "x\u00e9\n"] }`, `{ "a" : [1, -2.50e+3, true , null, "x\u00e9\n"] }`, llm.Intact, ""},
	{"numbers are exact", `[12345678901234567890123, 0.1000, 1E400]`, `[12345678901234567890123, 0.1000, 1E400]`, llm.Intact, ""},
	{"a lone surrogate is JSON", `["\ud83d", "\ud83d\ude00", "\ude00"]`, `["\ud83d", "\ud83d\ude00", "\ude00"]`, llm.Intact, ""},
	{"keys may repeat", `{"a":1,"a":2}`, `{"a":1,"a":2}`, llm.Intact, ""},

	{"trailing commas", `{"a":[1,2, ],}`, `{"a":[1,2 ]}`, llm.Syntax, "trailing-comma trailing-comma"},
	{"only the comma is repaired, apostrophes stay", `{"text":"it's John's",}`, `{"text":"it's John's"}`, llm.Syntax, "trailing-comma"},
	{"what looks like a key in a string stays", `{"text":"a, note: b",}`, `{"text":"a, note: b"}`, llm.Syntax, "trailing-comma"},
	{"brackets, comments and fences in strings stay", "{\"a\":\"} ] // x /* y */ ``` 'z' \",}", "{\"a\":\"} ] // x /* y */ ``` 'z' \"}", llm.Syntax, "trailing-comma"},
	{"a missing comma between lines", "{\"a\":1\n\"b\":2\nc:3}", "{\"a\":1\n,\"b\":2\n,\"c\":3}", llm.Syntax, "missing-comma missing-comma unquoted-key"},
	{"missing commas in an array", `["b" 3 {} []]`, `["b" ,3 ,{} ,[]]`, llm.Syntax, "missing-comma missing-comma missing-comma"},
	{"strings on lines of their own", "[\"a\"\n\"b\"]", "[\"a\"\n,\"b\"]", llm.Syntax, "missing-comma"},
	{"strings side by side are one in Python", `["a" "b"]`, `["a" ,"b"]`, llm.Guess, "missing-comma"},
	{"a missing comma after a string", `{"a":"x" "b":"y"}`, `{"a":"x" ,"b":"y"}`, llm.Syntax, "missing-comma"},
	{"a hole in an array may be a lost value", `[1,,2]`, `[1,2]`, llm.Guess, "extra-comma"},
	{"a hole in an object cannot", `{,"a":1,,"b":2}`, `{"a":1,"b":2}`, llm.Syntax, "extra-comma extra-comma"},
	{"a word between values", `{"a":true and false}`, `{"a":true ,"and" :false}`, llm.Guess, "missing-comma unquoted-key missing-colon"},
	{"a missing colon", `{"a" "b", "c" 1, "d" true}`, `{"a" :"b", "c" :1, "d" :true}`, llm.Syntax, "missing-colon missing-colon missing-colon"},
	{"other languages' colons", `{"a" => 1, "b" = 2}`, `{"a" : 1, "b" : 2}`, llm.Syntax, "colon colon"},

	{"single quotes", `{'a':'say "hi"', 'b':'it\'s'}`, `{"a":"say \"hi\"", "b":"it's"}`, llm.Syntax, "quotes quotes quotes quotes escape"},
	{"curly quotes", `{“a”: “it’s ‘b’”, ‘c’: ‘d’}`, `{"a": "it’s ‘b’", "c": "d"}`, llm.Syntax, "quotes quotes quotes quotes"},
	{"backticks", "{`a`: `b`}", `{"a": "b"}`, llm.Syntax, "quotes quotes"},
	{"triple quotes", `{"a": """one "two" three""", 'b': '''x'''}`, `{"a": "one \"two\" three", "b": "x"}`, llm.Syntax, "quotes quotes quotes quotes"},
	{"an empty string is not a triple quote", `{"a": "", "b":""}`, `{"a": "", "b":""}`, llm.Intact, ""},
	{"unquoted keys", `{a: 1, $b_2: 2, c-d: 3, 4: 5, true: 6, ключ: 7}`, `{"a": 1, "$b_2": 2, "c-d": 3, "4": 5, "true": 6, "ключ": 7}`, llm.Syntax, "unquoted-key unquoted-key unquoted-key unquoted-key unquoted-key unquoted-key"},
	{"literals of Python and JavaScript", `{"a":True,"b":False,"c":None,"d":undefined}`, `{"a":true,"b":false,"c":null,"d":null}`, llm.Syntax, "literal literal literal literal"},
	{"JSON has no NaN", `[NaN, -Infinity]`, `[null, null]`, llm.Guess, "literal literal"},
	{"a Python tuple", `{'a': (1, 'x')}`, `{"a": [1, "x"]}`, llm.Syntax, "quotes tuple quotes"},
	{"letters before Python strings", `{u'a': u'x'}`, `{"a": "x"}`, llm.Syntax, "string-prefix quotes string-prefix quotes"},
	{"a raw Python string", `[r'\d']`, `["\\d"]`, llm.Guess, "string-prefix quotes escape"},
	{"a tuple of one", `[(1,)]`, `[[1]]`, llm.Syntax, "tuple trailing-comma"},
	{"parentheses are not a tuple", `[(1)]`, `[[1]]`, llm.Guess, "tuple tuple"},

	{"numbers of other languages", `[+1, .5, -.5, 5., 0x1F, 10n, 1.e3]`, `[1, 0.5, -0.5, 5.0, 31, 10, 1.0e3]`, llm.Syntax, "number number number number number number number"},
	{"digits with a leading zero are a code or a number", `{"zip": 00123}`, `{"zip": "00123"}`, llm.Guess, "unquoted-string"},
	{"digits with underscores", `[1_000]`, `[1000]`, llm.Guess, "number"},
	{"text without quotes", `{"city": New York, "n": 1}`, `{"city": "New York", "n": 1}`, llm.Guess, "unquoted-string"},
	{"a date without quotes", `{"d": 2024-10-18T18:35:22Z}`, `{"d": "2024-10-18T18:35:22Z"}`, llm.Guess, "unquoted-string"},
	{"an address without quotes", `{"u": https://example.com/a?b=c}`, `{"u": "https://example.com/a?b=c"}`, llm.Guess, "unquoted-string"},

	{"comments", "{/* a */\"a\":1, // b\n # c\n\"b\":2 /* d */}", "{\"a\":1, \n \n\"b\":2 }", llm.Syntax, "comment comment comment comment"},
	{"an ellipsis leaves something out", `[1, 2, ...]`, `[1, 2 ]`, llm.Guess, "trailing-comma ellipsis"},
	{"a call around a value", `{"_id": ObjectId("1")}`, `{"_id": "1"}`, llm.Guess, "call"},
	{"strings added up", `{"a": "x" + 'y' + "z"}`, `{"a": "xyz"}`, llm.Guess, "string-concatenation string-concatenation"},
	{"text escaped once too often", `{\"a\": \"b\\nc\", \"d\": \"\\\"q\\\"\"}`, `{"a": "b\nc", "d": "\"q\""}`, llm.Syntax, "escaped-twice"},

	{"line ends and tabs in strings", "{\"a\":\"x\ny\tz\"}", `{"a":"x\ny\tz"}`, llm.Syntax, "control-character control-character"},
	{"other control characters in strings", "[\"a\x00b\x1b\"]", `["a\u0000b\u001b"]`, llm.Guess, "control-character control-character"},
	{"a backslash that escapes nothing", `{"re": "\d+\.txt", "path": "C:\users"}`, `{"re": "\\d+\\.txt", "path": "C:\\users"}`, llm.Guess, "escape escape escape"},
	{"an escaped apostrophe", `["it\'s"]`, `["it's"]`, llm.Syntax, "escape"},
	{"inner quotes", `{"a": "he said "hi" to me", "b": 1}`, `{"a": "he said \"hi\" to me", "b": 1}`, llm.Guess, "inner-quote inner-quote"},
	{"equals signs", `{a = "x", b = "y", c = 3}`, `{"a" : "x", "b" : "y", "c" : 3}`, llm.Syntax, "unquoted-key colon unquoted-key colon unquoted-key colon"},
	{"inner quotes before a comma", `{"a": "he said "hi", and left", "b": 1}`, `{"a": "he said \"hi\", and left", "b": 1}`, llm.Guess, "inner-quote inner-quote"},
	{"inch marks", `["24" screen", "72""]`, `["24\" screen", "72\""]`, llm.Guess, "inner-quote inner-quote"},
	{"odd white space", "\ufeff{\u00a0\"a\":\u30001}", `{"a":1}`, llm.Syntax, "white-space white-space white-space"},
	{"bytes that are no UTF-8", "[\"a\xffb\"]", `["a` + "\ufffd" + `b"]`, llm.Guess, "invalid-utf8"},
	{"an opening quote is missing", `{a": foo", "b": 1}`, `{"a": "foo", "b": 1}`, llm.Guess, "unquoted-key missing-quote unquoted-string missing-quote"},

	{"a closer is missing at the end", `{"a": {"b": [1, 2 `, `{"a": {"b": [1, 2 ]}}`, llm.Completion, "missing-closer missing-closer missing-closer"},
	{"a number may have been cut off", `{"a": {"b": [1, 2`, `{"a": {"b": [1, 2]}}`, llm.Truncation, "cut-number missing-closer missing-closer missing-closer"},
	{"a number that begins another way", `{"a": +4`, `{"a": 4}`, llm.Truncation, "number missing-closer"},
	{"a constant is whole", `{"a": true`, `{"a": true}`, llm.Completion, "missing-closer"},
	{"a closer is missing before the end", `{"a": [1, 2}`, `{"a": [1, 2]}`, llm.Guess, "missing-closer"},
	{"a closer is missing in the middle", `{"a": {"b": [1}, "c": 2}`, `{"a": {"b": [1]}, "c": 2}`, llm.Guess, "missing-closer"},
	{"a parenthesis ends a list", `{"a": [1, 2), "b": 3}`, `{"a": [1, 2], "b": 3}`, llm.Guess, "wrong-closer"},
	{"a wrong closer", `[1, 2}`, `[1, 2]`, llm.Guess, "wrong-closer"},
	{"a string is cut off", `{"path": "te`, `{"path": "te"}`, llm.Truncation, "missing-quote missing-closer"},
	{"a value is missing", `{"a": , "b":}`, `{"a": null, "b":null}`, llm.Guess, "missing-value missing-value"},
	{"a value was cut off", `{"a":`, `{"a":null}`, llm.Truncation, "missing-value missing-closer"},
	{"an escape was cut off", `["a\u26`, `["a"]`, llm.Truncation, "cut-escape missing-quote missing-closer"},
}

func TestRules(t *testing.T) {
	for _, c := range rules {
		var r Reader
		r.Feed(c.in)
		err := r.Close()
		var names []string
		for _, e := range r.Repairs() {
			names = append(names, e.Rule)
			if e.Start < 0 || e.End < e.Start || e.End > len(c.in) {
				t.Errorf("%s: %s has the range %d to %d", c.why, e.Rule, e.Start, e.End)
			}
		}
		got := strings.Join(names, " ")
		if err != nil || string(r.Value()) != c.out || worst(r.Repairs()) != c.class || got != c.edits {
			t.Errorf("%s: %s\ngives %s %v %v %v\nnot   %s %v [%s]", c.why, c.in, r.Value(), worst(r.Repairs()), r.Repairs(), err, c.out, c.class, c.edits)
		}
		sameHoweverCut(t, c.in)
	}
}

// TestRulesInFix reads the same texts whole: more is known then, but what was
// certain stays.
func TestRulesInFix(t *testing.T) {
	for _, c := range rules {
		value, edits, err := Fix(c.in)
		if err != nil || c.class <= llm.Completion && (!sameValue(value, []byte(c.out)) || worst(edits) != c.class) {
			t.Errorf("%s: %s\ngives %s %v %v\nnot   %s %v", c.why, c.in, value, edits, err, c.out, c.class)
		}
	}
}

// refused are texts that have no value, or none that could be told.
var refused = []struct{ why, in string }{
	{"nothing", ""},
	{"white space", " \n"},
	{"a comment alone", "/* x */"},
	{"a key without a value", `{"a", "b": 1}`},
	{"a value without a key", `{: 1}`},
	{"a closer alone", `}`},
	{"braces without sense", "{completely invalid {{{ json"},
	{"a call with two arguments", `{"a": f(1, 2)}`},
	{"a call without arguments", `[f()]`},
	{"an object as a key", `{{"a":1}: 2}`},
	{"too deep", strings.Repeat("[", DefaultMaxDepth+1)},
	{"calls too deep", "[" + strings.Repeat("f(", DefaultMaxDepth+1)},
}

func TestUnreadableTextRefused(t *testing.T) {
	for _, c := range refused {
		if value, edits, err := Fix(c.in); err == nil {
			t.Errorf("%s: %.40q gives %.40s %v", c.why, c.in, value, edits)
		}
		if got := sameHoweverCut(t, c.in); got.err == "" {
			t.Errorf("%s: a reader gives %.40s", c.why, got.value)
		}
	}
}
