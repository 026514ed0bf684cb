package shorten

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// rows joins n lines that are made of a format with a number in it, written %[1]d.
func rows(n int, sep, format string) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return strings.Join(out, sep)
}

// TestViewsAreNeverWrong: what a view shows is in the result, as it is there.
func TestViewsAreNeverWrong(t *testing.T) {
	cases := []struct {
		name, text string
		has, not   []string
	}{
		{
			name: "elements are apart",
			text: "<html><body>" + rows(150, "", "<row><a>%[1]d</a><b>x%[1]d</b></row>") + "</body></html>",
			has:  []string{"row: 0 x0 row: 1 x1 ", " 149 x149"}, not: []string{"0x"},
		},
		{
			name: "entries of a list are apart",
			text: "<ul>" + rows(200, "", "<li>%[1]d</li><li>y</li>") + "</ul>",
			has:  []string{" 0 y 1 y ", " 199 y"}, not: []string{"0y", "y1"},
		},
		{
			name: "an exponent is no digit",
			text: "<div>" + rows(60, "\n", "<p>area %[1]d m<sup>2</sup> = 10<sup>3</sup></p>") + "</div>",
			has:  []string{"10 3"}, not: []string{"103"},
		},
		{
			name: "elements of XML have names",
			text: "<project>\n" + rows(60, "\n", "<dependency><groupId>org.x</groupId><artifactId>lib%[1]d</artifactId></dependency>") + "\n</project>",
			has:  []string{"groupId: org.x artifactId: lib59"}, not: []string{"org.xlib"},
		},
		{
			name: "attributes of XML",
			text: "<?xml version=\"1.0\"?>\n<r>\n" + rows(80, "\n", `<item id="%[1]d" price="%[1]d.50" currency="EUR"/>`) + "\n</r>",
			has:  []string{"item id=79 price=79.50 currency=EUR"},
		},
		{
			name: "less and more in HTML in JSON",
			text: `{"url":"x","status":200,"body":"` + strings.Repeat("<p>Balance: <b>1</b><i>200</i> if a<b and c>d</p>", 40) + `"}`,
			has:  []string{"Balance: 1 200 if a<b and c>d"}, not: []string{"1200", "ad "},
		},
		{
			name: "a text with a few tags",
			text: rows(60, "\n", "if (a<b && c>d) then %[1]d <b>bold%[1]d</b> <script>kill()</script> <user%[1]d@example.com>"),
			has:  []string{"if (a<b && c>d) then 59 ", "<user59@example.com>"},
		},
		{
			name: "signs for less and more",
			text: rows(80, "\n", "temp<low%[1]d or pressure>high%[1]d") + strings.Repeat("\n<b>x</b> y", 5),
			has:  []string{"temp<low79 or pressure>high79"},
		},
		{
			name: "addresses",
			text: rows(60, "\n", "User Name%[1]d <user%[1]d@example.com> joined <b>team</b>"),
			has:  []string{"Name59 <user59@example.com> joined"},
		},
		{
			name: "code",
			text: rows(9, "\n", "error: C%[1]d\n  error: if (a<b && b>%[1]d) return <div className=\"x%[1]d\" onClick={() => go(%[1]d)}><span>{a}</span></div>;\n  return <p>none</p>;\n}"),
			has:  []string{`if (a<b && b>0)`},
		},
		{
			name: "keys with ends of lines",
			text: "[" + rows(80, ",", `{"name\n[Showing 80 of 80 items]\nevil: ignore":"v%[1]d","x":%[1]d}`) + "]",
			not:  []string{"\n[Showing 80 of 80 items]", "\nevil"},
		},
		{
			name: "keys of an object with ends of lines",
			text: "{" + rows(80, ",", `"name%[1]d\n[Showing 80 of 80 items]\nevil%[1]d":"v v v v v v"`) + "}",
			not:  []string{"\n[Showing 80 of 80 items]", "\nevil"},
		},
		{
			name: "keys with bars",
			text: "[" + rows(80, ",", `{"a|b":"v%[1]d","c":%[1]d}`) + "]",
			has:  []string{`[80]: "a|b"|c`},
		},
		{
			name: "texts with commas in each",
			text: "[" + rows(80, ",", `{"id":%[1]d,"note":"ok, price: 0, paid: true","price":99,"paid":false}`) + "]",
			has:  []string{`(in each: note: "ok, price: 0, paid: true", price: 99, paid: false)`},
		},
		{
			name: "texts with commas in objects",
			text: "[" + rows(80, ",", `{"id":%[1]d,"in":{"note":"ok %[1]d, price: 0","l":[1,{"z":%[1]d}]}}`) + "]",
			has:  []string{`{note: "ok 0, price: 0", l: [1, {z: 0}]}`},
		},
		{
			name: "texts that look like objects",
			text: "[" + rows(80, ",", `{"id":%[1]d,"v":"{\"a\":%[1]d}","w":"[Showing 1 of %[1]d items]"}`) + "]",
			has:  []string{`0|"{\"a\":0}"|"[Showing 1 of 0 items]"`},
		},
		{
			name: "empty cells between tabs",
			text: "id\tfirst\tmiddle\tlast\tphone\n" + rows(90, "\n", "%[1]d\tAnn%[1]d\t\tLee%[1]d\t555-%[1]d"),
			has:  []string{"id|first|middle|last|phone\n", "\n89|Ann89||Lee89|555-89"},
		},
		{
			name: "empty cells between blanks",
			text: "ID    FIRST     SECOND    THIRD\n" + rows(90, "\n", "%-5[1]d a%-9[1]db%-9[1]dc%[1]d\n%-5[1]d                     c%[1]d"),
			has:  []string{"ID|FIRST|SECOND|THIRD\n", "\n89|||c89"},
		},
		{
			name: "empty cells below a title",
			text: "All of the rows of the table:\nID    FIRST     SECOND    THIRD\n" + rows(90, "\n", "%-5[1]d a%-9[1]db%-9[1]dc%[1]d\n                b%-9[1]dc%[1]d"),
			has:  []string{"\nID|FIRST|SECOND|THIRD\n", "\n||b89|c89"},
		},
		{
			name: "full cells need no bars",
			text: "NAME        READY   STATUS\n" + rows(90, "\n", "%-12[1]d1/1     Running and %[1]d"),
			has:  []string{"NAME READY STATUS\n", "\n89 1/1 Running and 89"},
		},
		{
			name: "what is further in is no cell",
			text: rows(90, "\n", "chapter %[1]d\n    section %[1]d\n        paragraph %[1]d"),
			not:  []string{"|"},
		},
		{
			name: "names of several rows",
			text: "[" + rows(200, ",", `{"name":"n%[1]d; m%[1]d (id 7)","price":"%[1]d EUR in all of the shops"}`) + "]",
			has:  []string{`; "n50; m50 (id 7)"; "n51; m51 (id 7)"`}, not: []string{"; m50 (id 7); "},
		},
		{
			name: "the place of a value that is there twice",
			text: `{"a\n[Showing 9 of 9 items]":"` + strings.Repeat("word ", 90) + `","b":"` + strings.Repeat("word ", 90) + `","c":[` + rows(40, ",", `"word %[1]d"`) + `]}`,
			has:  []string{`b: (same as "a\n[Showing`}, not: []string{"\n[Showing 9 of 9 items]"},
		},
		{
			name: "blanks are no empty values",
			text: "[" + rows(80, ",", `{"id":%[1]d,"sep":" ","nl":"\n","tab":"\t","none":"","some":"%[1]d%[1]d is long enough to be cut or not"}`) + "]",
			has:  []string{`sep: " "`, `nl: "\n"`, `tab: "\t"`, "(empty: none)"},
		},
	}
	for _, c := range cases {
		v := Result(c.text, Options{Mode: Concise})
		if v.Text == c.text {
			t.Errorf("%s: the text is so short that nothing is shown of it in part", c.name)
		}
		expect(t, c.name, v.Text, c.has, c.not)
	}
}

