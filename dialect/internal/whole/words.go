package whole

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/loose"
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
	lead  bool   // only signs and words for parameters were read on this line
	full  bool   // a name was read on this line
	begun bool   // BEGIN_ARG precedes the parameter
	comma byte   // the sign between values without quotes, in name|key=value|key=value and in the query of a URL
	said  string // the words on a line that are no part of the call
	other bool   // one of them belongs to no notation of calls
	value bool   // the last thing that was read is a value that nothing ends
}

// words reads a block that is not an element.
func (r *reading) words(text string) bool {
	p := scanner{reading: r, s: text, line: true, lead: true}
	for p.i < len(p.s) {
		if !p.next() {
			return false
		}
	}
	r.open = r.open || p.value
	return p.depth == 0 && (!p.other || len(r.args) > 0 && r.Announces(p.said))
}

// next reads one part of the block.
func (p *scanner) next() bool {
	c, n := p.rune()
	switch {
	case c == '\n':
		p.line, p.lead, p.full = true, true, false
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
	case strings.ContainsRune("-=_*", c) && p.repeated() > 2: // a line between parts
		p.i += p.repeated()
		return true
	case c == '-' && p.flagLength() > 0:
		return p.flag(p.flagLength())
	case unicode.IsDigit(c) && p.itemNumber() > 0:
		p.i += p.itemNumber()
		return true
	}
	return p.sign(c, n)
}

// repeated returns how often the next byte is repeated.
func (p *scanner) repeated() int {
	return len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], p.s[p.i:p.i+1]))
}

// flagLength returns the number of dashes before a parameter or a word of a command line, 0 if there is none here.
func (p *scanner) flagLength() int {
	n := p.repeated()
	if n > 2 || n == 1 && (p.i == 0 || !chars.IsSpace(p.s[p.i-1])) || p.i+n == len(p.s) || !chars.IsLetter(p.s[p.i+n]) {
		return 0
	}
	return n
}

