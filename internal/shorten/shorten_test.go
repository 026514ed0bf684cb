package shorten

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/llm"
)

// people is a list of like objects as tools return it.
func people(n int) string {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"id": %d, "uuid": "7f3c9a52-0d1e-4b8a-9c77-%012d", "name": "Person %d", "active": true, "manager": null, "bio": %q}`,
			1000+i, i, i, strings.Repeat(fmt.Sprintf("worked on %d things in many places. ", i), 8)))
	}
	return "[" + strings.Join(rows, ",\n") + "]"
}

func TestShortResultsUnchanged(t *testing.T) {
	for _, mode := range []Mode{Detailed, Concise, Minimal} {
		for _, text := range []string{"", "done", "{\"a\": [1,  2]}\n", "a\n\n\nb"} {
			if v := Result(text, Options{Mode: mode}); v.Text != text || !v.Whole {
				t.Errorf("%v: %q became %+v", mode, text, v)
			}
		}
	}
	long := people(50)
	if v := Result(long, Options{}); v.Text != long || !v.Whole {
		t.Error("Detailed without a bound does not show all")
	}
}

func TestTables(t *testing.T) {
	v := Result(people(6), Options{Mode: Concise})
	head, rest, _ := strings.Cut(v.Text, "\n")
	if head != "[6]: id|uuid|name|bio" {
		t.Errorf("the head is %q", head)
	}
	for _, want := range []string{"active: true", "(empty: manager)", "1000|7f3c9a52-0d1e-4b8a-9c77-000000000000|Person 0|worked on", "Person 5"} {
		if !strings.Contains(rest, want) {
			t.Errorf("the table has no %q:\n%s", want, v.Text)
		}
	}
	if v.Whole || strings.Contains(v.Text, "{") {
		t.Errorf("it says that it is whole (%v), or looks like JSON:\n%s", v.Whole, v.Text)
	}
}

// TestIDs says when an id is left out: no tool takes it and nothing refers to it.
func TestIDs(t *testing.T) {
	const uuid = "7f3c9a52-0d1e-4b8a-9c77-000000000003"
	text := people(12)
	cases := []struct {
		name   string
		params []string
		text   string
		kept   bool
	}{
		{"nobody knows what tools take", nil, text, true},
		{"no tool takes it", []string{"path", "query"}, text, false},
		{"a tool takes it", []string{"person_uuid"}, text, true},
		{"something refers to it", []string{"path"}, strings.Replace(text, `"manager": null`, `"manager": "`+uuid+`"`, 1), true},
	}
	for _, c := range cases {
		v := Result(c.text, Options{Mode: Concise, Params: c.params, Tokens: 900})
		if got := strings.Contains(v.Text, uuid); got != c.kept {
			t.Errorf("%s: kept is %v:\n%s", c.name, got, v.Text)
		}
		if !strings.Contains(v.Text, "1003") {
			t.Errorf("%s: a number that people can say is gone", c.name)
		}
		if !c.kept && v.Whole {
			t.Errorf("%s: it says that it is whole", c.name)
		}
	}
}

func TestTaskWordsAreKept(t *testing.T) {
	v := Result(people(400), Options{Mode: Concise, Task: "What is the id of Person 317?"})
	if !strings.Contains(v.Text, "\n 1317|") {
		t.Errorf("the row that is asked for is not there:\n%s", v.Text)
	}
	var log strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&log, "2026-11-16 12:00:%02d worker %d took a job from the queue and is done with it\n", i%60, i)
	}
	text := strings.Replace(log.String(), "worker 1500 took", "error: disk full, worker 1500 gave up, took", 1)
	for _, o := range []Options{{Mode: Concise}, {Mode: Minimal}} {
		if v := Result(text, o); !strings.Contains(v.Text, "disk full") || !strings.Contains(v.Text, "of 3000 lines]") {
			t.Errorf("%v: the failure or the count is not there:\n%s", o.Mode, v.Text)
		}
	}
}

func TestRequiredFieldsAreKept(t *testing.T) {
	var fields []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf(`"field_%d": "some value of some length %d"`, i, i))
	}
	text := "{" + strings.Join(fields, ",") + "}"
	o := Options{Mode: Concise, Schema: json.RawMessage(`{"type":"object","required":["field_277"]}`)}
	if v := Result(text, o); !strings.Contains(v.Text, "field_277: some value") {
		t.Errorf("what the schema requires is not there:\n%s", v.Text)
	}
	if v := Result(text, Options{Mode: Concise}); strings.Contains(v.Text, "field_277: some value") {
		t.Error("it is there without the schema, too: the test shows nothing")
	}
}

// TestWrappedResults: JSON in strings, and the same content twice, as MCP servers
// return it.
func TestWrappedResults(t *testing.T) {
	inner := people(20)
	text, _ := json.Marshal(map[string]any{
		"_meta":             nil,
		"content":           []any{map[string]any{"type": "text", "text": inner, "annotations": nil}},
		"isError":           false,
		"structuredContent": map[string]any{"result": json.RawMessage(inner)},
	})
	got := Result(string(text), Options{Mode: Concise, Tokens: 600})
	want := Result(inner, Options{Mode: Concise, Tokens: 600})
	if diff := cmp.Diff(want.Text, got.Text); diff != "" {
		t.Errorf("the wrapping shows (-alone +wrapped):\n%s", diff)
	}
}

// TestBrokenJSON: what ends too early is said to, and what is no JSON is text.
func TestBrokenJSON(t *testing.T) {
	whole := people(60)
	for n := range len(whole) {
		if n%97 != 0 || n < 3000 {
			continue
		}
		v := Result(whole[:n], Options{Mode: Concise})
		if !strings.Contains(v.Text, breaksOff) || v.Whole {
			t.Fatalf("cut after %d bytes it looks whole:\n%s", n, v.Text)
		}
	}
	broken := strings.Replace(whole, `"name": "Person 30"`, `"name": Person 30`, 1)
	if _, ok := read(broken); ok {
		t.Error("what is no JSON is read as JSON")
	}
	if v := Result(broken, Options{Mode: Concise}); !strings.Contains(v.Text, "lines]") {
		t.Errorf("it is not shown as text:\n%s", v.Text)
	}
}

func TestYAMLAndRecords(t *testing.T) {
	yaml := "success: true\nmatched:\n"
	records := "Results:\n\n"
	for i := range 30 {
		yaml += fmt.Sprintf("- name: tool_%d\n  about: 'It does thing %d, and it''s\n    done %s'\n  input:\n    path: (string)\n", i, i, strings.Repeat("well ", 30))
		records += fmt.Sprintf("%d. Title %d\n   ID: %d\n   Points: %d | Author: someone\n   Preview: %s\n\n", i+1, i, 5000+i, i, strings.Repeat("words and words ", 20))
	}
	v := Result(yaml, Options{Mode: Concise})
	if !strings.HasPrefix(v.Text, "success: true\nmatched[30]: name|about") || !strings.Contains(v.Text, "tool_29") {
		t.Errorf("YAML:\n%s", v.Text)
	}
	v = Result(records, Options{Mode: Concise})
	if !strings.Contains(v.Text, "entries[30]: title|ID|Points") || !strings.Contains(v.Text, "5029") {
		t.Errorf("records:\n%s", v.Text)
	}
	for _, text := range []string{"a: 1\nb: 2\na: 3\nc: 4\n", "Note: this\nis prose: and more\nof it\nover lines\n", "key: &anchor x\nb: *anchor\nc: 1\nd: 2\n"} {
		if _, ok := readYAML(text); ok {
			t.Errorf("%q is read as YAML", text)
		}
	}
}

// TestViewBudget in all modes, for all kinds of results.
func TestViewBudget(t *testing.T) {
	texts := samples()
	for name, text := range texts {
		for _, mode := range []Mode{Concise, Minimal} {
			whole := llm.EstimateText(text)
			o := Options{Mode: mode}
			v := Result(text, o)
			// the notes at the end are not counted
			if got, most := llm.EstimateText(v.Text), o.budget(whole)+60; got > most {
				t.Errorf("%s, %v: %d tokens of %d, more than %d:\n%.2000s", name, mode, got, whole, most, v.Text)
			}
			if again := Result(text, o); again != v {
				t.Errorf("%s, %v: the same result has two views", name, mode)
			}
		}
	}
}

func samples() map[string]string {
	deep := strings.Repeat(`{"a":[`, 40) + `"x"` + strings.Repeat(`]}`, 40)
	return map[string]string{
		"table":      people(300),
		"text":       strings.Repeat("A sentence of some length, with words in it.\n", 500),
		"one line":   strings.Repeat("word and word, ", 4000),
		"one word":   strings.Repeat("x", 40000),
		"chinese":    strings.Repeat("查询特定列车车次在指定区间内的途径车站。", 800),
		"numbers":    "[" + strings.Repeat("12345, ", 4000) + "1]",
		"deep":       "[" + strings.Repeat(deep+",", 60) + "1]",
		"wide":       wide(3000),
		"html":       "<html>" + strings.Repeat(`<tr><td class="c">1</td><td>2</td></tr>`+"\n", 900) + "</html>",
		"base64":     `{"data":"` + strings.Repeat("QUJD", 9000) + `","name":"picture.png"}`,
		"json lines": strings.Repeat(`{"Action":"run","Test":"TestX"}`+"\n", 900),
		"keys":       `{"` + strings.Repeat("k", 30000) + `":1,"b":[1,2]}`,
	}
}

func wide(n int) string {
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// TestPagesCoverTheResult: page after page has every value of a result.
func TestPagesCoverTheResult(t *testing.T) {
	for name, text := range samples() {
		var pages strings.Builder
		for from := 1; ; {
			p := Page(text, Query{From: from})
			if len(p.Lines) == 0 {
				break
			}
			if n := len(strings.Join(p.Lines, "\n")); n > pageBytes+lineBytes {
				t.Fatalf("%s: a page has %d bytes", name, n)
			}
			for _, l := range p.Lines {
				pages.WriteString(l)
			}
			from = p.Numbers[len(p.Numbers)-1] + 1
		}
		got := pages.String()
		for _, leaf := range leavesOf(text) {
			if !strings.Contains(got, leaf) {
				t.Fatalf("%s: no page has %.80q", name, leaf)
			}
		}
	}
	p := Page(people(400), Query{Match: "person 317"})
	if p.Matching != 1 || len(p.Lines) != 4 || p.Heads != 3 || p.Lines[0] != "[400]: id|uuid|name|bio" || p.Numbers[0] != 1 || !strings.Contains(p.Lines[3], "1317") || p.Numbers[3] < 300 {
		t.Errorf("the filter finds %+v", p)
	}
	if p := Page(people(400), Query{From: 1 << 40}); len(p.Lines) != 0 || p.Of == 0 {
		t.Errorf("beyond the end there is %+v", p)
	}
}

// leavesOf returns the texts and numbers of JSON, and the lines of other text.
func leavesOf(text string) []string {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return strings.Fields(strings.Join(strings.SplitAfter(text, "\n"), " "))[:1]
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range v {
				walk(k)
			}
		case []any:
			for _, k := range v {
				walk(k)
			}
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		}
	}
	walk(v)
	return out
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Detailed, Concise, Minimal} {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("short"); err == nil {
		t.Error("a mode that does not exist is read")
	}
}

func TestResultIsLinear(t *testing.T) {
	for name, make := range map[string]func(int) string{
		"table":   func(n int) string { return people(n / 400) },
		"text":    func(n int) string { return strings.Repeat("A sentence with words in it, number 17.\n", n/40) },
		"line":    func(n int) string { return strings.Repeat("word and word_2, ", n/17) },
		"cut":     func(n int) string { return people(n / 400)[:n/2] },
		"yaml":    func(n int) string { return strings.Repeat("- a: 'it\n    is'\n  b: 2\n", n/24) },
		"quotes":  func(n int) string { return strings.Repeat("- a: 'it\n", n/9) },
		"escapes": func(n int) string { return `{"a":"` + strings.Repeat(`\u00e9\n`, n/8) },
		"html": func(n int) string {
			return "<html>" + strings.Repeat(`<p class="c">a <b>1</b> < 2</p>`+"\n", n/32) + "</html>"
		},
		"half tags": func(n int) string {
			return "<p>" + strings.Repeat(`<a b="<a c='`, n/12) + "</p>"
		},
		"columns": func(n int) string { return "A    B    C\n" + strings.Repeat("1         3\n", n/12) },
		"keys":    func(n int) string { return "{" + strings.TrimSuffix(strings.Repeat(`"k":1,`, n/6), ",") + "}" },
		"repeats": func(n int) string { return strings.Repeat("the same line\n", n/14) },
		"tags":    func(n int) string { return strings.Repeat("<a href=\"", n/18) + strings.Repeat("</", n/4) },
	} {
		t.Run(name, func(t *testing.T) {
			linear.Check(t, name, 20_000, func(n int) func() {
				text := make(n)
				return func() { Result(text, Options{Mode: Concise, Task: "find number 17 in the words"}) }
			})
		})
	}
}