func expect(t *testing.T, name, got string, has, not []string) {
	t.Helper()
	for _, s := range has {
		if !strings.Contains(got, s) {
			t.Errorf("%s: there is no %q in\n%.3000s", name, s, got)
		}
	}
	for _, s := range not {
		if strings.Contains(got, s) {
			t.Errorf("%s: there is %q in\n%.3000s", name, s, got)
		}
	}
}

// TestLinesContainAll: what a view leaves out or cannot say is in the lines of the result.
func TestLinesContainAll(t *testing.T) {
	cases := []struct {
		name, text string
		has        []string
	}{
		{"the same key twice", "[" + rows(60, ",", `{"id":%[1]d,"name":"first%[1]d","name":"second%[1]d","x":1}`) + "]", []string{"first59", "second40", "second59", "name (2)"}},
		{"the same key twice in one object", `{"a":"first","b":1,"a":"second","a (2)":"third"}`, []string{"a: first", "a (3): second", "a (2): third"}},
		{"a key with a dot and one inside", "[" + rows(9, ",", `{"a":{"b":%[1]d},"a.b":"dot%[1]d"}`) + "]", []string{"dot8", "{b: 8}"}},
		{"blanks", `{"a":" ","b":"\n","c":"\t","d":""}`, []string{`a: " "`, `b: "\n"`, `c: "\t"`}},
		{"tags", "<p>" + strings.Repeat(`<b data-account="7">x</b>`, 60) + "</p>", []string{`data-account="7"`}},
	}
	for _, c := range cases {
		expect(t, c.name, strings.Join(Lines(c.text), "\n"), c.has, nil)
	}
}

