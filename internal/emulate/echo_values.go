package emulate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"regexp"
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
	callHasher
	parser dialect.Parser
	// thorough reads the places of names on their own, too: the text is not searched otherwise.
	thorough bool
	names    map[string]bool // tools that were looked for
	read     []bool          // by passage
	calls    map[uint64]int  // the passage, by what the call says
}

// newQuotes prepares to read passages in the way of a parser.
func newQuotes(p dialect.Parser, passages []passage) *quotes {
	p.Markup, p.Closing, p.ThinkingOff, p.Mentions, p.Finish = false, false, true, true, nil
	return &quotes{callHasher: callHasher{tools: p.Tools}, parser: p, names: make(map[string]bool), read: make([]bool, len(passages)), calls: make(map[uint64]int)}
}

// quoted returns where the conversation holds a call that says the same as c. Outside text counts
// before what the user wrote. A call without arguments says nothing.
func (e *echoes) quoted(p dialect.Parser, c llm.Call) (at passage, found bool) {
	if len(e.passages) == 0 {
		return passage{}, false
	}
	if e.quotes == nil {
		e.quotes = newQuotes(p, e.passages)
	}
	q := e.quotes
	key, says := q.hash(c, c.Provenance.Marked)
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
		shown := visible(p.text)
		if !strings.Contains(shown, name) && !strings.Contains(strings.ToLower(shown), name) {
			continue
		}
		if !q.read[i] {
			q.read[i] = true
			q.learnAll(passages, i, p.readings(), llm.Truncation)
		}
		if q.thorough {
			for _, text := range plainForms(shown) {
				q.learnAll(passages, i, snippets(text, name), llm.Completion)
				if lower := strings.ToLower(text); !strings.Contains(text, name) { // the text is in capitals
					q.learnAll(passages, i, snippets(lower, name), llm.Completion)
					q.learnAll(passages, i, snippets(bracketed.ReplaceAllStringFunc(lower, strings.ToUpper), name), llm.Completion)
				}
				if p.raw != p.text && strings.Contains(text, "+") { // + is a space in forms
					q.learnAll(passages, i, snippets(strings.ReplaceAll(text, "+", " "), name), llm.Completion)
				}
			}
		}
	}
}

// plainForms returns a text, and the same with plain quotes and spaces, without the marks of literal text in XML and
// without line prefixes, if that is another text.
func plainForms(text string) []string {
	forms := []string{text}
	for _, next := range []string{plainSigns.Replace(text), withoutPrefixes(plainSigns.Replace(text))} {
		if !slices.Contains(forms, next) {
			forms = append(forms, next)
		}
	}
	return forms
}

// plainSigns replaces signs that look alike or say how to read a text.
var plainSigns = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "\u00a0", " ", "\u202f", " ", "\u2009", " ", "<![CDATA[", "\n", "]]>", "\n")

// bracketed finds markers that dialects write in capitals.
var bracketed = regexp.MustCompile(`\[/?[a-z_]+\]`)

// learnAll keeps the calls in readings of the i-th passage. Calls that needed a repair of class
// unless or worse are not kept, except guesses.
func (q *quotes) learnAll(passages []passage, i int, texts []string, unless llm.RepairClass) {
	for _, text := range texts {
		for ev := range q.parser.Parse(dialect.Whole(text)) {
			c, ok := ev.(llm.Call)
			if ok && !slices.ContainsFunc(c.Provenance.Repairs, func(r llm.Repair) bool { return r.Class >= unless && r.Class != llm.Guess }) {
				q.learn(passages, i, c)
			}
		}
	}
}

// learn keeps a call of the i-th passage. A call with markers is repeated with them or without.
func (q *quotes) learn(passages []passage, i int, c llm.Call) {
	for _, marked := range []bool{false, c.Provenance.Marked} {
		key, says := q.hash(c, marked)
		if old, there := q.calls[key]; says && (!there || passages[old].mayMean(c.Name) && !passages[i].mayMean(c.Name)) {
			q.calls[key] = i
		}
	}
}

// The places of a tool's name that are read on their own in a passage, and how much of the text
// around each.
const (
	mostSnippets  = 64
	snippetBefore = 300
	snippetAfter  = 4 << 10
)