func FuzzResult(f *testing.F) {
	for _, text := range samples() {
		f.Add(text[:min(len(text), 3000)], "find a name", uint16(50))
	}
	f.Add("a: 'b\nc: d'\n- x\n- y\n", "", uint16(1))
	f.Add("0:\n00  0: 0\n00:\n1:\n", "", uint16(1))
	f.Add("items:\n- a: 1\n  b: 2\n- a: 3\n  b: []\n", "", uint16(1))
	f.Add("A    B    C\n1         3\n2    x\n3         y\n", "", uint16(1))
	f.Add(`<?xml version="1.0"?><r><i id="0" v='1'/><![CDATA[a<b]]><!-- c --><b and c></r>`, "", uint16(1))
	f.Add(`{"a":1,"a":2,"a (2)":3,"":" ","b|c":"x; y"}`, "", uint16(1))
	f.Add("1. a\n b: c\n2. d\n e: f\n3. g\n h: i\n", "", uint16(1))
	f.Fuzz(func(t *testing.T, text, task string, tokens uint16) {
		for _, mode := range []Mode{Concise, Minimal} {
			o := Options{Mode: mode, Task: task, Tokens: int(tokens%500) + 1, Params: []string{"path"}}
			v := Result(text, o)
			if utf8.ValidString(text) && !utf8.ValidString(v.Text) {
				t.Fatalf("a character of %q is cut: %q", text, v.Text)
			}
			if got := llm.EstimateText(v.Text); v.Text != text && got > max(o.Tokens, leastBudget) {
				t.Fatalf("%d tokens for %d:\n%s", got, o.Tokens, v.Text)
			}
			if js := strings.TrimSpace(text); !json.Valid([]byte(js)) && v.Text != text && json.Valid([]byte(v.Text)) {
				t.Fatalf("%q is no JSON and is shown as %q", text, v.Text)
			}
			if v.Shown > v.Of || v.Whole && v.Shown < v.Of {
				t.Fatalf("whole is %v, and %d of %d are shown:\n%s\nof\n%s", v.Whole, v.Shown, v.Of, v.Text, text)
			}
		}
		p := Page(text, Query{From: int(tokens % 7), Match: task})
		if len(strings.Join(p.Lines, "\n")) > pageBytes+lineBytes {
			t.Fatal("a page is too long")
		}
	})
}

func BenchmarkResult(b *testing.B) {
	for name, text := range map[string]string{"table": people(100), "text": strings.Repeat("A sentence of some length, with words in it.\n", 800)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Result(text, Options{Mode: Concise, Task: "Which person is number 17?"})
			}
		})
	}
}
