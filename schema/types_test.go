package schema_test

import (
	"testing"

	"github.com/toolpost/toolpost/schema"
)

func TestTyped(t *testing.T) {
	const (
		null, integer, number = schema.Null, schema.Integer, schema.Number
		boolean, str          = schema.Boolean, schema.String
		object, array         = schema.Object, schema.Array
	)
	for _, c := range []struct {
		types schema.Types
		text  string
		want  string
		ok    bool
		why   string
	}{
		{integer, "3", `3`, true, "plain"},
		{integer, " -7\n", `-7`, true, "white space around it is not part of a number"},
		{integer, "3.0", `3`, true, "a zero fraction is an integer"},
		{integer, "-0.0", `0`, true, "there is no negative zero among integers"},
		{integer, "3.5", `"3.5"`, false, "would lose the fraction"},
		{integer, "1e3", `"1e3"`, false, "an integer is written in digits"},
		{integer, "12345678901234567890123", `12345678901234567890123`, true, "never through a float"},
		{integer, "0755", `"0755"`, false, "a leading zero may mean octal"},
		{integer, "1_000", `"1_000"`, false, "a separator is a guess"},
		{integer, "", `""`, false, "nothing is no number"},
		{number, "2.50", `2.50`, true, "digits are kept"},
		{number, ".5", `0.5`, true, "Python spelling"},
		{number, "5.", `5.0`, true, "Python spelling"},
		{number, "+5", `5`, true, "Python spelling"},
		{number, "1e5", `1e5`, true, "JSON spelling"},
		{number, "NaN", `"NaN"`, false, "never NaN"},
		{number, "-inf", `"-inf"`, false, "never an infinity"},
		{number, "1e999999999", `"1e999999999"`, false, "cannot be computed with"},
		{boolean, "true", `true`, true, "plain"},
		{boolean, "False", `false`, true, "Python spelling"},
		{boolean, "yes", `"yes"`, false, "garbage is not false"},
		{boolean, "1", `"1"`, false, "a number is no boolean"},
		{null | integer, "None", `null`, true, "Python spelling"},
		{null | str, "null", `null`, true, "null comes first"},
		{null | str, "None", `"None"`, true, "where strings are allowed, only JSON spellings count"},
		{boolean | str, "True", `"True"`, true, "the same"},
		{number | str, ".5", `".5"`, true, "the same"},
		{integer | str, "3", `3`, true, "integer before string"},
		{integer | str, "3.0", `"3.0"`, true, "3.0 may be a version"},
		{integer | number, "3", `3`, true, "integer before number"},
		{str, " 3 ", `" 3 "`, true, "a string keeps every byte"},
		{str, "a\"b\\\n\u2028é<&>", "\"a\\\"b\\\\\\n\\u2028é<&>\"", true, "escaped, but not for HTML"},
		{str, "\xff", `"\ufffd"`, true, "not UTF-8"},
		{object, ` {"a": [1]} `, `{"a": [1]}`, true, "text is kept"},
		{object, `{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`, false, "which a?"},
		{object, `{'a':1}`, `"{'a':1}"`, false, "repairing is not typing"},
		{object, `[1]`, `"[1]"`, false, "wrong type"},
		{array, `[1, "x"]`, `[1, "x"]`, true, "plain"},
		{array | str, `[draft`, `"[draft"`, true, "not an array after all"},
		{schema.Any, `{"a":1}`, `{"a":1}`, true, "nothing is known"},
		{schema.Any, `hello`, `"hello"`, true, "nothing is known"},
	} {
		got, ok := c.types.Typed(c.text)
		if string(got) != c.want || ok != c.ok {
			t.Errorf("%v: %q: got %s, %v; want %s, %v (%s)", c.types, c.text, got, ok, c.want, c.ok, c.why)
		}
	}
}

func TestTypesAsWords(t *testing.T) {
	for types, want := range map[schema.Types]string{
		0: "nothing", schema.Any: "anything", schema.Integer | schema.Null: "null or integer",
		schema.Number | schema.Integer: "number", schema.String: "string",
	} {
		if got := types.String(); got != want {
			t.Errorf("%b: got %q, want %q", types, got, want)
		}
	}
	if !schema.Number.Has(schema.Integer) || schema.Integer.Has(schema.Number) {
		t.Error("integers are numbers, not the other way round")
	}
}
