package emulate

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// quotes finds calls that are in a conversation in another form: with members in
// another order, numbers in another form, or meaningless arguments. Each passage is
// read once, in the way in which the answer is read, and only if it names a tool that
// the answer calls. Each call in it needs 16 bytes.
type quotes struct {
	parser dialect.Parser
	names  map[string]bool // tools that were looked for
	read   []bool          // by passage
	calls  map[uint64]int  // the passage, by what the call says
	seed   maphash.Seed
	args   map[string]map[string]bool // that tools declare
	form   []byte
}

// quoted returns where the conversation holds a call that says the same as c. A result or document counts before what the user
// wrote. A call without arguments says nothing.
func (e *echoes) quoted(p dialect.Parser, c llm.Call) (at passage, found bool) {
	if len(e.passages) == 0 {
		return passage{}, false
	}
	q := e.quotes
	if q == nil {
		p.Markup, p.ThinkingOff = false, true
		q = &quotes{parser: p, names: make(map[string]bool), read: make([]bool, len(e.passages)), calls: make(map[uint64]int), seed: maphash.MakeSeed(),
			args: make(map[string]map[string]bool)}
		e.quotes = q
	}
	key, says := q.key(c, c.Provenance.Marked)
	if !says {
		return passage{}, false
	}
	q.look(e.passages, c.Name)
	i, found := q.calls[key]
	if !found {
		return passage{}, false
	}
	return e.passages[i], true
}

// look reads the passages that name a tool.
func (q *quotes) look(passages []passage, name string) {
	if q.names[name] {
		return
	}
	q.names[name] = true
	for i, p := range passages {
		if q.read[i] || !strings.Contains(p.text, name) {
			continue
		}
		q.read[i] = true
		for _, text := range p.readings() {
			for ev := range q.parser.Parse(dialect.Whole(text)) {
				if c, ok := ev.(llm.Call); ok {
					q.learn(passages, i, c)
				}
			}
		}
	}
}

// learn keeps a call of the i-th passage. One with markers is repeated with them or without.
func (q *quotes) learn(passages []passage, i int, c llm.Call) {
	for _, marked := range []bool{false, c.Provenance.Marked} {
		key, says := q.key(c, marked)
		if old, there := q.calls[key]; says && (!there || passages[old].user && !passages[i].user) {
			q.calls[key] = i
		}
	}
}

// readings returns the forms in which a passage may contain calls: as written, without
// escapes, without line prefixes, each of its objects as a separate block, and, if it
// is JSON, its texts.
func (p passage) readings() []string {
	p.text, p.raw = strings.ReplaceAll(p.text, mark, ""), strings.ReplaceAll(p.raw, mark, "") // in markers that were made harmless
	out := []string{p.text}
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	add(spoken(p.raw))
	bare := withoutPrefixes(p.text)
	add(bare)
	add(blocks(bare))
	return out
}

// spoken returns the texts in JSON with an empty line between them, and other text
// unchanged.
func spoken(text string) string {
	v := js.Trim([]byte(text))
	if len(v) == 0 || !strings.ContainsRune(`{["`, rune(v[0])) || !js.Valid(v) {
		return text
	}
	var b strings.Builder
	for {
		i := bytes.IndexByte(v, '"')
		if i < 0 {
			return b.String()
		}
		end := js.EndOfString(v, i)
		b.WriteString(js.Text(v[i:end]))
		b.WriteString("\n\n")
		v = v[end:]
	}
}

// withoutPrefixes returns a text without what programs put before each line.
func withoutPrefixes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(line[min(linePrefix(line), len(line)):])
	}
	return b.String()
}

// blocks returns the outermost objects of a text with an empty line between them.
func blocks(text string) string {
	var b strings.Builder
	for v := []byte(text); ; {
		i := bytes.IndexByte(v, '{')
		if i < 0 {
			return b.String()
		}
		end := js.EndOfValue(v, i)
		b.Write(v[i:end])
		b.WriteString("\n\n")
		v = v[end:]
	}
}

// key returns a hash of the meaning of a call: the tool, the dialect if its markers
// count, and the arguments as values. It reports whether there are any.
func (q *quotes) key(c llm.Call, marked bool) (key uint64, says bool) {
	q.form = append(q.form[:0], c.Name...)
	q.form = append(q.form, 0)
	if marked {
		q.form = append(q.form, c.Provenance.Dialect...)
	}
	q.form = append(q.form, 0)
	start := len(q.form)
	declared := q.declared(c.Name)
	form := js.Form{Mode: js.ByValue, OmitEmpty: true, Text: appendNormalized, Omit: func(depth int, name, _ []byte) bool {
		return depth == 0 && declared != nil && !declared[string(name)]
	}}
	args, err := form.Append(q.form, c.Args)
	if err != nil { // nested too deep to be compared by value
		args = append(q.form, c.Args...)
	}
	q.form = args
	return maphash.Bytes(q.seed, q.form), len(q.form) > start
}

// declared returns the arguments that a tool has; nil if it may have others, too.
func (q *quotes) declared(name string) map[string]bool {
	known, there := q.args[name]
	if there {
		return known
	}
	for _, t := range q.parser.Tools {
		open := js.Get(t.Schema, "additionalProperties")
		if t.Name != name || open != nil && string(open) != "false" || js.Get(t.Schema, "patternProperties") != nil {
			continue
		}
		for property := range js.Members(js.Get(t.Schema, "properties")) {
			if known == nil {
				known = make(map[string]bool)
			}
			known[string(property)] = true
		}
	}
	q.args[name] = known
	return known
}

// appendNormalized writes a text in its normal form, and a number in quotes as the
// number.
func appendNormalized(dst, text []byte) []byte {
	v := normalized(string(text))
	if n, _ := js.NumberLength(v); n > 0 && n == len(v) {
		return bytes.TrimSuffix(js.AppendDecimal(dst, v), []byte("e0"))
	}
	return append(dst, v...)
}
