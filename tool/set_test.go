package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func named(names ...string) []tool.Tool {
	var tools []tool.Tool
	for _, n := range names {
		tools = append(tools, tool.Tool{Name: n, Call: func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text(n), nil }})
	}
	return tools
}

func TestNewSetRefuses(t *testing.T) {
	long := strings.Repeat("a", 65)
	for _, c := range []struct {
		why   string
		tools []tool.Tool
		want  string
	}{
		{"two of one name", named("a", "a"), "two tools are called a"},
		{"an empty name", named(""), "cannot name a tool"},
		{"a dot", named("a.b"), "cannot name a tool"},
		{"65 letters", named(long), "cannot name a tool"},
		{"no function", []tool.Tool{{Name: "a"}}, "no function"},
		{"a broken schema", []tool.Tool{{Name: "a", Call: named("x")[0].Call, Input: json.RawMessage(`{"type":"nonsense"}`)}}, "the schema of a cannot be used"},
		{"a negative timeout", []tool.Tool{{Name: "a", Call: named("x")[0].Call, Timeout: -1}}, "negative"},
	} {
		if _, err := tool.NewSet(c.tools...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

func TestASetDoesNotChange(t *testing.T) {
	tools := named("a", "b")
	s := tool.MustSet(tools...)
	tools[0].Name = "changed"
	p := s.Prefix("ns")
	if diff := cmp.Diff([]string{"a", "b"}, s.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ns__a", "ns__b"}, p.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestNilSetIsEmpty(t *testing.T) {
	var s *tool.Set
	if _, ok := s.Lookup("a"); ok || s.Len() != 0 || len(s.Names()) != 0 || len(s.Defs()) != 0 || s.Schema("a") != nil || len(s.Nearest("a")) != 0 {
		t.Error("a nil set has something in it")
	}
	if got, left := s.Select("anything", tool.Selection{Tools: 1}); got.Len() != 0 || left != nil {
		t.Error("a selection of nothing")
	}
	if s.Prefix("x").Len() != 0 {
		t.Error("a prefix of nothing")
	}
}

// A namespace or name may itself contain the separator; the way back must not
// be found by splitting.
func TestPrefixIsReversible(t *testing.T) {
	long := strings.Repeat("tool", 15)
	for _, c := range []struct{ ns, name, why string }{
		{"docs", "search", "plain"},
		{"my__server", "read__file", "the separator on both sides"},
		{"my server/v2", "search", "characters names cannot have"},
		{"docs", long, "too long together"},
		{"天气", "search", "another script"},
	} {
		s := tool.MustSet(named(c.name)...).Prefix(c.ns)
		name := s.Names()[0]
		if !tool.ValidName(name) {
			t.Errorf("%s: %q is not valid", c.why, name)
		}
		ns, base, ok := s.Original(name)
		if !ok || ns != c.ns || base != c.name {
			t.Errorf("%s: %q came from %q %q", c.why, name, ns, base)
		}
		again := tool.MustSet(named(c.name)...).Prefix(c.ns).Names()[0]
		if again != name {
			t.Errorf("%s: %q, then %q", c.why, name, again)
		}
		tl, _ := s.Lookup(name)
		if out, err := tl.Run(t.Context(), nil); err != nil || out.Parts[0].(llm.Text).Text != c.name {
			t.Errorf("%s: the function is not the one of %s", c.why, c.name)
		}
	}
}

func TestShortenedNamesStayApart(t *testing.T) {
	long := strings.Repeat("x", 60)
	s := tool.MustSet(named(long+"a", long+"b")...).Prefix("some-server")
	if n := s.Names(); n[0] == n[1] || len(n[0]) > 64 || len(n[1]) > 64 {
		t.Errorf("%q", n)
	}
	for _, n := range []string{"a.b", "a b", "a/b", "", "é"} {
		if !tool.ValidName(tool.SafeName(n)) {
			t.Errorf("SafeName(%q) = %q", n, tool.SafeName(n))
		}
	}
	if tool.SafeName("a.b") == tool.SafeName("a/b") {
		t.Error("two names became one")
	}
	if tool.SafeName("fine-name_1") != "fine-name_1" {
		t.Error("a valid name was changed")
	}
}

func TestOnly(t *testing.T) {
	s := tool.MustSet(named("a", "b", "c")...)
	for _, c := range []struct {
		why   string
		names []string
		want  []string
		err   string
	}{
		{"nil means all", nil, []string{"a", "b", "c"}, ""},
		{"empty means none", []string{}, []string{}, ""},
		{"the set's order", []string{"c", "a"}, []string{"a", "c"}, ""},
		{"a filter that cannot be kept is refused", []string{"a", "d"}, nil, "no tool is called d"},
	} {
		got, err := s.Only(c.names)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.why, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got.Names()); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.why, err, diff)
		}
	}
}

func TestJoinNeverHides(t *testing.T) {
	a, b := tool.MustSet(named("x")...), tool.MustSet(named("x", "y")...)
	if _, err := tool.Join(a, b); err == nil {
		t.Error("one tool hides another")
	}
	all, err := tool.Join(a, nil, b.Prefix("b"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "b__x", "b__y"}, all.Names()); diff != "" {
		t.Error(diff)
	}
	if ns, base, _ := all.Original("b__y"); ns != "b" || base != "y" {
		t.Errorf("the way back is lost: %q %q", ns, base)
	}
}

func TestUndeclared(t *testing.T) {
	tools := named("open", "closed", "any")
	tools[0].Input = json.RawMessage(`{"properties":{"a":{}}}`)
	tools[1].Input = json.RawMessage(`{"properties":{"a":{}},"additionalProperties":false}`)
	s := tool.MustSet(tools...)
	for name, want := range map[string][]string{"open": {"b", "c"}, "closed": nil, "any": nil, "none": nil} {
		if diff := cmp.Diff(want, s.Undeclared(name, json.RawMessage(`{"c":1,"a":2,"b":3}`))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestNearest(t *testing.T) {
	s := tool.MustSet(named("read_file", "write_file", "files__list_dir", "weather")...)
	for _, c := range []struct{ name, want, why string }{
		{"ReadFile", "read_file", "case and separators"},
		{"readfile", "read_file", "no separator"},
		{"raed_file", "read_file", "two letters swapped"},
		{"functions.read_file", "read_file", "a prefix too many"},
		{"list_dir", "files__list_dir", "a prefix too few"},
		{"wether", "weather", "a letter missing"},
	} {
		got := s.Nearest(c.name)
		if len(got) == 0 || got[0] != c.want {
			t.Errorf("%s: nearest to %s are %v, want %s", c.why, c.name, got, c.want)
		}
	}
	if got := s.Nearest("launch_rocket"); len(got) != 0 {
		t.Errorf("nothing is like launch_rocket, yet %v", got)
	}
}

func described(pairs ...string) *tool.Set {
	var tools []tool.Tool
	for _, p := range pairs {
		name, text, _ := strings.Cut(p, ": ")
		tl := named(name)[0]
		tl.Description = text
		tools = append(tools, tl)
	}
	return tool.MustSet(tools...)
}

func TestSelect(t *testing.T) {
	s := described("write_file: Writes a file", "get_weather: Returns the weather of a city", "read_file: Reads a file")
	for _, c := range []struct {
		why  string
		b    tool.Selection
		want []string
		left []string
	}{
		{"no budget keeps all", tool.Selection{}, []string{"write_file", "get_weather", "read_file"}, nil},
		{"the best, in the set's order", tool.Selection{Tools: 2}, []string{"write_file", "read_file"}, []string{"get_weather"}},
		{"the cost is what the caller says", tool.Selection{Cost: 2, CostOf: func(llm.ToolDef) int { return 1 }}, []string{"write_file", "read_file"}, []string{"get_weather"}},
		{"never empty", tool.Selection{Cost: 1}, []string{"read_file"}, []string{"write_file", "get_weather"}},
	} {
		got, left := s.Select("please read this file for me", c.b)
		if diff := cmp.Diff(c.want, got.Names()); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
		var names []string
		for _, o := range left {
			names = append(names, o.Name)
		}
		if diff := cmp.Diff(c.left, names); diff != "" {
			t.Errorf("%s, left out:\n%s", c.why, diff)
		}
	}
}

func TestRankNamesEveryTool(t *testing.T) {
	r := described("a: alpha", "b: weather forecast", "c: gamma").Ranker()
	var names []string
	for _, c := range r.Rank("weather") {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if r.Fit("weather forecast") <= r.Fit("prove a theorem") {
		t.Error("the fit does not tell a question for a tool from another")
	}
}

func TestParseDefs(t *testing.T) {
	schema := `{"type":"object"}`
	want := llm.ToolDef{Name: "f", Description: "d", Schema: json.RawMessage(schema)}
	for _, text := range []string{
		fmt.Sprintf(`{"name":"f","description":"d","parameters":%s}`, schema),
		fmt.Sprintf(`[{"name":"f","description":"d","input_schema":%s}]`, schema),
		fmt.Sprintf(`{"tools":[{"name":"f","description":"d","inputSchema":%s,"parameters":null}]}`, schema),
		fmt.Sprintf(`[{"type":"function","function":{"name":"f","description":"d","parameters":%s}}]`, schema),
	} {
		defs, err := tool.ParseDefs([]byte(text))
		if err != nil || len(defs) != 1 || cmp.Diff(want, defs[0].ToolDef) != "" || defs[0].ID != "f" {
			t.Errorf("%s: %v %v", text, defs, err)
		}
	}
	lines, err := tool.ParseDefs([]byte("{\"name\":\"a\"}\n{\"name\":\"a\",\"id\":\"a#2\"}\n"))
	if err != nil || len(lines) != 2 || lines[1].ID != "a#2" {
		t.Errorf("lines: %v %v", lines, err)
	}
	for _, text := range []string{`{"description":"d"}`, `[1]`, `{"name":`, `{"tools":[{}]}`, `[null]`, `{"tools":[null]}`, `null`, `{"function":{"function":{"name":"f"}}}`} {
		if _, err := tool.ParseDefs([]byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

func FuzzParseDefs(f *testing.F) {
	f.Add([]byte(`[{"type":"function","function":{"name":"f"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		defs, err := tool.ParseDefs(text)
		if err != nil {
			return
		}
		for _, d := range defs {
			if d.Name == "" || d.ID == "" {
				t.Errorf("a definition without a name: %v", d)
			}
		}
	})
}

func FuzzSafeName(f *testing.F) {
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, name string) {
		safe := tool.SafeName(name)
		if !tool.ValidName(safe) || tool.ValidName(name) && safe != name || tool.SafeName(safe) != safe {
			t.Errorf("SafeName(%q) = %q", name, safe)
		}
	})
}

func TestOrderIsKept(t *testing.T) {
	names := []string{"z", "a", "m"}
	s := tool.MustSet(named(names...)...)
	var got []string
	for _, d := range s.Defs() {
		got = append(got, d.Name)
	}
	if !slices.Equal(got, names) || !slices.Equal(s.Names(), names) {
		t.Errorf("%v", got)
	}
}

func TestEffects(t *testing.T) {
	for _, c := range []struct {
		e    tool.Effects
		want string
	}{
		{0, "unknown"}, {tool.Idempotent, "idempotent"}, {tool.ReadOnly, "read_only"}, {tool.ReadOnly | tool.Local, "read_only local"},
	} {
		if c.e.String() != c.want {
			t.Errorf("%d is %s, want %s", c.e, c.e, c.want)
		}
	}
	if !tool.ReadOnly.Has(tool.Idempotent) {
		t.Error("what changes nothing can be done twice")
	}
	if tool.Idempotent.Has(tool.ReadOnly) || tool.Effects(0).Has(tool.Idempotent) {
		t.Error("a promise nobody made")
	}
}
