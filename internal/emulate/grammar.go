package emulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// The rules every grammar begins with. Numbers have an end and no exponent: a
// small model that has begun to write digits does not stop by itself.
const grammarRules = `char ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= "-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,8})?
boolean ::= "true" | "false"
null ::= "null"
date ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])
clock ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9]
zone ::= "Z" | [+-] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]
uuid ::= [0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}
`

// proseRule is text without the beginning of a JSON object with a name, which may
// precede a call.
const proseRule = "prose ::= [^{] | \"{\" [^\"]\n"

// maxGrammar bounds a grammar in bytes.
const maxGrammar = 1 << 19

// longestRepeat is the greatest count of repetitions that llama.cpp takes.
const longestRepeat = 1000

// grammar writes a bounded schema as a grammar of llama.cpp. It says more than
// the host's own translation of schemas: an end to numbers and to objects with
// free names, one way to space, and text before the value, as many pieces of
// it as before says ("{0,200}"); empty allows none.
func grammar(bounded json.RawMessage, before string) (string, error) {
	w := grammarWriter{b: new(strings.Builder)}
	w.value(bounded)
	root := "root ::= " + w.b.String() + "\n"
	if before != "" {
		root = "root ::= prose" + before + " " + w.b.String() + "\n" + proseRule
	}
	root += strings.Join(w.rules, "") + grammarRules
	if w.err == nil && len(root) > maxGrammar {
		w.err = fmt.Errorf("as a grammar the schema has more than %d bytes", maxGrammar)
	}
	return root, w.err
}

type grammarWriter struct {
	b     *strings.Builder
	rules []string // repeated parts, one rule each
	// copies are the rules of texts that may be copied, by the text.
	copies map[string]string
	err    error
}

func (w *grammarWriter) add(format string, args ...any) { fmt.Fprintf(w.b, format, args...) }

// quoted writes text as a literal.
func (w *grammarWriter) quoted(text string) { w.b.WriteString(literal(text)) }

func literal(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + `"`
}

// value writes one schema.
func (w *grammarWriter) value(raw json.RawMessage) {
	s, err := readObject(raw)
	if err != nil {
		w.err = err
		return
	}
	if values := js.Decode[[]json.RawMessage](s.get("enum")); values != nil {
		w.choice(len(values), func(i int) { w.quoted(string(spaced(values[i]))) })
		return
	}
	if alts := js.Decode[[]json.RawMessage](s.get("anyOf")); alts != nil {
		w.choice(len(alts), func(i int) { w.value(alts[i]) })
		return
	}
	switch typ := js.Decode[string](s.get("type")); typ {
	case "string":
		w.str(s)
	case "integer":
		w.integer(s)
	case "number", "boolean", "null":
		w.add("%s", typ)
	case "array":
		w.list(s)
	case "object":
		w.object(s)
	default:
		w.err = fmt.Errorf("no grammar for the type %q", typ)
	}
}

// spaced writes a JSON value as models do, with a space after , and :.
func spaced(raw json.RawMessage) []byte {
	var out []byte
	var t js.Tracker
	for _, c := range raw {
		inString := t.Next(c)
		if !inString && js.IsSpace(c) {
			continue
		}
		out = append(out, c)
		if !inString && (c == ',' || c == ':') {
			out = append(out, ' ')
		}
	}
	return out
}

func (w *grammarWriter) choice(n int, write func(int)) {
	w.add("(")
	for i := range n {
		if i > 0 {
			w.add(" | ")
		}
		write(i)
	}
	w.add(")")
}