// itemNumber returns the length of the number of an item in a list, at the beginning of a line.
func (p *scanner) itemNumber() int {
	text := p.s[p.i:]
	n := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if !p.line || n > 3 || len(text) < n+2 || strings.IndexByte(".)", text[n]) < 0 || text[n+1] != ' ' {
		return 0
	}
	return n + 2
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

func isQuote(c rune) bool { return strings.ContainsRune("\"'`“”‘’«»", c) }

// sign reads a sign between the parts of a call.
func (p *scanner) sign(c rune, n int) bool {
	switch {
	case p.quotes(c):
		return false
	case p.delimits(c):
		p.comma, p.line = byte(c), false
		if c == '?' {
			p.comma = '&'
		}
	case strings.ContainsRune("([{", c):
		p.depth++
		p.named = p.named || p.name != ""
		p.value = false
	case strings.ContainsRune(")]}", c):
		if p.depth--; p.depth < 0 {
			return false
		}
		p.value = false
	case strings.ContainsRune("<>*,;:=-–—#@$/|!.•→~+%\\", c), unicode.Is(unicode.So, c), unicode.Is(unicode.Mn, c): // also emoji
		p.value = p.value && c != ';'
	default:
		return false
	}
	p.i += n
	return true
}

// delimits reports whether c directly follows the name of the tool and separates it from values without quotes.
func (p *scanner) delimits(c rune) bool {
	return p.comma == 0 && p.depth == 0 && len(p.args) == 0 && (c == '|' || c == '?') && p.name != "" && strings.HasSuffix(p.s[:p.i], p.name) ||
		p.comma == '&' && c == '&'
}

// quotes reports whether c begins a line that is quoted: by Markdown, a diff or a prompt.
func (p *scanner) quotes(c rune) bool {
	if p.i > 0 && p.s[p.i-1] != '\n' {
		return false
	}
	return strings.ContainsRune(">+", c) || c == '$' && strings.HasPrefix(p.s[p.i+1:], " ") ||
		c == '-' && p.i+1 < len(p.s) && strings.IndexByte(" ->\n", p.s[p.i+1]) < 0
}

// wordAt returns the length of the word at i, which may be the name of a tool or a parameter.
func (p *scanner) wordAt(i int) int {
	j := i
	for j < len(p.s) {
		c, n := utf8.DecodeRuneInString(p.s[j:])
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune("_.-/'’", c) || c >= 0xFF01 && c <= 0xFF5E {
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
	if strings.HasSuffix(p.s[:p.i], "<|") && strings.HasPrefix(p.s[p.i+n:], "|>") && !p.names.Offered(p.s[p.i:p.i+n]) { // an unknown token
		if key := p.s[p.i : p.i+n]; p.declares(key) {
			return p.afterToken(key, p.i+n+len("|>"))
		}
		p.last, p.line, p.value = strings.ToLower(p.s[p.i:p.i+n]), false, false
		p.i += n
		return true
	}
	word := p.s[p.i : p.i+n]
	return p.named1(word, p.i+n)
}

// afterToken reads the line of a value that follows a token for a parameter.
func (p *scanner) afterToken(key string, i int) bool {
	text, _, _ := strings.Cut(p.s[i:], "<|")
	p.i = i + len(text)
	p.value = p.i == len(p.s)
	text = strings.TrimSpace(text)
	return !strings.Contains(text, "\n") && p.addText(key, text)
}

// constructs reports whether the word before end is the type of an object that holds the arguments: RunShellArgs{…}.
func (p *scanner) constructs(word string, end int) bool {
	parts := camel(word)
	return p.name != "" && len(p.args) == 0 && p.depth == 1 && strings.HasPrefix(p.s[end:], "{") && len(parts) > 1 && callWords[parts[len(parts)-1]]
}

// named1 reads a word that ends at end: a parameter, the name of the tool, or a word for a part of a call.
func (p *scanner) named1(word string, end int) bool {
	line, lead := p.line, p.lead
	p.line, p.lead = false, false
	if key, ok := p.inPath(word); ok {
		word = key
	}
	switch {
	case p.declares(word) && p.pairs(word, end):
		return p.pairedValue(word, end)
	case p.declares(word) && (p.separated(end) || p.begun):
		return p.parameter(word, end, line || lead)
	case p.declares(word) && p.depth == 0 && paramWords[p.last] && p.s[p.i-1] == ' ' && strings.HasPrefix(p.s[end:], " "): // #arg city Rome
		return p.parameter(word, end, true)
	case p.names.Offered(word):
		return p.tool(word, end)
	case p.isAside(word, end):
		return p.aside(end)
	case p.depth > 0 && p.name != "" && sentenceWords[strings.ToLower(word)]:
		return false
	case !isCallWord(word) && !((line || p.depth > 0 || variableWords[p.last]) && p.labels(end)) && !p.constructs(word, end) && !(joins[word] && len(p.args) > 0):
		if p.Announces == nil || p.depth > 0 || p.declares(word) || len(p.calls) > 0 || strings.ContainsAny(p.s, "\n<{`") {
			return false
		}
		p.other = true
	}
	if p.depth == 0 {
		p.said += word + " "
	}
	p.i, p.value = end, false
	p.last = strings.ToLower(word)
	p.lead = lead && paramWords[p.last]
	p.named = p.named || nameWords[p.last] || values.Keys[word] == values.NameRole || values.Keys[word] == values.BothRole
	p.begun = p.last == "begin_arg"
	if rest := strings.TrimLeft(p.s[p.i:], " "); rest != "" && rest[0] >= '0' && rest[0] <= '9' && p.depth == 0 { // Call 1:
		p.i = len(p.s) - len(strings.TrimLeft(rest, "0123456789"))
	}
	return true
}

// tool reads the name of a tool. A name after a complete call begins the next one.
func (p *scanner) tool(word string, end int) bool {
	name, _ := p.names.Resolve(word)
	closes := p.last == "end" || p.i > 0 && p.s[p.i-1] == '/'
	switch {
	case p.name == name && (len(p.args) == 0 || closes):
	case p.name != "" && (closes || p.full && p.depth == 0 || !p.nextCall()):
		return false
	}
	p.full = true
	p.named = p.named || p.i == 1 && p.s[0] == '/'
	p.i, p.value, p.comma = end, false, 0
	return p.setName(word)
}

// inPath returns the parameter at the end of a path: tool.key, args.key. The path may name the tool.
func (p *scanner) inPath(word string) (key string, ok bool) {
	i := strings.LastIndexByte(word, '.')
	if i < 0 || p.declares(word) {
		return "", false
	}
	path, key := word[:i], word[i+1:]
	switch {
	case p.name == "" && p.names.Offered(path) && p.setName(path):
	case p.name != "" && (p.names.Offered(path) && p.is(path) || isCallWord(path)):
	default:
		return "", false
	}
	return key, p.declares(key)
}

// is reports whether a name is of the tool of the call.
func (p *scanner) is(written string) bool {
	name, ok := p.names.Resolve(written)
	return ok && name == p.name
}

// paramWords are the words for a parameter that may be before its name.
var paramWords = set("arg argument param parameter option arg_name param_name key name")

// pairs reports whether the word before i, in quotes, is the value of a key for names of parameters, and the key for its
// value follows: {"name": "city", "value": "Rome"}.
func (p *scanner) pairs(word string, i int) bool {
	return p.depth > 0 && paramWords[p.last] && p.afterPair(i) > 0
}

// afterPair returns where the value of a pair begins, or 0.
func (p *scanner) afterPair(i int) int {
	rest := strings.TrimLeft(p.s[i:], "\"'`”’ \t\r\n")
	rest, comma := strings.CutPrefix(rest, ",")
	rest = strings.TrimLeft(rest, "\"'`“‘ \t\r\n")
	n := 0
	for n < len(rest) && chars.IsNameByte(rest[n]) {
		n++
	}
	after := strings.TrimLeft(rest[n:], "\"'`”’ \t")
	if !comma || !valueTags[strings.ToLower(rest[:n])] || after == "" || strings.IndexByte(":=", after[0]) < 0 {
		return 0
	}
	return len(p.s) - len(strings.TrimLeft(after, ":=> "))
}

// pairedValue reads the value of such a pair.
func (p *scanner) pairedValue(key string, i int) bool {
	p.i, p.last = p.afterPair(i), ""
	return p.valueOf(key, false)
}

// labels reports whether the word before i, in any language, is a label: the name of the tool follows it, or all arguments
// do.
func (p *scanner) labels(i int) bool {
	line, _, _ := strings.Cut(p.s[i:], "\n")
	text := strings.TrimLeft(line, " *`\"'”’")
	c, n := utf8.DecodeRuneInString(text)
	if c = narrow(c); c != ':' && c != '=' && c != '→' && (c != ']' || p.name != "") {
		return false
	}
	text = strings.Trim(text[n:], " *>`\"'“‘\r")
	if rest, ok := strings.CutPrefix(text, "await "); ok && c == '=' {
		text = rest
	}
	first, _ := utf8.DecodeRuneInString(text)
	switch {
	case text == "":
		return p.name != "" && i+len(line) < len(p.s)
	case narrow(first) == '{':
		return p.name != ""
	}
	word := text[:(&scanner{s: text}).wordAt(0)]
	assigns := c == '=' && strings.HasPrefix(text[len(word):], "(")
	return p.names.Offered(word) && (p.depth > 0 || assigns || len(word) == len(text)) && (p.name == "" || p.fits())
}

// separated reports whether a sign for the value of a parameter follows the word before i.
func (p *scanner) separated(i int) bool {
	n, ok := p.separator(i)
	return ok && n > 0
}

// separator returns the length of the sign between a parameter that ends at i and its value, with the white space and quotes
// around it.
func (p *scanner) separator(i int) (n int, ok bool) {
	j, start := i, i
	for j < len(p.s) && (p.s[j] == ' ' || p.s[j] == '*' || isQuoteAt(p.s[j:])) {
		_, size := utf8.DecodeRuneInString(p.s[j:])
		j += size
	}
	for _, sign := range separators {
		if strings.HasPrefix(p.s[j:], sign) {
			return j + len(sign) - start, true
		}
	}
	if rest := p.s[i:]; strings.HasPrefix(rest, " set to ") || strings.HasPrefix(rest, " is ") {
		for _, words := range [...]string{" set to ", " is "} {
			if value, ok := strings.CutPrefix(rest, words); ok && value != "" && (strings.IndexByte("\"'`0123456789", value[0]) >= 0 || strings.HasPrefix(value, "true") || strings.HasPrefix(value, "false")) {
				return len(words), true
			}
		}
		return 0, false
	}
	if n = len(p.s[i:]) - len(strings.TrimLeft(p.s[i:], " ")); n > 0 && p.before(i) { // (f :city "Rome"), (f (city "Rome"))
		if strings.HasPrefix(p.s[i:], " . ") { // (f (city . "Rome"))
			n = len(" . ")
		}
		return n, true
	}
	return n, false
}

// before reports whether the word that ends at i begins after a sign that only parameters have.
func (p *scanner) before(i int) bool {
	for i > 0 && p.s[i-1] != ':' && chars.IsNameByte(p.s[i-1]) {
		i--
	}
	return i > 0 && strings.IndexByte(":(", p.s[i-1]) >= 0
}

// separators are the signs between a parameter and its value.
var separators = [...]string{":=", ":", "=>", "=", "：", "＝", "→", "->", "– ", "— ", "\t"}

func isQuoteAt(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return isQuote(c)
}

// flag reads --key value, --key=value or -key value, or a word of a call after n dashes.
func (p *scanner) flag(n int) bool {
	p.i += n
	n = p.wordAt(p.i)
	word := p.s[p.i : p.i+n]
	key := word
	if !p.declares(key) {
		key = strings.ReplaceAll(key, "-", "_")
	}
	if !p.declares(key) {
		p.last = strings.ToLower(word)
		p.i += n
		return isCallWord(word)
	}
	p.i += n
	if rest := strings.TrimLeft(p.s[p.i:], " "); p.types(key)&schema.Boolean != 0 && (rest == "" || rest[0] == '\n' || strings.HasPrefix(rest, "--")) {
		return p.add(key, json.RawMessage("true"))
	}
	p.i += len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], " ="))
	if rest := p.s[p.i:]; rest != "" && strings.IndexByte("\"'`{[", rest[0]) < 0 { // a word of a command line
		text := rest[:strings.IndexAny(rest+" ", " \t\r\n")]
		p.i += len(text)
		p.value = p.i == len(p.s)
		return !strings.ContainsAny(text, "$`\\\"'|&;<>()") && p.addText(key, text)
	}
	return p.valueOf(key, false)
}

