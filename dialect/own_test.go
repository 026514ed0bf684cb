package dialect_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// ownDialects returns n dialects of a user's own, of four forms in turn, and
// what a call looks like in each.
func ownDialects(n int) (rows []spec.Dialect, texts []string) {
	for i := range n {
		name := fmt.Sprintf("own_%03d", i)
		open, end := fmt.Sprintf("<<call %03d>>", i), fmt.Sprintf("<<end %03d>>", i)
		d := spec.Dialect{Name: name, Form: spec.JSONCall, Call: []spec.Pair{{Open: open, Close: end}}, NameKey: "name", ArgsKey: "arguments"}
		text := open + `{"name": "find_room", "arguments": {"town": "Siena", "beds": 2}}` + end
		switch i % 4 {
		case 1:
			sep := fmt.Sprintf("<<with %03d>>", i)
			d.Form, d.Sep = spec.NameJSON, []string{sep}
			text = open + "find_room" + sep + `{"town": "Siena", "beds": 2}` + end
		case 2:
			d.Form = spec.TagCall
			d.Tags = spec.Tags{
				Call:  spec.Pair{Open: fmt.Sprintf(`<do%03d tool="%%s">`, i), Close: fmt.Sprintf("</do%03d>", i)},
				Param: spec.Pair{Open: fmt.Sprintf(`<arg%03d key="%%s">`, i), Close: fmt.Sprintf("</arg%03d>", i)},
			}
			text = fmt.Sprintf(`%[1]s<do%03[3]d tool="find_room"><arg%03[3]d key="town">Siena</arg%03[3]d><arg%03[3]d key="beds">2</arg%03[3]d></do%03[3]d>%[2]s`, open, end, i)
		case 3:
			d.Form = spec.PyCall
			text = open + `find_room(town="Siena", beds=2)` + end
		}
		rows, texts = append(rows, d), append(texts, text)
	}
	return rows, texts
}

// There is no last row: each of 200 dialects of a user's own is read, hinted at
// or not, whole and byte by byte.
func TestManyOwnDialects(t *testing.T) {
	rows, texts := ownDialects(200)
	list, err := dialect.Builtin().With(rows...)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		want := "text \"Look: \"\ncall find_room {\"town\":\"Siena\",\"beds\":2} in " + rows[i].Name + "\n"
		for _, hint := range []string{"", rows[i].Name} {
			p := dialect.Parser{Tools: caseTools, Dialects: list, Dialect: hint}
			for _, chunk := range []int{len(text) + 6, 1} {
				if got := transcript(t, p, "Look: "+text, chunk); got != want {
					t.Errorf("%s in chunks of %d, hint %q:\n%s\ngot\n%s", rows[i].Name, chunk, hint, text, got)
				}
			}
		}
	}
	last := rows[len(rows)-1].Name
	got := transcript(t, dialect.Parser{Tools: []llm.ToolDef{}, Dialects: list}, texts[len(texts)-1], 1)
	if want := "warning suspected_call " + last + "\n"; !strings.HasSuffix(got, want) {
		t.Errorf("a call of the last dialect where nothing may be called: %s", got)
	}
}

// Dialects of a user's own change nothing in how the others are read.
func TestOwnDialectsBesideOthers(t *testing.T) {
	rows, _ := ownDialects(200)
	list, err := dialect.Builtin().With(rows...)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/cases/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			p := caseParser(archive.Files[i].Name)
			if strings.HasPrefix(archive.Files[i].Name, "hint ") {
				p.Dialect = strings.TrimSuffix(filepath.Base(file), ".txtar")
			}
			text := strings.TrimSuffix(string(archive.Files[i].Data), "\n")
			want := transcript(t, p, text, 7)
			p.Dialects = list
			if got := transcript(t, p, text, 7); got != want {
				t.Errorf("%s, %s: %s\nwith 200 more dialects:\n%s", file, archive.Files[i].Name, want, got)
			}
		}
	}
}

