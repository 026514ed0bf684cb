package dialect_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
)

// repeatable are the pieces that texts without end are made of: every marker,
// quote and key of every row, brackets, escapes, and beginnings of calls.
func repeatable() []string {
	units := []string{
		"{", "}", "[", "]", "(", ")", "<", ">", "</", `"`, "'", "`", "```", "```json\n", "```python\n", "“", "”", `\`, `\\`, `\"`, `\_`, `\n`, `\u00`, "\n", " ", ",", ":",
		"=", "*", "**", "#", "//", "/*", "> ", "- ", "1", "-", "a", ".", "é", "\x00", "find_room", "find_room(", "find_room\n", "find_room(town=", "find_room(town='", "[find_room(",
		"find\\_room", "'find_room', ", "x = find_room(", "<find_room>", "<find_room>\ntown: ", "<town>", `{"name": "find_room", "arguments": {`, `{"name": "find_room", `, `{"town": "`,
		"find_room {", "find_room\n{", "Let me.find_room\n{", "e.g. ", `{"a": `, `[{"a": `, "<value>", "<item>", "<![CDATA[", "&lt;", "true", "null", "town: |\n  a\n", `"name": `, "call:find_room{",
	}
	add := func(list ...string) {
		for _, s := range list {
			if strings.TrimSpace(s) != "" {
				units = append(units, strings.ReplaceAll(s, "%s", "find_room"))
			}
		}
	}
	for _, d := range dialect.All() {
		for _, p := range slices.Concat(d.Wrap, d.Call, d.Think, d.Tags.Also, []dialect.Pair{d.Tags.Call, d.Tags.Param, d.Tags.Value, d.Opening}) {
			add(p.Open, p.Close)
		}
		for _, list := range [][]string{d.Sep, d.IDSep, d.Quotes, d.Code, d.Inline, d.BeforeName, d.AtStart, d.Drop, d.End, d.Role} {
			add(list...)
		}
		for _, key := range []string{d.NameKey, d.ArgsKey} {
			add(`"` + key + `": `)
		}
		add(d.Head.End, d.Head.To, d.Head.Channel, d.Method, d.ArgsFunc)
	}
	slices.Sort(units)
	return slices.Compact(units)
}

var pairs = flag.Int("pairs", 20, "how many pairs of units are repeated; 0 is every pair")

// Whatever is repeated, alone or in pairs: four times the text takes at most
// five times the processor time, whole and in pieces. With -long the texts have
// 64 and 256 KiB, without it half as much; -pairs 0 tries every pair.
func TestRepeatedUnits(t *testing.T) {
	units := repeatable()
	var texts []string
	texts = append(texts, units...)
	r := rand.New(rand.NewPCG(uint64(*pairs), 14))
	size := 32 << 10
	if *long {
		size = 64 << 10
	}
	for _, a := range units {
		for _, b := range units {
			if *pairs == 0 || r.IntN(len(units)*len(units)) < *pairs {
				texts = append(texts, a+b)
			}
		}
	}
	worst := 0.0
	for _, unit := range texts {
		for _, chunk := range []int{1 << 20, 64} {
			if ratio, took := repeats(t, unit, chunk, size); took > worst {
				worst = took
				t.Logf("%-44q in pieces of %7d: %.1f times for four times the text, %.0f ms", unit, chunk, ratio, took*1e3)
			}
		}
	}
	t.Logf("%d attacks", 2*len(texts))
}

// repeats measures a unit that is repeated to size bytes and to four times as
// many. What takes no time is not measured again.
func repeats(t *testing.T, unit string, chunk, size int) (ratio, took float64) {
	text := func(n int) string { return strings.Repeat(unit, n/len(unit)+1) }
	seconds := func(s string) float64 {
		start := cpuTime(t)
		for ev, err := range (&dialect.Parser{Tools: caseTools}).Parse(dialect.Cut(s, min(chunk, len(s)))) {
			if err != nil {
				break
			}
			_ = ev
		}
		return (cpuTime(t) - start).Seconds()
	}
	for range 4 {
		took = seconds(text(4 * size))
		if took < 0.000_000_3*float64(4*size) { // 3 MB/s
			return 1, took
		}
		if ratio = took / max(seconds(text(size)), 1e-6); ratio <= 5 {
			return ratio, took
		}
	}
	t.Errorf("%s takes %.1f times as long, %.0f ms, for four times the text, in pieces of %d", fmt.Sprintf("%.60q", unit), ratio, took*1e3, chunk)
	return ratio, took
}
