package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/schema"
)

// YamlDocument begins a YAML document.
const YamlDocument = "---"

// WithoutFence returns YAML without the code fence and the document marker that may surround it.
func WithoutFence(text string) string {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "```") && !strings.HasPrefix(trimmed, YamlDocument) {
		return text
	}
	_, text, _ = strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
	if strings.HasPrefix(trimmed, "```") {
		text = strings.TrimSuffix(strings.TrimRight(text, " \t\r\n"), "```")
	}
	return WithoutFence(text)
}

// yamlReader reads the subset of YAML in which models write arguments: mappings, sequences, and plain, quoted, literal
// and folded scalars. Anchors, aliases and tags are not supported and are read as text.
type yamlReader struct {
	lines []yamlLine
	at    int
	out   []byte
	odd   bool
}

// yamlLine is a line. raw is the whole line, text the part after its indentation.
type yamlLine struct {
	indent    int
	raw, text string
}

var errYAMLDeep = errors.New("it is nested too deeply")

// ReadYAML returns a YAML mapping as JSON, with values typed by shape. odd reports whether a part of the text is not plain:
// a quote that ends within a value, or a key that holds signs.
func ReadYAML(text string, shape *schema.Shape) (args json.RawMessage, odd bool, err error) {
	var r yamlReader
	text = strings.TrimRight(text, " ")
	for raw := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		raw = strings.TrimSuffix(raw, "\r")
		rest := strings.TrimLeft(raw, " ")
		r.lines = append(r.lines, yamlLine{len(raw) - len(rest), raw, strings.TrimRight(rest, " \t")})
	}
	l := r.next()
	if l == nil {
		return json.RawMessage("{}"), false, nil
	}
	if err := r.mapping(l.indent, shape, 0); err != nil {
		return nil, false, err
	}
	if r.next() != nil {
		return nil, false, fmt.Errorf("line %d is indented less than the first key", r.at+1)
	}
	return r.out, r.odd, nil
}

// next skips empty lines and comments. It returns the next line, or nil at the end.
func (r *yamlReader) next() *yamlLine {
	for ; r.at < len(r.lines); r.at++ {
		if l := &r.lines[r.at]; l.text != "" && l.text[0] != '#' {
			return l
		}
	}
	return nil
}

// mapping reads the mapping whose keys have the given indentation.
func (r *yamlReader) mapping(indent int, shape *schema.Shape, depth int) error {
	if depth > maxElements {
		return errYAMLDeep
	}
	seen := make(map[string]bool)
	r.out = append(r.out, '{')
	for l := r.next(); l != nil && l.indent >= indent; l = r.next() {
		key, rest, ok := yamlKey(l.text)
		if !ok || l.indent > indent || seen[key] {
			return fmt.Errorf("line %d is no key of the mapping", r.at+1)
		}
		if len(seen) > 0 {
			r.out = append(r.out, ',')
		}
		seen[key] = true
		r.odd = r.odd || strings.ContainsAny(key, "\"'<>(){}[],;=:")
		r.out = append(append(r.out, chars.QuoteJSON(key)...), ':')
		r.at++
		var inner *schema.Shape
		if shape != nil {
			inner = shape.Property(key)
		}
		if err := r.value(rest, indent, inner, depth); err != nil {
			return err
		}
	}
	r.out = append(r.out, '}')
	return nil
}

// yamlKey splits a line into its key and the text after the colon.
func yamlKey(text string) (key, rest string, ok bool) {
	if text != "" && chars.IsQuote(text[0]) {
		inner, after, closed := yamlQuoted(text)
		after, colon := strings.CutPrefix(strings.TrimLeft(after, " "), ":")
		return inner, strings.TrimLeft(after, " "), closed && colon
	}
	i := strings.Index(text, ": ")
	if strings.HasSuffix(text, ":") && i < 0 {
		i = len(text) - 1
	}
	if i <= 0 || strings.HasPrefix(text, "- ") {
		return "", "", false
	}
	return strings.TrimRight(text[:i], " "), strings.TrimLeft(text[i+1:], " \t"), true
}