// str writes a string: of a form, matching a pattern, or of a length.
func (w *grammarWriter) str(s object) {
	if words := js.Decode[[]CopyWord](s.get(copyKeyword)); words != nil {
		w.copied(words, s.has(stateKeyword))
		return
	}
	if pattern := js.Decode[string](s.get("pattern")); pattern != "" {
		if expr, err := patternRule(pattern); err == nil {
			w.add(`"\"" %s "\""`, expr)
			return
		}
	}
	switch js.Decode[string](s.get("format")) {
	case "date":
		w.add(`"\"" date "\""`)
		return
	case "time":
		w.add(`"\"" clock zone "\""`)
		return
	case "date-time":
		w.add(`"\"" date "T" clock zone "\""`)
		return
	case "uuid":
		w.add(`"\"" uuid "\""`)
		return
	}
	w.add(`"\"" char%s "\""`, times(js.Decode[int](s.get("minLength")), most(s, "maxLength")))
}

// most returns a limit of a schema, -1 if it sets none.
func most(s object, key string) int {
	if v := s.get(key); v != nil {
		return js.Decode[int](v)
	}
	return -1
}

// times writes how often something is repeated; most below 0 is without end.
func times(least, most int) string {
	least = min(max(least, 0), longestRepeat)
	if most < 0 {
		return fmt.Sprintf("{%d,}", least)
	}
	return fmt.Sprintf("{%d,%d}", least, max(least, min(most, longestRepeat)))
}

func (w *grammarWriter) integer(s object) {
	low, high := s.get("minimum"), s.get("maximum")
	if low == nil || high == nil {
		w.add("integer") // bounded schemas have both bounds or none
		return
	}
	from, to := js.Decode[int64](low), js.Decode[int64](high)
	var alts []string
	if from < 0 {
		upper := int64(-1)
		if to < 0 {
			upper = to
		}
		alts = append(alts, `"-" (`+strings.Join(between(-upper, -from), " | ")+")")
	}
	if to >= 0 {
		alts = append(alts, between(max(from, 0), to)...)
	}
	w.add("(%s)", strings.Join(alts, " | "))
}

// between returns alternatives that match exactly the decimal numbers from low
// to high, neither below 0.
func between(low, high int64) []string {
	var out []string
	for low <= high {
		digits := strconv.FormatInt(low, 10)
		end := int64(9)
		for len(strconv.FormatInt(end, 10)) < len(digits) {
			end = end*10 + 9
		}
		out = append(out, sameLength(digits, strconv.FormatInt(min(end, high), 10))...)
		if end >= high {
			break
		}
		low = end + 1
	}
	return out
}

// sameLength is between for numbers with as many digits.
func sameLength(low, high string) []string {
	if len(low) == 1 {
		return []string{fmt.Sprintf("[%s-%s]", low, high)}
	}
	rest := len(low) - 1
	zeros, nines := strings.Repeat("0", rest), strings.Repeat("9", rest)
	if low[0] == high[0] {
		return []string{fmt.Sprintf("%q (%s)", low[:1], strings.Join(sameLength(low[1:], high[1:]), " | "))}
	}
	var out []string
	first, last := low[0], high[0]
	if low[1:] != zeros {
		out = append(out, fmt.Sprintf("%q (%s)", low[:1], strings.Join(sameLength(low[1:], nines), " | ")))
		first++
	}
	var tail []string
	if high[1:] != nines {
		tail = append(tail, fmt.Sprintf("%q (%s)", high[:1], strings.Join(sameLength(zeros, high[1:]), " | ")))
		last--
	}
	if first <= last {
		out = append(out, fmt.Sprintf("[%c-%c] [0-9]{%d}", first, last, rest))
	}
	return append(out, tail...)
}

func (w *grammarWriter) list(s object) {
	if items := js.Decode[[]json.RawMessage](s.get("prefixItems")); items != nil {
		w.add(`"[" `)
		for i, item := range items {
			if i > 0 {
				w.add(` ", " `)
			}
			w.value(item)
		}
		w.add(` "]"`)
		return
	}
	least, most := js.Decode[int](s.get("minItems")), most(s, "maxItems")
	if most == 0 {
		w.add(`"[]"`)
		return
	}
	w.repeated("[", "]", least, most, func() { w.value(s.get("items")) })
}

