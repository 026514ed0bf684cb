package jsonfix

import (
	"testing"
)

func TestPartialCorpus(t *testing.T) {
	// A string that has begun is shown; these rows ask to leave it out.
	differ := map[string]string{`["` + "ARR": "we show the begun string", `{"": "` + "OBJ": "we show the begun string"}
	for _, row := range readCorpus(t, "json_repair/partial_json.jsonl") {
		got, ok := Partial(row.Broken)
		if same := ok && sameValue(got, row.Expected); same == (differ[row.Broken+row.Allow] != "") {
			t.Errorf("%s (%s): %s, not %s", row.Broken, row.Allow, got, row.Expected)
		}
	}
}

func TestPartial(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `{`: `{}`, `{"a`: `{}`, `{"a"`: `{}`, `{"a":`: `{}`, `{"a": 1`: `{"a": 1}`, `{"a": "te`: `{"a": "te"}`,
		`{"a": 1,`: `{"a": 1}`, `{"a": 1, "b"`: `{"a": 1}`, `{"a": {"b": [1, tr`: `{"a": {"b": [1, true]}}`,
		`[1, -`: `[1]`, `[1, "x\ud83d`: `[1, "x"]`, `{a: 'b`: `{"a": "b"}`, `["a" , `: `["a" ]`,
	} {
		got, ok := Partial(in)
		if string(got) != want && !(ok && sameValue(got, []byte(want))) {
			t.Errorf("%s shows %s, not %s", in, got, want)
		}
	}
}
