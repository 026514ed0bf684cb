package whole

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/schema"
)

// scanner reads a block of words, signs and values.
type scanner struct {
	*reading
	s     string
	i     int
	depth int    // open brackets
	last  string // the last word for a part of a call
	line  bool   // only signs were read on this line
	begun bool   // BEGIN_ARG precedes the parameter
	value bool   // the last thing that was read is a value that nothing ends
}

// words reads a block that is not an element.
func (r *reading) words(text string) bool {
	p := scanner{reading: r, s: text, line: true}
	for p.i < len(p.s) {
		if !p.next() {
			return false
		}
	}
	r.open = r.open || p.value
	return p.depth == 0
}

// next reads one part of the block.
func (p *scanner) next() bool {
	c, n := p.rune()
	switch {
	case c == '\n':
		p.line = true
		p.i += n
		return true
	case unicode.IsSpace(c):
		p.i += n
		return true
	case p.depth > 0 && (c == '#' || strings.HasPrefix(p.s[p.i:], "//")): // a comment in an object
		text, _, _ := strings.Cut(p.s[p.i:], "\n")
		p.i += len(text)
		return true
	case p.depth > 0 && strings.HasPrefix(p.s[p.i:], "/*"):
		text, _, ok := strings.Cut(p.s[p.i:], "*/")
		p.i += len(text) + len("*/")
		return ok
	case isQuote(c):
		return p.quoted(c)
	case unicode.IsLetter(c) || c == '_':
		return p.word()
	case c == '-' && strings.HasPrefix(p.s[p.i:], "--"):
		return p.flag()
	}
	return p.sign(c, n)
}

// rune returns the next character. Full-width signs are as their usual forms.
func (p *scanner) rune() (rune, int) {
	c, n := utf8.DecodeRuneInString(p.s[p.i:])
	return narrow(c), n
}

// narrow returns the usual form of a full-width sign.
func narrow(c rune) rune {
	switch {
	case c >= 0xFF01 && c <= 0xFF5E:
		return c - 0xFEE0
	case c == '、' || c == '，':
		return ','
	case c == '【' || c == '「' || c == '『' || c == '〔':
		return '['
	case c == '】' || c == '」' || c == '』' || c == '〕':
		return ']'
	case c == '。':
		return '.'
	}
	return c
}

func isQuote(c rune) bool { return strings.ContainsRune("\"'`“”‘’", c) }

// sign reads a sign between the parts of a call.
func (p *scanner) sign(c rune, n int) bool {
	switch {
	case p.quotes(c):
		return false
	case strings.ContainsRune("([{", c):
		p.depth++
		p.named = p.named || p.name != ""
		p.value = false
	case strings.ContainsRune(")]}", c):
		if p.depth--; p.depth < 0 {
			return false
		}
		p.value = false
	case strings.ContainsRune("<>*,;:=-#@$/|!.•→~+%\\", c), unicode.Is(unicode.So, c), unicode.Is(unicode.Mn, c): // also emoji
		p.value = p.value && c != ';'
	default:
		return false
	}
	p.i += n
	return true
}

// quotes reports whether c begins a line that is quoted: by Markdown, a diff or a prompt.
func (p *scanner) quotes(c rune) bool {
	if p.i > 0 && p.s[p.i-1] != '\n' {
		return false
	}
	return strings.ContainsRune(">+", c) || c == '$' && strings.HasPrefix(p.s[p.i+1:], " ") || c == '-' && p.i+1 < len(p.s) && strings.IndexByte(" ->", p.s[p.i+1]) < 0
}

// wordAt returns the length of the word at i, which may be the name of a tool or a parameter.
func (p *scanner) wordAt(i int) int {
	j := i
	for j < len(p.s) {
		c, n := utf8.DecodeRuneInString(p.s[j:])
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_.-/'’", c) || c >= 0xFF01 && c <= 0xFF5E {
			break
		}
		j += n
	}
	return len(strings.TrimRight(p.s[i:j], ".-/'’"))
}