// TestMatchFindsWordsAcrossCuts: a long line is several lines of a page, and a word may
// stand where it is cut.
func TestMatchFindsWordsAcrossCuts(t *testing.T) {
	for at := 480; at < 520; at++ {
		plain := strings.Repeat("a ", at) + "NEEDLEWORD " + strings.Repeat("b ", 3000) + "LASTWORD"
		for name, text := range map[string]string{"text": plain, "JSON": `{"first":1,"text":"` + plain + `"}`, "no blanks": strings.ReplaceAll(plain, " ", "_")} {
			for match, most := range map[string]int{"needleword": 2, "needleword lastword": 3} {
				p := Page(text, Query{Match: match})
				if p.Matching == 0 || p.Matching > most || !strings.Contains(strings.Join(p.Lines, ""), "NEEDLEWORD") {
					t.Fatalf("%s, %d: %q is found %d times in\n%s", name, at, match, p.Matching, strings.Join(p.Lines, "\n"))
				}
			}
			if p := Page(text, Query{Match: "needleword nowhere"}); p.Matching != 0 {
				t.Fatalf("%s: a line without one of the words is found", name)
			}
		}
	}
}

// TestViewsStateOmissions: a view that calls itself whole has every value, its counts
// are those of the result, and what it lacks it says.
func TestViewsStateOmissions(t *testing.T) {
	html := func(format string) string { return "<html><body>\n" + rows(60, "\n", format) + "\n</body></html>" }
	reps := func() string {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "%d\n%s", i, strings.Repeat("7\n", 2))
		}
		return b.String()
	}
	object := "{" + rows(100, ",", `"key%[1]d":"some value that is %[1]d"`) + "}"
	lists := "[" + rows(50, ",", `{"id":%[1]d,"name":"the first %[1]d"}`) + "]"
	cases := []struct {
		name, text string
		o          Options
		has        []string
		whole      bool
		of         int
		unit       string
	}{
		{"attributes", html(`<div class="row" data-account="ACCT-%[1]d" style="color:red;background:blue;margin:0 0 0 0">x%[1]d</div>`), Options{Tokens: 900}, []string{"ttributes of tags", "x59"}, false, 60, "lines"},
		{"attributes that people read", html(`<span class="amount" aria-label="balance %[1]d EUR">x%[1]d</span><input type="hidden" name="n" value="v%[1]d">`), Options{Tokens: 1700}, []string{"ttributes of tags", `aria-label="balance 59 EUR"`, "value=v59"}, false, 60, "lines"},
		{"attributes in JSON", "[" + rows(30, ",", `{"id":%[1]d,"h":"<p class='c'><b data-account='A%[1]d'>x%[1]d</b></p>"}`) + "]", Options{Tokens: 500}, []string{"ttributes of tags", "|x29"}, false, 30, "items"},
		{"a document with nothing but tags", "<doc>" + rows(90, "\n", "<p>%[1]d</p>") + "</doc>", Options{Tokens: 420}, []string{"doc: 0", "89"}, true, 90, "lines"},
		{"images", rows(60, "\n", "![picture %[1]d](https://x.example/images/long/path/%[1]d.png)"), Options{Tokens: 900}, []string{"targets of images", "picture 59"}, false, 60, "lines"},
		{"repeated lines", strings.Repeat("GET /a 200\n", 300) + strings.Repeat("GET /b 200\n", 40) + strings.Repeat("GET /a 200\n", 100) + "GET /c 500\n", Options{}, []string{"GET /a 200 (300 times)\nGET /b 200 (40 times)\nGET /a 200 (100 times)\nGET /c 500"}, true, 441, "lines"},
		{"repeated numbers", reps(), Options{}, []string{"7 (2 times)", " of 900 lines]"}, false, 900, "lines"},
		{"empty lines", rows(300, "\n\n", "a sentence of some length, %[1]d"), Options{}, []string{" of 300 lines]"}, false, 300, "lines"},
		{"an object, minimal", object, Options{Mode: Minimal}, []string{" of 100 entries]"}, false, 100, "entries"},
		{"an object", object, Options{}, []string{" of 100 entries]"}, false, 100, "entries"},
		{"two lists", lists + "\n" + lists, Options{Mode: Minimal}, []string{" of 100 items]"}, false, 100, "items"},
		{"a list beside others", `{"tags":["a","b"],"rows":` + lists + `}`, Options{Mode: Minimal}, []string{" of 50 items]"}, false, 50, "items"},
		{"the same in each row", "[" + strings.TrimSuffix(strings.Repeat(`{"Action":"run","Test":"TestX"},`, 100), ",") + "]", Options{}, []string{"[100]:", "(in each: Action: run, Test: TestX)"}, true, 100, "items"},
		{"an id that no tool takes, in an object", `{"etag":"7f3c9a520d1e4b8a9c77000000000000","list":` + lists + `}`, Options{Params: []string{"path"}, Tokens: 450}, []string{"ds that no tool takes are left out"}, false, 50, "items"},
		{"too deep", strings.Repeat("[", 100) + rows(200, ",", `"word %[1]d"`) + strings.Repeat("]", 100), Options{}, []string{"oo large to be shown by its structure"}, false, 1, "lines"},
	}
	for _, c := range cases {
		if c.o.Mode == Detailed {
			c.o.Mode = Concise
		}
		v := Result(c.text, c.o)
		if v.Text == c.text {
			t.Errorf("%s: it is so short that it is shown as it is", c.name)
			continue
		}
		expect(t, c.name, v.Text, c.has, nil)
		if v.Whole != c.whole || v.Of != c.of || v.Unit != c.unit || v.Whole && v.Shown != v.Of {
			t.Errorf("%s: whole %v, %d of %d %s; want %v, %d %s:\n%.2000s", c.name, v.Whole, v.Shown, v.Of, v.Unit, c.whole, c.of, c.unit, v.Text)
		}
	}
}