// snippets returns the places of a text that name a tool, each as separate texts that begin with
// the markup before the name and end with the call, the line, the paragraph or later. The words
// around a call in a page do not count there.
func snippets(text, name string) []string {
	var out []string
	if !strings.Contains(text, name) {
		text = strings.ToLower(text)
	}
	for at, n := 0, 0; n < mostSnippets; n++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			break
		}
		i += at
		at = i + len(name)
		end := min(len(text), i+snippetAfter)
		from := max(strings.LastIndexByte(text[:i], '\n')+1, i-snippetBefore)
		opened := openers(text[from:i])
		for _, open := range opened {
			out = append(out, endings(text[from+open:end], at-from-open)...)
		}
		if len(opened) == 0 { // the markup is above, or there is none
			out = append(out, endings(text[i:end], len(name))...)
		}
		above := from // up to two lines before
		for range 2 {
			if above > 0 {
				above = strings.LastIndexByte(text[:above-1], '\n') + 1
			}
		}
		above = max(above, from-snippetBefore)
		for _, open := range openers(text[above:from]) {
			out = append(out, endings(text[above+open:end], at-above-open)...)
		}
	}
	return out
}

// openers returns where the markup of a call may begin in a text: at its first sign of markup, its first tag, its last tag
// and its last brace.
func openers(text string) []int {
	var at []int
	for _, i := range []int{strings.IndexAny(text, "<[{`✿"), strings.IndexByte(text, '<'), strings.LastIndexByte(text, '<'), strings.LastIndexByte(text, '{')} {
		if i >= 0 && !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	return at
}

// endings returns a text as far as it may be a call: all of it, to the end of the paragraph, the
// line and the value after position n, with the tags that follow.
func endings(text string, n int) []string {
	out := []string{text}
	for _, end := range []string{"\n\n", "\n"} {
		if i := strings.Index(text[n:], end); i >= 0 {
			out = append(out, text[:n+i])
		}
	}
	if i := strings.IndexByte(text, '{'); i >= 0 {
		out = append(out, withClosers(text, js.EndOfValue([]byte(text), i)))
	}
	if i := strings.IndexByte(text[n:], '{'); i >= 0 {
		out = append(out, withClosers(text, js.EndOfValue([]byte(text), n+i)))
	}
	for i := n; i < len(text); { // to each end tag that is followed by something else
		j := strings.Index(text[i:], "</")
		if j < 0 {
			break
		}
		end := len(withClosers(text, i+j))
		if len(out) > 12 {
			break
		}
		out, i = append(out, text[:end]), max(end, i+j+2)
	}
	return out
}

// withClosers returns a text up to position i, with the brackets and end tags that follow.
func withClosers(text string, i int) string {
	for i < len(text) {
		rest := strings.TrimLeft(text[i:], " \t\r\n")
		next := len(text) - len(rest)
		switch end := strings.IndexByte(rest, '>'); {
		case strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, ")"):
			i = next + 1
			continue
		case strings.HasPrefix(rest, "```"):
			i = next + 3
			continue
		case (strings.HasPrefix(rest, "</") || strings.HasPrefix(rest, "<|") || strings.HasPrefix(rest, "<｜")) && end > 0:
			i = next + end + 1
			continue
		}
		break
	}
	return text[:i]
}

// readings returns the forms in which a passage may contain calls: as written, without
// escapes, without line prefixes, each of its objects as a separate block, and, if it
// is JSON, its texts.
func (p passage) readings() []string {
	p.text, p.raw = visible(p.text), visible(p.raw)
	out := []string{p.text}
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	add(strings.Map(straightened, p.text)) // as an editor or a web page sets quotation marks
	add(uncoloured(spoken(p.raw)))
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

// callHasher hashes the meaning of calls.
type callHasher struct {
	tools []llm.ToolDef
	args  map[string]map[string]bool // that tools declare
	form  []byte
}

// hash returns a hash of the meaning of a call: the tool, the dialect if its markers
// count, and the arguments as values. It reports whether there are any. The hash is the
// same in every process.
func (h *callHasher) hash(c llm.Call, marked bool) (sum uint64, says bool) {
	h.form = append(h.form[:0], c.Name...)
	h.form = append(h.form, 0)
	if marked {
		h.form = append(h.form, c.Provenance.Dialect...)
	}
	h.form = append(h.form, 0)
	start := len(h.form)
	declared := h.declared(c.Name)
	form := js.Form{Mode: js.ByValue, OmitEmpty: true, Text: appendNormalized, Omit: func(depth int, name, _ []byte) bool {
		return depth == 0 && declared != nil && !declared[string(name)]
	}}
	args, err := form.Append(h.form, c.Args)
	if err != nil { // nested too deep to be compared by value
		args = append(h.form, c.Args...)
	}
	h.form = args
	all := sha256.Sum256(h.form)
	return binary.BigEndian.Uint64(all[:]), len(h.form) > start
}

// declared returns the arguments that a tool has; nil if it may have others, too.
func (h *callHasher) declared(name string) map[string]bool {
	known, there := h.args[name]
	if there {
		return known
	}
	for _, t := range h.tools {
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
	if h.args == nil {
		h.args = make(map[string]map[string]bool)
	}
	h.args[name] = known
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
