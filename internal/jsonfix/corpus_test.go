package jsonfix

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
)

type corpusRow struct {
	Broken   string          `json:"broken"`
	Expected json.RawMessage `json:"expected"`
	Error    json.RawMessage `json:"expected_error"`
	Valid    bool            `json:"already_valid"`
	Allow    string          `json:"allow"`
}

func readCorpus(t *testing.T, name string) []corpusRow {
	t.Helper()
	return corpus.Lines[corpusRow](t, corpus.Path(t, name))
}

func worst(edits []llm.Repair) llm.RepairClass { return llm.Provenance{Repairs: edits}.Worst() }

// sameValue compares two JSON texts by value; numbers by their value too.
func sameValue(a, b []byte) bool {
	var x, y any
	return string(a) == string(b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// differ says why we read a row of jsonrepair.jsonl (by its number, from 0)
// otherwise than it asks. None of these readings is called intact, syntax or
// completion, so none is run without a question where that matters.
var differ = map[int]string{
	74:  "the end of a string is missing: we keep its commas, the row ends it at the first",
	82:  "as row 74",
	88:  "as row 74",
	91:  "the end of a string is missing before a comment; in a string we see no comments",
	92:  "as row 91",
	93:  "as row 91",
	116: "a key was cut off: we keep the space at its end",
	169: `a backslash that escapes nothing stays, as "\\d" in a regular expression needs it; the row drops it`,
	240: "a word before the value: we take the value and call it a guess; the row refuses",
	258: "the text escaped twice has a quote too few: there is no right reading",
	356: "the end of a string is missing before a plus; in a string we see no plus",
	357: "as row 356",
	358: "as row 356",
	377: "a minus alone is text for us; the row takes it for 0",
	410: "two values: we take them for an array and call it a guess; the row refuses",
	412: "a word after the value: as row 240",
	414: "an escape that is none: the backslash stays, as in C:\\users; the row refuses",
	415: "as row 414",
	416: "as row 414",
	417: "a control character in a string: escaped, and called a guess; the row refuses",
	418: "as row 417",
}

func TestJSONRepairCorpus(t *testing.T) {
	rows := readCorpus(t, "json_repair/jsonrepair.jsonl")
	same := 0
	recovered, wrong := map[llm.RepairClass]int{}, map[llm.RepairClass]int{}
	for i, row := range rows {
		value, edits, err := Fix(row.Broken)
		class := worst(edits)
		agree := err != nil && row.Error != nil || err == nil && row.Error == nil && sameValue(value, row.Expected)
		switch {
		case agree && err == nil:
			recovered[class]++
		case !agree && err == nil:
			wrong[class]++
		}
		if agree {
			same++
		}
		if agree == (differ[i] != "") {
			t.Errorf("row %d: %q\ngives  %s %v %v\nwanted %s %s\nbut the table says %q", i, row.Broken, value, edits, err, row.Expected, row.Error, differ[i])
		}
		if err == nil && !json.Valid(value) || row.Valid && len(edits) > 0 {
			t.Errorf("row %d: %q gives %s %v", i, row.Broken, value, edits)
		}
	}
	t.Logf("%d of %d the same (%.1f %%); recovered by class %v; valid but different by class %v",
		same, len(rows), 100*float64(same)/float64(len(rows)), recovered, wrong)
	for class := llm.Intact; class <= llm.Completion; class++ {
		if wrong[class] > 0 {
			t.Errorf("%d values are wrong and called %v", wrong[class], class)
		}
	}
	if 100*same < 92*len(rows) {
		t.Errorf("%d of %d the same: fewer than 92 %%", same, len(rows))
	}
}
