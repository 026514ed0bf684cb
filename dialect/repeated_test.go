package dialect_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
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
	for _, d := range dialect.Builtin().All() {
		for _, p := range slices.Concat(d.Wrap, d.Call, d.Think, d.Tags.Also, []spec.Pair{d.Tags.Call, d.Tags.Param, d.Tags.Value, d.Opening}) {
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

var (
	pairs = flag.Int("pairs", 20, "how many pairs of units are repeated")
	part  = flag.String("part", "", "which part of every pair of units is repeated, like 3/100")
)

// Whatever is repeated, alone or in pairs: the processor time grows as the text
// does, whole and in pieces. With -long the texts have up to 256 KiB, in the quick
// tests a quarter of it.
func TestRepeatedUnits(t *testing.T) {
	units := repeatable()
	texts := append(slices.Clone(units), "```tool_input:", "```tool_code1", "```jsonTOOL_PARAMETERS:", "FUNCTION_CALL:```json\n", ".<TOOLCALL>") // pairs that once took long or panicked
	r := rand.New(rand.NewPCG(uint64(*pairs), 14))
	size := 8 << 10
	if testkit.IsLong() {
		size = 16 << 10
	}
	if *long {
		size = 32 << 10
	}
	for _, a := range units {
		for _, b := range units {
			if r.IntN(len(units)*len(units)) < *pairs {
				texts = append(texts, a+b)
			}
		}
	}
	worst, tried := time.Duration(0), 0
	for i, unit := range texts {
		if i%4 != 0 && i < len(units) && !testkit.IsLong() && !*long {
			continue // short runs repeat a quarter of the single units
		}
		for _, chunk := range []int{1 << 20, 64} {
			tried++
			name := fmt.Sprintf("%.60q in pieces of %d", unit, chunk)
			took := grows(t, name, caseTools, chunk, size, repeated(unit))
			if took > worst {
				worst = took
				t.Logf("%v for %s", took.Round(time.Millisecond), name)
			}
		}
	}
	t.Logf("%d attacks", tried)
}

// Every pair of units, or the part of them that -part names: of each a text of 32
// KiB is read, and what takes long for its length is tried as in TestRepeatedUnits,
// whole and in pieces, up to 256 KiB. All of them take half an hour of processor
// time.
func TestEveryPairOfUnits(t *testing.T) {
	if *part == "" {
		t.Skip("it takes half an hour; -part 3/100 runs a part of it")
	}
	var mine, parts int
	if n, err := fmt.Sscanf(*part, "%d/%d", &mine, &parts); n != 2 || err != nil || parts < 1 {
		t.Fatalf("-part %s: want a number of a number, like 3/100", *part)
	}
	units := repeatable()
	tried, again := 0, 0
	for i := range len(units) * len(units) {
		if i%parts != mine {
			continue
		}
		tried++
		unit := units[i/len(units)] + units[i%len(units)]
		first := &suspicion{TB: t}
		grows(first, unit, caseTools, 1<<20, 4<<10, repeated(unit))
		if !first.raised {
			continue
		}
		again++
		for _, chunk := range []int{1 << 20, 64} {
			grows(t, fmt.Sprintf("%.60q in pieces of %d", unit, chunk), caseTools, chunk, 32<<10, repeated(unit))
		}
	}
	t.Logf("%d attacks: of %d pairs of %d units, %d of them also at 256 KiB", tried, len(units)*len(units), len(units), again)
}

// suspicion is a test that notes a failure and continues.
type suspicion struct {
	testing.TB
	raised bool
}

func (s *suspicion) Errorf(string, ...any) { s.raised = true }

// repeated returns texts of unit again and again.
func repeated(unit string) func(n int) string {
	return func(n int) string { return strings.Repeat(unit, n/len(unit)+1) }
}

// grows fails the test if the processor time of reading a text grows faster than
// the text. It returns that of a text of eight times the size.
func grows(t testing.TB, name string, tools []llm.ToolDef, chunk, size int, text func(n int) string) time.Duration {
	t.Helper()
	return linear.Screen(t, name, size, func(n int) func() {
		s := text(n)
		return func() {
			for _, err := range (&dialect.Parser{Tools: tools}).Parse(dialect.Cut(s, min(chunk, len(s)))) {
				if err != nil {
					break
				}
			}
		}
	})
}