// sequence reads the sequence whose dashes have the given indentation.
func (r *yamlReader) sequence(indent int, shape *schema.Shape, depth int) error {
	if depth > maxElements {
		return errYAMLDeep
	}
	r.out = append(r.out, '[')
	n := 0
	for l := r.next(); l != nil && l.indent == indent && isYAMLItem(l.text); l = r.next() {
		if n > 0 {
			r.out = append(r.out, ',')
		}
		var inner *schema.Shape
		if shape != nil {
			inner = shape.Item(n)
		}
		n++
		rest := strings.TrimLeft(l.text[1:], " ")
		var err error
		if _, _, ok := yamlKey(rest); ok || isYAMLItem(rest) { // it begins on the line of the dash
			l.indent, l.text = l.indent+len(l.text)-len(rest), rest
			err = r.nested(l, inner, depth+1)
		} else {
			r.at++
			err = r.value(rest, indent, inner, depth)
		}
		if err != nil {
			return err
		}
	}
	r.out = append(r.out, ']')
	return nil
}

func isYAMLItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// nested reads the mapping or the sequence that begins with the line l.
func (r *yamlReader) nested(l *yamlLine, shape *schema.Shape, depth int) error {
	if isYAMLItem(l.text) {
		return r.sequence(l.indent, shape, depth)
	}
	return r.mapping(l.indent, shape, depth)
}

// value reads a value that begins with rest and continues on the next lines. indent is the indentation of its key or
// dash.
func (r *yamlReader) value(rest string, indent int, shape *schema.Shape, depth int) error {
	types := schema.Any
	if shape != nil {
		types = shape.Types()
	}
	if header, ok := yamlBlock(rest); ok {
		r.put(schema.String&types, r.block(header, indent))
		return nil
	}
	if strings.HasPrefix(rest, "#") {
		rest = ""
	}
	if l := r.next(); rest == "" && types != schema.String && l.opensNested(indent) {
		return r.nested(l, shape, depth+1)
	}
	r.scalar(types, r.joined(rest, indent))
	return nil
}

// opensNested reports whether the line begins the mapping or sequence of a key with the given indentation. l may be
// nil.
func (l *yamlLine) opensNested(indent int) bool {
	if l == nil || l.indent < indent {
		return false
	}
	_, _, isKey := yamlKey(l.text)
	return isYAMLItem(l.text) || isKey && l.indent > indent
}

// scalar writes a plain or quoted scalar, or a list or an object written as JSON.
func (r *yamlReader) scalar(types schema.Types, text string) {
	if text != "" && chars.IsQuote(text[0]) {
		if inner, after, ok := yamlQuoted(text); ok && (after == "" || strings.HasPrefix(strings.TrimLeft(after, " "), "#")) {
			r.put(schema.String&types, inner)
			return
		} else if !ok || after[0] != ' ' || strings.Contains(after, ": ") { // it is not text with words in quotes
			r.odd = true
		}
	}
	if text != "" && (text[0] == '{' || text[0] == '[') && types != schema.String && json.Valid([]byte(text)) {
		r.out = append(r.out, text...)
		return
	}
	if i := strings.Index(text, " #"); i >= 0 {
		text = strings.TrimRight(text[:i], " \t")
	}
	if types&schema.Boolean != 0 && types&schema.String == 0 {
		switch strings.ToLower(text) { // of YAML 1.1
		case "yes", "on":
			text = "true"
		case "no", "off":
			text = "false"
		}
	}
	if text == "" || text == "~" || text == "null" {
		r.empty(types, text)
		return
	}
	r.put(types, text)
}

// empty writes a missing or null value.
func (r *yamlReader) empty(types schema.Types, text string) {
	if types&schema.Null == 0 && types&schema.String != 0 {
		r.put(schema.String, text)
		return
	}
	r.out = append(r.out, "null"...)
}

// put writes text as one of types. If types is 0, the schema does not allow a string: the text is still written as a
// string, and the validation of the call finds it.
func (r *yamlReader) put(types schema.Types, text string) {
	if types == 0 {
		types = schema.String
	}
	v := Typed(types, text)
	r.odd = r.odd || types&schema.String == 0 && v[0] == '"'
	r.out = append(r.out, v...)
}

// joined returns a plain or quoted scalar that begins with rest and continues on the lines that are indented further. A
// newline becomes a space, an empty line a newline.
func (r *yamlReader) joined(rest string, indent int) string {
	var b strings.Builder
	b.WriteString(rest)
	breaks := 0
	for i := r.at; i < len(r.lines); i++ {
		l := &r.lines[i]
		if l.text == "" {
			breaks++
			continue
		}
		if l.indent <= indent {
			break
		}
		switch {
		case breaks > 0:
			b.WriteString(strings.Repeat("\n", breaks))
		case b.Len() > 0:
			b.WriteByte(' ')
		}
		b.WriteString(l.text)
		breaks, r.at = 0, i+1
	}
	return b.String()
}