// word reads a word without quotes.
func (p *scanner) word() bool {
	n := p.wordAt(p.i)
	if n == 0 {
		return false
	}
	word := p.s[p.i : p.i+n]
	return p.named1(word, p.i+n)
}

// named1 reads a word that ends at end: a parameter, the name of the tool, or a word for a part of a call.
func (p *scanner) named1(word string, end int) bool {
	line := p.line
	p.line = false
	switch {
	case p.declares(word) && (p.separated(end) || p.begun):
		return p.parameter(word, end, line)
	case p.name == "" && p.names.Offered(word):
		p.named = p.named || p.i == 1 && p.s[0] == '/'
		p.i = end
		return p.setName(word)
	case p.isAside(word, end):
		return p.aside(end)
	case !isCallWord(word) && !(line && p.labels(end)):
		return false
	}
	p.i, p.value = end, false
	p.last = strings.ToLower(word)
	p.named = p.named || nameWords[p.last] || values.Keys[word] == values.NameRole || values.Keys[word] == values.BothRole
	p.begun = p.last == "begin_arg"
	return true
}

// labels reports whether the word before i, in any language, is a label: the name of the tool follows it, or all arguments
// do.
func (p *scanner) labels(i int) bool {
	line, _, _ := strings.Cut(p.s[i:], "\n")
	text := strings.TrimLeft(line, " *`")
	c, n := utf8.DecodeRuneInString(text)
	if narrow(c) != ':' {
		return false
	}
	switch text = strings.Trim(text[n:], " *`\r"); {
	case p.name == "":
		return p.names.Offered(text)
	case text == "":
		return i+len(line) < len(p.s)
	}
	return text[0] == '{'
}

// separated reports whether a sign for the value of a parameter follows the word before i.
func (p *scanner) separated(i int) bool {
	for i < len(p.s) {
		c, n := utf8.DecodeRuneInString(p.s[i:])
		switch c = narrow(c); {
		case c == ':' || c == '=':
			return true
		case !isQuote(c) && c != ' ' && c != '*':
			return p.i > 0 && p.s[p.i-1] == ':' // (f :city "Rome")
		}
		i += n
	}
	return false
}

// flag reads --key value or --key=value.
func (p *scanner) flag() bool {
	p.i += 2
	n := p.wordAt(p.i)
	key := p.s[p.i : p.i+n]
	if !p.declares(key) {
		key = strings.ReplaceAll(key, "-", "_")
	}
	if n == 0 || !p.declares(key) {
		return false
	}
	p.i += n
	p.i += len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], " ="))
	return p.valueOf(key, false)
}

// parameter reads the sign after a parameter that ends at i, and its value. line reports whether it begins a line.
func (p *scanner) parameter(key string, i int, line bool) bool {
	if p.begun {
		return p.argBlock(key, i)
	}
	for p.i = i; p.i < len(p.s); {
		c, n := p.rune()
		if !isQuote(c) && !strings.ContainsRune(" :=>*", c) || isQuote(c) && p.afterSign(i) {
			break
		}
		p.i += n
	}
	return p.valueOf(key, line && p.depth == 0)
}

// afterSign reports whether a colon or an equals sign is between i and the current position.
func (p *scanner) afterSign(i int) bool {
	for _, c := range p.s[i:p.i] {
		if c = narrow(c); c == ':' || c == '=' {
			return true
		}
	}
	return p.s[p.i-1] == ' '
}

// argBlock reads the lines of a value between BEGIN_ARG and END_ARG.
func (p *scanner) argBlock(key string, i int) bool {
	p.begun = false
	value, rest, ok := strings.Cut(p.s[i:], "\nEND_ARG")
	value, lines := strings.CutPrefix(value, "\n")
	if !ok || !lines || !p.addText(key, value) {
		return false
	}
	p.i = len(p.s) - len(rest)
	return true
}

