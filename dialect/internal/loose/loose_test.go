package loose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// offered are the tools of the tests: names and parameters; those with a
// question mark are optional.
type offered map[string][]string

func (o offered) Resolve(written string) (string, bool) {
	written = strings.TrimPrefix(written, "functions.")
	_, ok := o[written]
	return written, ok
}

func (o offered) Properties(name string) ([]string, bool) {
	var keys []string
	for _, k := range o[name] {
		keys = append(keys, strings.TrimSuffix(k, "?"))
	}
	return keys, true
}

func (o offered) Kinds(string, string) Kinds { return AnyKind }

func (o offered) Required(name, key string) bool { return slices.Contains(o[name], key) }

var tools = offered{"get_weather": {"city", "days?"}, "add": {"a", "b"}, "ping": nil, "run_code": {"code"}, "write_file": {"path", "content"}}

func show(calls []Call) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%s%s", c.Name, c.Args)
		if !c.Known {
			b.WriteString(" unknown")
		}
		if c.Problem != "" {
			b.WriteString(" " + c.Problem)
		}
		for _, r := range c.Repairs {
			fmt.Fprintf(&b, " %s/%s", r.Rule, r.Class)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[get\_weather(city='Rome')]`, `get_weather{"city":"Rome"} markdown-escape/syntax`},
		{`["get_weather(city='Rome')"]`, `get_weather{"city":"Rome"} call-in-string/syntax`},
		{`['get_weather(city="Rome")', 'add(a=1, b=2)']`, "get_weather{\"city\":\"Rome\"} call-in-string/syntax\nadd{\"a\":1,\"b\":2} call-in-string/syntax"},
		{`["get_weather(city='Rome'), add(a=1, b=2)"]`, "get_weather{\"city\":\"Rome\"} call-in-string/syntax\nadd{\"a\":1,\"b\":2} call-in-string/syntax"},
		{`["get_weather(city="Rome")"]`, `get_weather{"city":"Rome"} call-in-string/syntax unescaped-quote/guess unescaped-quote/guess`},
		{`[{'get_weather(city="Rome")}]`, `get_weather{"city":"Rome"} stray-quote/guess extra-bracket/completion extra-bracket/completion`},
		{`[('get_weather', {'city': 'Rome'}), ('add', {'a': 1, 'b': 2})]`, "get_weather{\"city\":\"Rome\"}\nadd{\"a\":1,\"b\":2}"},
		{`['get_weather', {'city': 'Rome'}]`, `get_weather{"city":"Rome"}`},
		{`['get_weather', 'city=Rome', 'days=2']`, `get_weather{"city":"Rome","days":2} arguments-beside-name/guess`},
		{`"get_weather"(city="Rome")`, `get_weather{"city":"Rome"} quoted-name/syntax`},
		{`'get_weather'('city': 'Rome')`, `get_weather{"city":"Rome"} quoted-name/syntax`},
		{`[get_weather, city='Rome', days=3)]`, `get_weather{"city":"Rome","days":3} extra-bracket/completion arguments-beside-name/guess`},
		{`tools.call(get_weather, city='Rome')`, `get_weather{"city":"Rome"}`},
		{`return get_weather(city='Rome')`, `get_weather{"city":"Rome"} statement/guess`},
		{`print(get_weather(city='Rome'))`, `get_weather{"city":"Rome"}`},
		{`(get_weather(city='Rome'), add(a=1, b=2))`, "get_weather{\"city\":\"Rome\"}\nadd{\"a\":1,\"b\":2}"},
		{`[add(1, 2)]`, `add{"a":1,"b":2} positional-argument/guess positional-argument/guess`},
		{`[get_weather({'city': 'Rome'}, {'city': 'Oslo'})]`, "get_weather{\"city\":\"Rome\"} one-object-per-call/guess\nget_weather{\"city\":\"Oslo\"} one-object-per-call/guess"},
		{`[get_weather({'city': 'Rome'}), add({'a': 1, 'b': 2})}]`, "get_weather{\"city\":\"Rome\"} extra-bracket/completion\nadd{\"a\":1,\"b\":2} extra-bracket/completion"},
		{`[get_weather(city='Rome']`, `get_weather{"city":"Rome"} missing-bracket/guess`},
		{`[get_weather(city='Rome'), nope(x=1)]`, "get_weather{\"city\":\"Rome\"}\nnope{\"x\":1} unknown"},
		{`[run_code(code="print("hi")")]`, `run_code{"code":"print(\"hi\")"} unescaped-quote/guess unescaped-quote/guess`},
		{`{"func": "get_weather", "city": "Rome"}`, `get_weather{"city":"Rome"} arguments-beside-name/syntax`},
		{`{"method": "ping"}`, `ping{} arguments-beside-name/syntax`},
		{`[ping]`, `ping{}`},
		{`{“name”: “get_weather”, “arguments”: {“city”: “Rome”}}`, `get_weather{"city":"Rome"} smart-quotes/syntax smart-quotes/syntax smart-quotes/syntax smart-quotes/syntax smart-quotes/syntax`},
		{`{"name": "add", "arguments": {"a": 1, "b": 2}, "result": 3}`, ""},
		{`[get_weather, and add, are tools]`, ""},
		{`get_weather is the tool I would use (it is free)`, ""},
		{`["get_weather", "add"]`, ""},
		{`nope(x=1)`, ""},
		{`add({a}, {b})`, ""},
		{`add(a, b)`, ""},
		{``, ""},
	} {
		calls, ok := Read(c.in, strings.Contains(c.in, `\_`), tools)
		if c.want == "" && !ok {
			continue
		}
		if got := show(calls); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`['get_weather(city="Rome")', ('add', {'a': 1})]`, true)
	f.Fuzz(func(t *testing.T, block string, markdown bool) {
		calls, ok := Read(block, markdown, tools)
		for _, c := range calls {
			if !ok || c.Start < 0 || c.End < c.Start {
				t.Errorf("%q: %+v", block, c)
			}
		}
	})
}
