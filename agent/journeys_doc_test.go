package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const journeysDoc = "../docs/journeys.md"

// journeyIDs are the journeys of the requirements.
func journeyIDs() []string {
	var ids []string
	for _, g := range []struct {
		letter string
		n      int
	}{{"A", 11}, {"H", 12}, {"E", 8}} {
		for i := range g.n {
			ids = append(ids, fmt.Sprintf("%s%d", g.letter, i+1))
		}
	}
	return ids
}

var numbered = regexp.MustCompile(`^([AHE]\d+), `)

// TestJourneysDoc keeps the table of journeys true: it is made from the files.
func TestJourneysDoc(t *testing.T) {
	files, err := filepath.Glob("testdata/journeys/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]string)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		what := strings.Join(strings.Fields(string(a.Comment)), " ")
		id := "also"
		if m := numbered.FindStringSubmatch(what); m != nil {
			id, what = m[1], strings.ToUpper(what[len(m[0]):len(m[0])+1])+what[len(m[0])+1:]
		}
		row := fmt.Sprintf("| %s | %s | [%s](../agent/%s) |", id, what, filepath.Base(file), filepath.ToSlash(file))
		rows[id] = append(rows[id], row)
	}
	var b bytes.Buffer
	b.WriteString(journeysIntro)
	ids := journeyIDs()
	if len(ids) != 31 {
		t.Fatalf("%d journeys", len(ids))
	}
	for _, id := range append(ids, "also") {
		if len(rows[id]) == 0 {
			t.Errorf("no file plays journey %s", id)
		}
		for _, row := range slices.Sorted(slices.Values(rows[id])) {
			b.WriteString(row + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(journeysDoc, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	doc, err := os.ReadFile(journeysDoc)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(doc, b.Bytes()) {
		t.Errorf("%s is not what the journeys say; write it again with go test ./agent -run Journeys -update", journeysDoc)
	}
}

const journeysIntro = `# Journeys

Look up which conversations are tested: of an agent (A), a person (H) and an error (E). Each is played against the simulator over HTTP, with native calls
and with calls in text, streamed and whole. The result must be the same every time, the record must verify, and its replay must
agree. This table is generated from the files by ` + "`go test ./agent -run Journeys -update`" + `.

| | shows | file |
|---|---|---|
`