// valueOf reads the value of a parameter. line reports whether the value may be the rest of the line.
func (p *scanner) valueOf(key string, line bool) bool {
	if p.i == len(p.s) {
		return false
	}
	p.value = false
	c, _ := p.rune()
	switch {
	case isQuote(c):
		text, n, ok := p.str()
		p.i += n
		return ok && p.ended() && p.addText(key, text)
	case c == '{' || c == '[':
		return p.json(key)
	case line && (strings.IndexByte("|>", p.s[p.i]) >= 0 || c == '\n' && p.types(key)&(schema.Object|schema.Array) != 0):
		return p.lines(key)
	case line:
		text, _, _ := strings.Cut(p.s[p.i:], "\n")
		p.i += len(text)
		p.value = p.i == len(p.s)
		return p.addText(key, strings.TrimSpace(text))
	}
	n := p.wordAt(p.i)
	if text := p.s[p.i:]; n == 0 && (c == '-' || c == '+') {
		n = 1 + p.wordAt(p.i+1)
	} else if n == 0 || n < len(text) && strings.IndexByte("'\"(<@/:", text[n]) >= 0 {
		return false
	}
	text := p.s[p.i : p.i+n]
	p.i += n
	p.value = p.i == len(p.s)
	return p.ended() && p.addText(key, text)
}

// lines reads a value that is a block of lines in YAML, from its header on.
func (p *scanner) lines(key string) bool {
	begin := strings.LastIndexByte(p.s[:p.i], '\n') + 1
	indent := len(p.s[begin:]) - len(strings.TrimLeft(p.s[begin:], " "))
	end := p.i
	for end < len(p.s) {
		line, _, _ := strings.Cut(p.s[end:], "\n")
		if rest := strings.TrimLeft(line, " "); end > p.i && rest != "" && len(line)-len(rest) <= indent {
			break
		}
		end = min(end+len(line)+1, len(p.s))
	}
	args, odd, err := values.ReadYAML(key+": "+p.s[p.i:end]+"\n", p.shape)
	var object map[string]json.RawMessage
	if err != nil || odd || json.Unmarshal(args, &object) != nil || len(object) != 1 {
		return false
	}
	p.i, p.line, p.value = end, true, end == len(p.s)
	return p.add(key, object[key])
}

// ended reports whether a value ends here: white space, a sign between members or a bracket follows.
func (p *scanner) ended() bool {
	if p.i == len(p.s) {
		return true
	}
	c, _ := p.rune()
	return unicode.IsSpace(c) || strings.ContainsRune(",;)]}>.`*", c) || c == '|' || c == '/' || c == '\\'
}

// json reads a value that is an object or a list.
func (p *scanner) json(key string) bool {
	dec := json.NewDecoder(strings.NewReader(p.s[p.i:]))
	var v json.RawMessage
	if dec.Decode(&v) != nil {
		return false
	}
	p.i += int(dec.InputOffset())
	return p.ended() && p.addJSON(key, v)
}

// quoted reads a quote: around a word of the call, or around all arguments.
func (p *scanner) quoted(c rune) bool {
	text, n, ok := p.str()
	if !ok {
		p.i++ // inline code around the call
		return c == '`'
	}
	inner := strings.TrimSpace(text)
	if p.last != "" && values.Keys[p.last] == values.ArgsRole && strings.HasPrefix(inner, "{") && p.name != "" {
		p.i += n
		return p.addObject(inner)
	}
	if c == '`' && !p.isWord(inner) {
		p.i++
		return true
	}
	return p.isWord(inner) && p.named1(inner, p.i+n)
}

// isWord reports whether text is a single word.
func (p *scanner) isWord(text string) bool {
	q := scanner{s: text}
	return text != "" && q.wordAt(0) == len(text)
}

// asides are keys whose values are not part of the call.
var asides = set("id call_id tool_call_id type jsonrpc index thought thoughts reasoning")

// isAside reports whether word is such a key.
func (p *scanner) isAside(word string, end int) bool {
	return asides[strings.ToLower(word)] && p.separated(end)
}

