package jsonfix

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// corpusFile opens a file of the corpus, or skips the test.
func corpusFile(t *testing.T, name string) *os.File {
	t.Helper()
	dir := os.Getenv("TOOLPOST_CORPUS")
	for up := "."; dir == ""; up = filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			dir = filepath.Join(up, "..", "shared", "corpus")
		}
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("no corpus: %v (TOOLPOST_CORPUS says where it is)", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

type corpusRow struct {
	Broken   string          `json:"broken"`
	Expected json.RawMessage `json:"expected"`
	Error    json.RawMessage `json:"expected_error"`
	Valid    bool            `json:"already_valid"`
	Allow    string          `json:"allow"`
}

func readCorpus(t *testing.T, name string) []corpusRow {
	var rows []corpusRow
	lines := bufio.NewScanner(corpusFile(t, name))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row corpusRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func worst(edits []llm.Repair) llm.RepairClass { return llm.Provenance{Repairs: edits}.Worst() }

// sameValue compares two JSON texts by value; numbers by their value too.
func sameValue(a, b []byte) bool {
	var x, y any
	return string(a) == string(b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func TestJSONRepairCorpus(t *testing.T) {
	rows := readCorpus(t, "json_repair/jsonrepair.jsonl")
	same := 0
	recovered, wrong := map[llm.RepairClass]int{}, map[llm.RepairClass]int{}
	for i, row := range rows {
		value, edits, err := Fix(row.Broken)
		class := worst(edits)
		switch {
		case err != nil && row.Error != nil:
			same++
			continue
		case err == nil && row.Error == nil && sameValue(value, row.Expected):
			same++
			recovered[class]++
			continue
		case err == nil:
			if !json.Valid(value) {
				t.Errorf("row %d: %q gives invalid %s", i, row.Broken, value)
			}
			wrong[class]++
		}
		if row.Valid {
			t.Errorf("row %d is valid and was changed", i)
		}
		t.Logf("row %d: %q\n  gives  %s %v %v %v\n  wanted %s %s", i, row.Broken, value, class, edits, err, bytes.TrimSpace(row.Expected), row.Error)
	}
	t.Logf("%d of %d the same (%.1f %%); recovered by class %v; valid but different by class %v",
		same, len(rows), 100*float64(same)/float64(len(rows)), recovered, wrong)
	if n := wrong[llm.Intact] + wrong[llm.Syntax]; n > 0 {
		t.Errorf("%d values are wrong and called syntax", n)
	}
	if 100*same < 92*len(rows) {
		t.Errorf("%d of %d the same: fewer than 92 %%", same, len(rows))
	}
}