// parameter reads the sign after a parameter that ends at i, and its value. line reports whether it begins a line.
func (p *scanner) parameter(key string, i int, line bool) bool {
	if p.begun {
		return p.argBlock(key, i)
	}
	n, _ := p.separator(i)
	p.i = i + n
	p.i += len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], " *"))
	return p.valueOf(key, line && p.depth == 0)
}

// afterSign reports whether a colon or an equals sign is between i and the current position.
func (p *scanner) afterSign(i int) bool {
	for _, c := range p.s[i:p.i] {
		if c = narrow(c); c == ':' || c == '=' || c == '>' || c == '→' {
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
	case isQuote(c) || strings.HasPrefix(p.s[p.i:], "「") || strings.HasPrefix(p.s[p.i:], "『"):
		text, n, ok := p.str()
		p.i += n
		return ok && p.ended() && p.addText(key, text)
	case p.comma != 0:
		return p.cell(key)
	case c == '{' && p.s[0] == '\\' && p.types(key)&schema.Object == 0:
		return p.group(key)
	case c == '{' || c == '[':
		return p.json(key)
	case line && c == '\n' && strings.HasPrefix(p.s[p.i:], "\n```"):
		return p.fenced(key)
	case line && (strings.IndexByte("|>", p.s[p.i]) >= 0 || c == '\n' && p.types(key)&(schema.Object|schema.Array) != 0):
		return p.lines(key)
	case line || p.depth == 0 && p.endsAtKey():
		text := p.beforeKey(p.restOfLine())
		p.i += len(text)
		p.value = p.i == len(p.s)
		return !strings.Contains(text, "</") && p.addText(key, strings.TrimSpace(text))
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

// fenced reads a value that is the content of the code fence on the next line.
func (p *scanner) fenced(key string) bool {
	_, text, _ := strings.Cut(p.s[p.i+len("\n```"):], "\n")
	text, rest, ok := strings.Cut(text, "\n```")
	if !ok || rest != "" && rest[0] != '\n' {
		return false
	}
	p.i, p.line = len(p.s)-len(rest), true
	return p.addText(key, text)
}

// restOfLine returns the line from here on.
func (p *scanner) restOfLine() string {
	line, _, _ := strings.Cut(p.s[p.i:], "\n")
	return line
}

// endsAtKey reports whether another parameter follows on the line.
func (p *scanner) endsAtKey() bool {
	line := p.restOfLine()
	return len(p.beforeKey(line)) < len(line)
}

// beforeKey returns the part of a line before the next parameter and the sign or space before it. After a space an equals
// sign must directly follow the parameter, and a word such as "and" may precede it.
func (p *scanner) beforeKey(line string) string {
	for i := range len(line) {
		if strings.IndexByte(" ,;|&/", line[i]) < 0 {
			continue
		}
		rest := strings.TrimLeft(line[i+1:], " ")
		if line[i] == ' ' {
			if word, after, _ := strings.Cut(rest, " "); joins[word] {
				rest = after
			}
		}
		q := scanner{reading: p.reading, s: rest}
		n := q.wordAt(0)
		if n > 0 && p.declares(rest[:n]) && (line[i] != ' ' && q.separated(n) || strings.HasPrefix(rest[n:], "=")) {
			return strings.TrimRight(line[:i], " ,;|&/")
		}
	}
	return line
}

// joins are words between two arguments.
var joins = set("and with und mit et avec y con e com en met i z и с dan dengan och med og ve ile ja")

// cell reads a value up to the sign between values.
func (p *scanner) cell(key string) bool {
	text, _, _ := strings.Cut(p.s[p.i:], "\n")
	text, _, _ = strings.Cut(text, string(rune(p.comma)))
	p.i += len(text)
	p.value = p.i == len(p.s)
	if text = strings.TrimSpace(text); p.comma == '&' {
		plain, err := url.PathUnescape(text)
		if err != nil || strings.Contains(text, " ") {
			return false
		}
		text = plain
	}
	return p.addText(key, text)
}

// group reads a string in braces, as TeX writes it.
func (p *scanner) group(key string) bool {
	depth := 0
	for i := p.i; i < len(p.s); i++ {
		switch p.s[i] {
		case '\\':
			return false
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				text := p.s[p.i+1 : i]
				p.i = i + 1
				return p.ended() && !strings.HasPrefix(strings.TrimSpace(text), `"`) && p.addText(key, text)
			}
		}
	}
	return false
}

// lines reads a value that is a block of lines in YAML, from its header on.
func (p *scanner) lines(key string) bool {
	key, _ = p.parameterName(key)
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

// json reads a value that is an object or a list, in JSON or as programs write it.
func (p *scanner) json(key string) bool {
	v, n, ok := literal(p.s[p.i:])
	p.i += n
	return ok && p.ended() && p.addJSON(key, v)
}

// literal reads the object or list at the beginning of text.
func literal(text string) (v json.RawMessage, n int, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	if dec.Decode(&v) == nil {
		return v, int(dec.InputOffset()), true
	}
	return loose.Value(text)
}

// quoted reads a quote: around a word of the call, or around all arguments.
func (p *scanner) quoted(c rune) bool {
	text, n, ok := p.str()
	if !ok {
		p.i++ // inline code around the call
		return c == '`'
	}
	inner := strings.TrimSpace(text)
	if strings.HasPrefix(inner, "{") && p.name != "" && len(p.args) == 0 { // all arguments
		p.i += n
		return p.addObject(inner)
	}
	if c == '`' && !p.isWord(inner) {
		p.i++
		return true
	}
	known := p.depth > 0 || p.names.Offered(inner) || p.declares(inner) || isCallWord(inner)
	return known && p.isWord(inner) && p.named1(inner, p.i+n)
}

// inQuotes reports whether the word up to end is in quotes.
func (p *scanner) inQuotes(end int) bool {
	return end < len(p.s) && p.s[end] == p.s[p.i-1] && isQuote(rune(p.s[end]))
}

// isWord reports whether text is a single word.
func (p *scanner) isWord(text string) bool {
	q := scanner{s: text}
	return text != "" && q.wordAt(0) == len(text)
}

// asides are keys whose values are not part of the call.
var asides = set("step id call_id tool_call_id type jsonrpc index thought thoughts reasoning")

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
		_, n, ok := literal(p.s[p.i:])
		p.i += n
		return ok
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
		return p.threeQuotes(p.s[p.i:], open)
	}
	var out strings.Builder
	for i := 0; i < len(rest); {
		c, size := utf8.DecodeRuneInString(rest[i:])
		switch {
		case closes(open, c) && open == '«':
			return strings.TrimSpace(out.String()), n + i + size, true
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

// threeQuotes reads a string in three quotes without escapes. Only in TOML a newline at its beginning is known to be no part
// of it.
func (p *scanner) threeQuotes(s string, open rune) (text string, n int, ok bool) {
	if open != '"' && open != '\'' {
		return "", 0, false
	}
	text, _, ok = strings.Cut(s[3:], s[:3])
	n = len(text) + 6
	if line, begins := strings.CutPrefix(text, "\n"); begins {
		text, ok = line, ok && p.toml
	}
	return text, n, ok && strings.IndexByte(text, '\\') < 0
}

// closes reports whether c ends a string that begins with open.
func closes(open, c rune) bool {
	switch open {
	case '“', '”':
		return c == '”' || c == '“'
	case '‘', '’':
		return c == '’' || c == '‘'
	case '«':
		return c == '»'
	case '「':
		return c == '」'
	case '『':
		return c == '』'
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
tool_use mcp default json properties plugin skill operation task step step: by the these envelope body soap uses to custom following next recipient mutation query select self val try am steps`)

// sentenceWords are those of the words around a call that are no part of its notation.
var sentenceWords = set("now i i'll i’ll will let's me do please the to these following next")

// variableWords are the words before the name of a variable.
var variableWords = set("const let var val")

// nameWords are the words that announce the name of a tool.
var nameWords = set("tool function call action invoke command use run execute tool_call function_call calling")