// What is wrong with a dialect is said, and nothing panics.
func TestOwnDialectsAreChecked(t *testing.T) {
	ok := spec.Dialect{Name: "acme", Call: []spec.Pair{{Open: "<<CALL>>", Close: "<<END>>"}}}
	for _, tt := range []struct {
		change func(*spec.Dialect)
		want   string
	}{
		{func(d *spec.Dialect) { d.Name = "" }, "the name"},
		{func(d *spec.Dialect) { d.Name = "a b" }, "the name"},
		{func(d *spec.Dialect) { d.Name = "hermes_json" }, `there is already a dialect called "hermes_json"`},
		{func(d *spec.Dialect) { d.Form = 99 }, "there is no form 99"},
		{func(d *spec.Dialect) { d.Text = 99 }, "to read text"},
		{func(d *spec.Dialect) { d.Write.Body = 99 }, "notation"},
		{func(d *spec.Dialect) { d.Results.ID = 99 }, "form of ids"},
		{func(d *spec.Dialect) { d.Call = nil }, "nothing says where a call begins"},
		{func(d *spec.Dialect) { d.Call[0].Open = "" }, "no Open"},
		{func(d *spec.Dialect) { d.Call[0].Open = "{" }, "must be 2 to 256 bytes long"},
		{func(d *spec.Dialect) { d.Call[0].Open = " call" }, "white space"},
		{func(d *spec.Dialect) { d.Call[0].Close = "a\x00b" }, "no text"},
		{func(d *spec.Dialect) { d.Think = []spec.Pair{{}} }, "Think is empty"},
		{func(d *spec.Dialect) { d.Drop = []string{""} }, "empty"},
		{func(d *spec.Dialect) { d.Sep = []string{""} }, "empty"},
		{func(d *spec.Dialect) { d.Form = spec.TagCall }, "the elements are missing"},
		{func(d *spec.Dialect) { d.Tags.Call.Open = "<do>" }, "has no %s"},
		{func(d *spec.Dialect) { d.Tags.Param.Open = "<do>" }, "has no %s"},
		{func(d *spec.Dialect) { d.Tags.Call.Open = "<do %s%" }, "without s, d or t"},
		{func(d *spec.Dialect) { d.Tags.Call.Open = `<do name="%s"` }, "nothing ends the tag"},
		{func(d *spec.Dialect) { d.Tags.Call.Open = `%s>` }, "must be 2"},
		{func(d *spec.Dialect) { d.Tags.Spaces = []string{""} }, "namespace"},
		{func(d *spec.Dialect) { d.Tags.Also = []spec.Pair{{Open: "<tool>", Close: "</tool>"}} }, "must have =%s"},
		{func(d *spec.Dialect) { d.Form = spec.Header }, "the header is missing"},
		{func(d *spec.Dialect) { d.Inline = []string{"<<CALL>>"} }, "does not begin with a letter"},
		{func(d *spec.Dialect) { d.Opening.Open = "all\n" }, "Opening needs both"},
		{func(d *spec.Dialect) { d.Tells = []spec.Tell{{}} }, "a tell is empty"},
		{func(d *spec.Dialect) { d.Write.Call = "$name" }, "has no $args"},
		{func(d *spec.Dialect) { d.Write.Call = "$args" }, "has no $name"},
		{func(d *spec.Dialect) { d.Write = spec.Writing{Call: "$name$args", Body: spec.ParamsBody} }, "has no $value"},
		{func(d *spec.Dialect) { d.Write = spec.Writing{Call: "$name$args", Types: []string{"x"}} }, "not six"},
		{func(d *spec.Dialect) { d.Write = spec.Writing{Call: "$name$args", Whole: true} }, "Text.Open"},
		{func(d *spec.Dialect) { d.Results.Each = "x" }, "no $text"},
		{func(d *spec.Dialect) { d.Results.Each = "$text" }, "no role"},
	} {
		d := ok.Clone()
		tt.change(&d)
		list, err := dialect.Builtin().With(d)
		if list != nil || llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
	if _, err := dialect.Builtin().With(ok, ok); llm.KindOf(err) != llm.Invalid {
		t.Errorf("the same dialect twice: %v", err)
	}
	list, err := dialect.Builtin().With(ok)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Render("acme", llm.Call{Name: "f"}); llm.KindOf(err) != llm.Unsupported {
		t.Errorf("a dialect that does not say how it is written: %v", err)
	}
}

// Every row of the table passes the check that holds for users' rows.
func TestBuiltinDialectsAreValid(t *testing.T) {
	for _, d := range dialect.Builtin().All() {
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// A list keeps nothing of the values it was made of, and a copy of a row shares
// no slice with it.
func TestListsDoNotChange(t *testing.T) {
	own := spec.Dialect{Name: "acme", Call: []spec.Pair{{Open: "<<CALL>>", Close: "<<END>>"}}}
	list, err := dialect.Builtin().With(own)
	if err != nil {
		t.Fatal(err)
	}
	own.Call[0].Open = "changed"
	if d, _ := list.Lookup("acme"); d.Call[0].Open != "<<CALL>>" {
		t.Error("a list changes with the value it was made of")
	}
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	}
	var shared func(path string, a, b reflect.Value)
	shared = func(path string, a, b reflect.Value) {
		switch a.Kind() {
		case reflect.Struct:
			for i := range a.NumField() {
				shared(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		case reflect.Slice:
			if a.Pointer() == b.Pointer() {
				t.Errorf("a copy shares %s", path)
				return
			}
			shared(path+"[0]", a.Index(0), b.Index(0))
		}
	}
	var full spec.Dialect
	fill(reflect.ValueOf(&full).Elem())
	copied := full.Clone()
	shared("Dialect", reflect.ValueOf(full), reflect.ValueOf(copied))
}

// The keys of an own dialect are read after its marker, whatever they are, and
// mean nothing elsewhere.
func TestOwnKeys(t *testing.T) {
	for _, keys := range [][2]string{{"fn", "with"}, {"op", "data"}, {"do", "payload"}, {"method", "params"}, {"command", "options"}, {"name", "arguments"}} {
		list, err := dialect.Builtin().With(spec.Dialect{
			Name: "own", Form: spec.JSONCall, Call: []spec.Pair{{Open: "<<KEYED>>", Close: "<<DONE>>"}}, NameKey: keys[0], ArgsKey: keys[1],
			Write: spec.Writing{Call: `<<KEYED>>{"` + keys[0] + `": "$name", "` + keys[1] + `": $args}<<DONE>>`},
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := list.Render("own", llm.Call{Name: "find_room", Args: json.RawMessage(`{"town":"Siena"}`)})
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range []int{1, 3, len(text)} {
			var got []string
			p := dialect.Parser{Dialects: list, Tools: caseTools}
			for ev, err := range p.Parse(dialect.Cut(text, chunk)) {
				if call, ok := ev.(llm.Call); ok && err == nil {
					got = append(got, call.Name+string(call.Args)+call.Provenance.Dialect)
				}
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], "find_room{") || !strings.HasSuffix(got[0], "own") {
				t.Errorf("%s in pieces of %d: %v", text, chunk, got)
			}
		}
		plain := `<tool_call>{"fn": "find_room", "with": {"town": "Siena"}}</tool_call>`
		for ev := range (&dialect.Parser{Dialects: list, Tools: caseTools}).Parse(dialect.Whole(plain)) {
			if call, ok := ev.(llm.Call); ok && call.Provenance.Worst() < llm.Guess {
				t.Errorf("%s: the keys of another dialect were read as if they were those of this one: %v", plain, call)
			}
		}
	}
}