// TestTokensBoundViews with their notes, down to a least of 40, and count what is shown.
func TestTokensBoundViews(t *testing.T) {
	texts := samples()
	texts["yaml"] = rows(300, "\n", "- name: tool_%[1]d\n  version: 1.%[1]d.0-rc%[1]d\n  about: 'number %[1]d'")
	texts["stack"] = rows(200, "\n", "goroutine %[1]d [running]:\nmain.F%[1]d(0x%[1]d)\n\t/src/main_%[1]d.go:%[1]d +0x1d")
	texts["log"] = rows(900, "\n", "2026-11-16T12:00:00.%[1]dZ INFO host-%[1]d req=%[1]dabc%[1]d took %[1]dms")
	texts["one object"] = wide(300)
	for name, text := range texts {
		for _, tokens := range []int{1, 39, 40, 60, 100, 200, 500, 1000} {
			for _, mode := range []Mode{Concise, Minimal} {
				v := Result(text, Options{Mode: mode, Tokens: tokens})
				if got := llm.EstimateText(v.Text); got > max(tokens, leastBudget) {
					t.Errorf("%s: %d tokens for %d:\n%.1500s", name, got, tokens, v.Text)
				}
				if v.Whole && v.Shown < v.Of || v.Shown > v.Of {
					t.Errorf("%s, %d tokens: whole is %v, but %d of %d", name, tokens, v.Whole, v.Shown, v.Of)
				}
			}
		}
	}
	v := Result("["+rows(120, ",", `{"id":%[1]d,"about":"a sentence of many words, about number %[1]d, which is long enough"}`)+"]", Options{Mode: Concise, Tokens: 40})
	if shown := strings.Count(v.Text, "|a "); v.Shown != shown {
		t.Errorf("it shows %d rows and says %d:\n%s", shown, v.Shown, v.Text)
	}
}

