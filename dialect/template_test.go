package dialect

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestFromTemplate(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/template/tells.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		want, _, _ := strings.Cut(f.Name, ".")
		if want == "none" {
			want = ""
		}
		name, why := Builtin().FromTemplate(string(f.Data))
		if name != want || (name == "") != (why == "") {
			t.Errorf("%s: got %q because %q", f.Name, name, why)
		}
	}
}

// unmarked are the dialects whose calls carry no marker that a template would
// show, and what their own calls look like instead.
var unmarked = map[string]string{
	"envelope":        "",
	"ernie45":         "hermes_json", // differs only where it wraps text
	"gemma3_prompted": "gemma3_prompted",
	"glm4_classic":    "",
	"json_fence":      "",
	"llama3_builtin":  "llama3_json", // one model writes both
	"llama3_json":     "",
	"pythonic":        "",
	"functionary_v32": "functionary_v32",
	"xml_tagname":     "",
	"yaml_tagname":    "",
}

// A template that prints a dialect's calls gives it away, unless the calls
// lack marker.
func TestFromTemplateFindsEveryMarker(t *testing.T) {
	for _, d := range Builtin().All() {
		name := d.Name
		text, err := Builtin().Render(name, turn[2:]...)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := unmarked[name]
		if !ok {
			want = name
		}
		if got, why := Builtin().FromTemplate(text); got != want {
			t.Errorf("%s: taken for %q because %s", name, got, why)
		}
	}
}

// Every rule can be reached.
func TestTells(t *testing.T) {
	for i, tl := range tellsOf(Builtin().All()) {
		text := strings.Join(tl.All, "\n")
		if got, why := Builtin().FromTemplate(text); got != tl.dialect {
			t.Errorf("rule %d for %s is never reached: %s because %s", i, tl.dialect, got, why)
		}
	}
}