// yamlQuoted splits text into the quoted scalar at its beginning and the text after it.
func yamlQuoted(text string) (inner, after string, ok bool) {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && strings.HasPrefix(text[i+1:], "'"):
			i++
		case text[i] == quote && quote == '\'':
			return strings.ReplaceAll(text[1:i], "''", "'"), text[i+1:], true
		case text[i] == quote:
			inner, ok = unescapeYAML(text[:i+1])
			return inner, text[i+1:], ok
		}
	}
	return "", "", false
}

// yamlEscapes replaces YAML escapes by JSON escapes.
var yamlEscapes = strings.NewReplacer(`\\`, `\\`, `\ `, " ", `\0`, `\u0000`, `\e`, `\u001b`, `\x`, `\u00`, "\n", `\n`, "\t", `\t`)

// unescapeYAML returns the text of a scalar in double quotes. Its escapes are those of JSON and a few more.
func unescapeYAML(s string) (string, bool) {
	var text string
	err := json.Unmarshal([]byte(yamlEscapes.Replace(s)), &text)
	return text, err == nil
}

// blockHeader is the header of a literal or folded scalar, after the key.
type blockHeader struct {
	folded bool
	chomp  byte // '-', '+' or 0
	indent int  // 0 means the indentation of the first line
}

// yamlBlock reads the header of a literal or folded scalar.
func yamlBlock(rest string) (h blockHeader, ok bool) {
	rest, _, _ = strings.Cut(rest, " #")
	rest = strings.TrimRight(rest, " ")
	if rest == "" || len(rest) > 3 || rest[0] != '|' && rest[0] != '>' {
		return h, false
	}
	h.folded = rest[0] == '>'
	for _, c := range []byte(rest[1:]) {
		switch {
		case c == '-' || c == '+':
			h.chomp = c
		case c >= '1' && c <= '9':
			h.indent = int(c - '0')
		default:
			return h, false
		}
	}
	return h, true
}

// block reads a literal or folded scalar. indent is the indentation of its key.
func (r *yamlReader) block(h blockHeader, indent int) string {
	cut := 0
	if h.indent > 0 {
		cut = indent + h.indent
	}
	var lines []string
	for ; r.at < len(r.lines); r.at++ {
		l := &r.lines[r.at]
		if l.text != "" && l.indent <= indent {
			break
		}
		if l.text != "" && cut == 0 {
			cut = l.indent
		}
		lines = append(lines, l.raw[min(cut, l.indent):])
	}
	end := len(lines)
	for end > 0 && strings.TrimLeft(lines[end-1], " ") == "" {
		end--
	}
	tail := "\n"
	switch {
	case h.chomp == '-' || end == 0 && h.chomp == 0:
		tail = ""
	case h.chomp == '+':
		tail = strings.Repeat("\n", len(lines)-end+chars.BoolInt(end > 0))
	}
	if h.folded {
		return foldYAML(lines[:end]) + tail
	}
	return strings.Join(lines[:end], "\n") + tail
}

// foldYAML joins the lines of a folded scalar. A newline between two lines of text becomes a space, unless one of them
// is indented.
func foldYAML(lines []string) string {
	var b strings.Builder
	breaks, plain := 0, false // newlines since the last text, which was not indented
	for i, l := range lines {
		if l == "" {
			breaks++
			continue
		}
		indented := l[0] == ' ' || l[0] == '\t'
		switch {
		case i == breaks: // nothing before it
			b.WriteString(strings.Repeat("\n", breaks))
		case !plain || indented:
			b.WriteString(strings.Repeat("\n", breaks+1))
		case breaks == 0:
			b.WriteByte(' ')
		default:
			b.WriteString(strings.Repeat("\n", breaks))
		}
		b.WriteString(l)
		breaks, plain = 0, !indented
	}
	return b.String()
}

// SplitLine splits "- **city**: Rome" into key and value, without the Markdown signs around them.
func SplitLine(line []byte) (key string, value []byte, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && line[1] == ' ' {
		line = bytes.TrimLeft(line[1:], " ")
	}
	word, value, ok := bytes.Cut(line, []byte{':'})
	value, closed := bytes.CutPrefix(value, []byte("**")) // **city:** Rome
	word = bytes.Trim(word, "*`\"' ")
	if !ok || !closed && len(value) > 0 && value[0] != ' ' {
		return "", nil, false
	}
	value = bytes.TrimSpace(value)
	if n := len(value); n > 1 && value[0] == '`' && value[n-1] == '`' {
		value = value[1 : n-1]
	}
	return string(word), value, len(word) > 0
}
