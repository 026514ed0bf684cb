package dialect_test

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// caseKinds are the kinds of text that models write in no dialect, or that only
// talk about calls, with the file of their cases and how the names of these
// begin; without that, every case of the file counts.
var caseKinds = []struct{ kind, file, prefix string }{
	{"Markdown escapes", "markdown_escapes", ""},
	{"calls as strings in a list", "loose_strings", ""},
	{"pairs and tuples", "loose_pairs", ""},
	{"quoted names", "loose_names", ""},
	{"wrapped names", "loose_wrapped", ""},
	{"labels", "labelled", ""},
	{"flat objects", "flat_objects", ""},
	{"a name and JSON on the next line", "name_then_json", ""},
	{"positional arguments", "positional", ""},
	{"brackets that do not match", "brackets", ""},
	{"lists with one bad call", "partly_bad_lists", ""},
	{"elements", "xml_tagname", ""},
	{"YAML in elements", "yaml_tagname", ""},
	{"broken strings", "broken_strings", ""},
	{"sentences", "place", "sentence"},
	{"ends of answers", "place", "end"},
	{"blocks", "place", "block"},
	{"quotes", "place", "quote"},
	{"documents", "place", "document"},
	{"fences", "place", "fence"},
	{"definitions", "place", "definition"},
	{"results", "place", "result"},
	{"text behind a call", "place", "behind"},
	{"forms that nothing reads", "suspected", ""},
	{"calls between marks", "enclosed", ""},
	{"talk", "talk", ""},
	{"calls like talk", "twin", ""},
}

var lastNumber = regexp.MustCompile(` \d+$`)

// Every kind of text has at least twenty cases.
func TestKindsHaveCases(t *testing.T) {
	const enough = 20
	for _, k := range caseKinds {
		archive, err := txtar.ParseFile("testdata/cases/" + k.file + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, " means") && (k.prefix == "" || lastNumber.ReplaceAllString(f.Name, "") == k.prefix) {
				n++
			}
		}
		if n < enough {
			t.Errorf("%s: %d cases in %s.txtar, want %d", k.kind, n, k.file, enough)
		}
		t.Logf("%-35s %3d", k.kind, n)
	}
}

// Calls whose surroundings look like talk are read, and what is only talked about
// is read in few places: each of those is a guess, or listed with its reason.
func TestTalk(t *testing.T) {
	read := map[string]string{
		"talk 79": "a model that invents the observation calls, too",
		"talk 85": "an element that begins the answer has left when the sentence goes on",

		"many talk 49":  "a call, and the text behind its function is none",
		"many talk 102": "a model that invents the result calls, too",
	}
	for _, file := range []string{"talk", "twin", "talk_many", "twin_many"} {
		archive, err := txtar.ParseFile("testdata/cases/" + file + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			name, means := strings.CutSuffix(f.Name, " means")
			if !means {
				continue
			}
			sure, calls := 0, 0
			for line := range strings.Lines(string(f.Data)) {
				if strings.HasPrefix(line, "call ") {
					calls++
					if !strings.Contains(line, "(guess)") {
						sure++
					}
				}
			}
			switch {
			case strings.HasPrefix(file, "twin") && calls == 0:
				t.Errorf("%s calls nothing", name)
			case strings.HasPrefix(file, "talk") && (sure > 0) != (read[name] != ""):
				t.Errorf("%s: %d calls without doubt", name, sure)
			}
		}
	}
}
