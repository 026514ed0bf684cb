package dialect_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
)

// A long answer moves the buffer of the reader again and again. Every case, said
// often enough for that, is read in chunks unchanged read whole.
func TestRepeatedCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			unit := string(archive.Files[i].Data)
			if unit == "" || len(unit) > 600 {
				continue
			}
			text, p := strings.Repeat(unit, 2400/len(unit)+1), caseParser(archive.Files[i].Name)
			whole := parse(t, p, dialect.Whole(text))
			whole.Warnings = nil // how often something was suspected may depend on the chunks
			for _, size := range []int{101, 640} {
				cut := parse(t, p, dialect.Cut(text, size))
				cut.Warnings = nil
				if !reflect.DeepEqual(cut, whole) {
					t.Errorf("%s, %s, said %d times, in chunks of %d:\n%+v\nwhole\n%+v", file, archive.Files[i].Name, len(text)/len(unit), size, cut, whole)
				}
			}
		}
	}
}