// repeated writes values with commas between them.
func (w *grammarWriter) repeated(open, closer string, least, most int, write func()) {
	outer := w.b
	w.b = new(strings.Builder)
	write()
	name := fmt.Sprintf("item%d", len(w.rules)+1)
	w.rules = append(w.rules, fmt.Sprintf("%s ::= %s\n", name, w.b))
	w.b = outer
	if most > 0 {
		most--
	}
	w.add(`"%s" (%s (", " %s)%s)`, open, name, name, times(least-1, most))
	if least == 0 {
		w.add("?")
	}
	w.add(` "%s"`, closer)
}

// object writes the required properties first, and then the optional ones.
func (w *grammarWriter) object(s object) {
	if values := s.get("additionalProperties"); values != nil && string(values) != "false" {
		w.repeated("{", "}", 0, most(s, "maxProperties"), func() {
			w.add(`"\"" char{1,40} "\": " `)
			w.value(values)
		})
		return
	}
	props, _ := readObject(s.get("properties"))
	required := js.Decode[[]string](s.get("required"))
	var must, may object
	for _, p := range props {
		if slices.Contains(required, p.key) {
			must = append(must, p)
		} else {
			may = append(may, p)
		}
	}
	w.add(`"{" `)
	for i, p := range must {
		if i > 0 {
			w.add(`", " `)
		}
		w.property(p)
	}
	if len(must) > 0 {
		w.optional(may)
	} else if len(may) > 0 {
		w.add("(")
		for i := range may {
			if i > 0 {
				w.add("| ")
			}
			w.property(may[i])
			w.optional(may[i+1:])
		}
		w.add(")? ")
	}
	w.add(`"}"`)
}

func (w *grammarWriter) property(p field) {
	w.quoted(string(js.Marshal(p.key)) + ": ")
	w.add(" ")
	w.value(p.value)
	w.add(" ")
}

func (w *grammarWriter) optional(props object) {
	for _, p := range props {
		w.add(`(", " `)
		w.property(p)
		w.add(")? ")
	}
}

// longestPattern is how often something is repeated that a pattern sets no end
// to.
const longestPattern = 32

// patternRule writes a regular expression as a rule, with an end to every
// repetition and without the characters that JSON escapes. Whatever fits the
// rule matches the pattern.
func patternRule(pattern string) (string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", err
	}
	rule, err := expression(re.Simplify())
	if err == nil && len(rule) > 4096 {
		err = errors.New("the pattern is too long")
	}
	return rule, err
}

func expression(re *syntax.Regexp) (string, error) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return `""`, nil
	case syntax.OpLiteral:
		var parts []string
		for _, r := range re.Rune {
			part, err := runes([]rune{r, r})
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, " "), nil
	case syntax.OpCharClass:
		return runes(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return runes([]rune{' ', '~'})
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		sub, err := expression(re.Sub[0])
		count := map[syntax.Op]string{syntax.OpStar: times(0, longestPattern), syntax.OpPlus: times(1, longestPattern), syntax.OpQuest: "?"}[re.Op]
		return "(" + sub + ")" + count, err
	case syntax.OpCapture, syntax.OpConcat, syntax.OpAlternate:
		var parts []string
		for _, sub := range re.Sub {
			part, err := expression(sub)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		if re.Op == syntax.OpAlternate {
			return "(" + strings.Join(parts, " | ") + ")", nil
		}
		return "(" + strings.Join(parts, " ") + ")", nil
	}
	return "", fmt.Errorf("a grammar cannot say %s", re.Op)
}

// runes writes the printable ASCII characters of pairs of runes as a class.
func runes(pairs []rune) (string, error) {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := max(pairs[i], ' '); r <= min(pairs[i+1], '~'); r++ {
			if r != '"' && r != '\\' {
				fmt.Fprintf(&b, `\x%02X`, r)
			}
		}
	}
	if b.Len() == 0 {
		return "", errors.New("a grammar cannot say this class of characters")
	}
	return "[" + b.String() + "]", nil
}