// aside passes over the value of such a key.
func (p *scanner) aside(i int) bool {
	for p.i = i; p.i < len(p.s); {
		c, n := p.rune()
		if !isQuote(c) && !strings.ContainsRune(" :=", c) || isQuote(c) && p.afterSign(i) {
			break
		}
		p.i += n
	}
	if p.i == len(p.s) {
		return false
	}
	switch c, _ := p.rune(); {
	case isQuote(c):
		_, n, ok := p.str()
		p.i += n
		return ok
	case c == '{' || c == '[':
		dec := json.NewDecoder(strings.NewReader(p.s[p.i:]))
		var v json.RawMessage
		err := dec.Decode(&v)
		p.i += int(dec.InputOffset())
		return err == nil
	}
	n := p.wordAt(p.i)
	p.i += n
	return n > 0
}

// str returns the text of the string at the current position, and its length with its quotes. A string is JSON, or has
// the escapes of Python.
func (p *scanner) str() (text string, n int, ok bool) {
	open, n := utf8.DecodeRuneInString(p.s[p.i:])
	rest := p.s[p.i+n:]
	if strings.HasPrefix(rest, string(open)+string(open)) {
		return "", 0, false // three quotes
	}
	var out strings.Builder
	for i := 0; i < len(rest); {
		c, size := utf8.DecodeRuneInString(rest[i:])
		switch {
		case closes(open, c):
			return out.String(), n + i + size, true
		case c == '\\':
			plain, size, ok := unescape(rest[i:])
			if !ok {
				return "", 0, false
			}
			out.WriteString(plain)
			i += size
			continue
		}
		out.WriteString(rest[i : i+size])
		i += size
	}
	return "", 0, false
}

// closes reports whether c ends a string that begins with open.
func closes(open, c rune) bool {
	switch open {
	case '“', '”':
		return c == '”' || c == '“'
	case '‘', '’':
		return c == '’' || c == '‘'
	}
	return c == open
}

// unescape reads the escape at the beginning of s.
func unescape(s string) (plain string, n int, ok bool) {
	if len(s) < 2 {
		return "", 0, false
	}
	switch c := s[1]; c {
	case 'n', 't', 'r', '"', '\\', '/', 'b', 'f':
		json.Unmarshal([]byte(`"`+s[:2]+`"`), &plain)
		return plain, 2, true
	case '\'', '`':
		return s[1:2], 2, true
	case 'u':
		n = 6
		if len(s) >= 12 && strings.HasPrefix(s[6:], `\u`) && (s[2] == 'd' || s[2] == 'D') {
			n = 12
		}
		return plain, n, len(s) >= n && json.Unmarshal([]byte(`"`+s[:n]+`"`), &plain) == nil
	}
	return "", 0, false
}

// isCallWord reports whether a word, or each part of it, belongs to the notation of a call.
func isCallWord(word string) bool {
	low := strings.ToLower(word)
	if callWords[low] {
		return true
	}
	if len(word) > 32 {
		return false
	}
	parts := strings.FieldsFunc(word, func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == '/' })
	if len(parts) < 2 {
		parts = camel(word)
	}
	for _, part := range parts {
		if !callWords[strings.ToLower(part)] && !(strings.Contains(word, ".") && part != word && isCallWord(part)) {
			return false
		}
	}
	return len(parts) > 1
}

// camel splits a word before each capital letter.
func camel(word string) (parts []string) {
	start := 0
	for i := range word {
		if i > start && word[i] >= 'A' && word[i] <= 'Z' && (word[i-1] < 'A' || word[i-1] > 'Z') {
			parts = append(parts, strings.ToLower(word[start:i]))
			start = i
		}
	}
	return append(parts, strings.ToLower(word[start:]))
}

// callWords are the words of the notations in which models write calls.
var callWords = set(`tool tools function functions func fn call calls calling called invoke invokes invoking invocation use uses using run runs
running execute executes executing exec action actions command cmd request name names recipient method api server client
argument arguments args arg parameter parameters params param input inputs kwargs with where and value values options payload data
begin end start stop open close dict let const var await return print result response output res now i i'll i’ll will let's me do please
tool_use mcp default json properties plugin skill operation task step step: by the to custom following next`)

// nameWords are the words that announce the name of a tool.
var nameWords = set("tool function call action invoke command use run execute tool_call function_call calling")