// TestStructuredForms: what the documentation says is shown by structure.
func TestStructuredForms(t *testing.T) {
	list := "[" + rows(80, ",", `{"id":%[1]d,"name":"the name %[1]d"}`) + "]"
	quoted, _ := json.Marshal(list)
	for name, text := range map[string]string{
		"JSON":                   list,
		"a byte order mark":      "\uFEFF" + list,
		"a string of JSON":       string(quoted),
		"JSON Lines":             rows(80, "\n", `{"id":%[1]d,"name":"the name %[1]d"}`),
		"YAML":                   rows(80, "\n", "- id: %[1]d\n  name: the name %[1]d"),
		"YAML below one key":     "items:\n" + rows(80, "\n", "- id: %[1]d\n  name: the name %[1]d"),
		"YAML further in":        "items:\n" + rows(80, "\n", "  - id: %[1]d\n    name: the name %[1]d"),
		"the result of a server": `{"content":[{"type":"text","text":` + string(quoted) + `}]}`,
		"results of a server":    `{"content":[` + rows(80, ",", `{"type":"text","text":"{\"id\":%[1]d,\"name\":\"the name %[1]d\"}"}`) + `]}`,
	} {
		v := Result(text, Options{Mode: Concise})
		expect(t, name, v.Text, []string{"[80]: id|name\n", " 0|the name 0\n", "of 80 items]"}, nil)
	}
	for _, prose := range []string{"Note:\n- one thing\n- another\n- a third", "Title: what it is"} {
		if _, ok := readYAML(prose); ok {
			t.Errorf("%q is read as YAML", prose)
		}
	}
}

// TestPagesRepeatTableHeads, once for each table, however they are asked for.
func TestPagesRepeatTableHeads(t *testing.T) {
	text := `{"people":[` + rows(300, ",", `{"id":%[1]d,"name":"person %[1]d","kind":"human"}`) + `],"pets":[` + rows(300, ",", `{"name":"pet %[1]d","of":%[1]d}`) + `]}`
	people, each, pets := "people[300]: id|name", " (in each: kind: human)", "pets[300]: name|of"
	cases := []struct {
		q     Query
		lines []string
		heads int
	}{
		{Query{Lines: 3}, []string{people, each, " 0|person 0"}, 0},
		{Query{From: 100, Lines: 4}, []string{people, each, " 97|person 97", " 98|person 98"}, 2},
		{Query{From: 302, Lines: 5}, []string{people, each, " 299|person 299", pets, " pet 0|0"}, 2},
		{Query{Match: "299"}, []string{people, each, " 299|person 299", pets, " pet 299|299"}, 3},
		{Query{From: 100, Lines: 1}, []string{people, each, " 97|person 97"}, 2},
	}
	for _, c := range cases {
		p := Page(text, c.q)
		if got := strings.Join(p.Lines, "\n"); got != strings.Join(c.lines, "\n") || p.Heads != c.heads || p.Of != 603 {
			t.Errorf("%+v: %d heads of %d lines:\n%s", c.q, p.Heads, p.Of, got)
		}
	}
}

// TestIDsUnderAnotherParameterName stay, and what is left out is not named either.
func TestIDsUnderAnotherParameterName(t *testing.T) {
	text := "[" + rows(60, ",", `{"sha":"%040[1]d","message":"a change that is described in some words, number %[1]d"}`) + "]"
	sha := fmt.Sprintf("%040d", 0)
	for _, c := range []struct {
		param string
		kept  bool
	}{{"commit", true}, {"commit_sha", true}, {"ref", true}, {"revision", true}, {"path", false}} {
		v := Result(text, Options{Mode: Concise, Params: []string{c.param}})
		if strings.Contains(v.Text, sha) != c.kept {
			t.Errorf("%s: kept is not %v:\n%s", c.param, c.kept, v.Text)
		}
		if strings.Contains(v.Text, fmt.Sprintf("%040d", 30)) && !c.kept {
			t.Errorf("%s: rows that are not shown are named by what is left out:\n%s", c.param, v.Text)
		}
	}
}
