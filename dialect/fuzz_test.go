package dialect_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// checkAny checks what must hold for any text at all: it means the same
// however it is cut, its deltas are its arguments and valid JSON, and every
// byte is accounted for.
func checkAny(t *testing.T, text string, p dialect.Parser, seed uint64) {
	t.Helper()
	whole := accounted(t, text, p, dialect.Whole(text))
	r := rand.New(rand.NewPCG(seed, 1))
	for _, chunks := range []func(func(string, error) bool){dialect.Cut(text, 1), randomCuts(text, r)} {
		if cut := accounted(t, text, p, chunks); !reflect.DeepEqual(cut, whole) {
			t.Errorf("%q\ncut   %+v\nwhole %+v", text, cut, whole)
		}
	}
}

// accounted reads a text and checks that its spans leave nothing out.
func accounted(t *testing.T, text string, p dialect.Parser, chunks func(func(string, error) bool)) answer {
	t.Helper()
	at := 0
	p.Trace = func(s dialect.Span) {
		if s.Start != at || s.End <= s.Start {
			t.Errorf("span %+v after byte %d of %q", s, at, text)
		}
		at = s.End
	}
	got := parse(t, p, chunks)
	if at != len(text) {
		t.Errorf("spans end at byte %d of %d: %q", at, len(text), text)
	}
	return got
}

// parsers are the ways in which the fuzzers read a text.
func parsers(flags uint8) dialect.Parser {
	p := dialect.Parser{ThinkingOpen: flags&1 != 0, Thinking: dialect.ThinkingPolicy(flags >> 1 & 3 % 3)}
	if flags&8 != 0 {
		p.Tools = offered
	}
	if flags&16 != 0 {
		p.Finish = func() llm.Reason { return llm.Length }
	}
	return p
}

func FuzzParse(f *testing.F) {
	for i, s := range seeds(f) {
		f.Add(s, uint8(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, flags uint8, seed uint64) {
		checkAny(t, text, parsers(flags), seed)
	})
}

func FuzzPython(f *testing.F) {
	for _, s := range []string{`city="Paris"`, `a='it\'s', b=[1, 2], c={'k': (1,)}`, `x=007, y=-1e5, z=None`, `"""a"b""", r'\d'`, `q="say "hi" now", n=0x1F`} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, args string, flags uint8) {
		checkAny(t, "<|tool_call_start|>[get_weather("+args+")]<|tool_call_end|>", parsers(flags), 1)
	})
}

func FuzzTags(f *testing.F) {
	for _, s := range []string{"Paris", "\n3\n", "a </parameter> b", "<b>x</b>", "{\"a\": [1", "<![CDATA[x]]>", "</function>", "<parameter=days>\n4"} {
		f.Add(s, "true", uint8(8))
	}
	f.Fuzz(func(t *testing.T, value, attr string, flags uint8) {
		checkAny(t, "<tool_call>\n<function=get_weather>\n<parameter=city>"+value+"</parameter>\n</function>\n</tool_call>", parsers(flags), 1)
		checkAny(t, `<invoke name="get_weather"><parameter name="city" string="`+attr+`">`+value+"</parameter></invoke>", parsers(flags), 2)
		checkAny(t, "<get_weather><city>"+value+"</city></get_weather>", parsers(flags), 3)
	})
}

// seeds are texts in all dialects.
func seeds(f *testing.F) []string {
	var texts []string
	for _, d := range dialect.Builtin().All() {
		s, err := dialect.Builtin().Render(d.Name, llm.Text{Text: "Sure."}, llm.Call{ID: "call_1", Name: "get_weather", Args: []byte(`{"city":"Paris","days":3}`)})
		if err == nil {
			texts = append(texts, s)
		}
	}
	return texts
}
