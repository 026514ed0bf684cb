package secret

import (
	"bytes"
	"strings"
)

// MarkPrefix begins the mark that replaces a secret: [stripped:RULE]. Records hold
// such marks, so their form does not change.
const MarkPrefix = "[stripped:"

// Mark returns the mark of a rule.
func Mark(rule string) string { return MarkPrefix + rule + "]" }

// valueMark replaces a secret that is known by its value.
var valueMark = Mark("value")

// RedactForms returns text with each secret that is known by its form or its name
// replaced by the mark of its rule, and rules with the rules of the secrets found. The
// time it takes is linear in the length of the text. Text without a secret is not copied.
func RedactForms(text []byte, rules []string) ([]byte, []string) {
	var out []byte
	done := 0
	for i := 0; i+1 < len(text); i++ {
		if !secretStart.has(text[i], text[i+1]) {
			continue
		}
		start, end, rule := secretAt(text, i)
		if end == 0 {
			continue
		}
		out = append(append(out, text[done:start]...), Mark(rule)...)
		rules = append(rules, rule)
		done, i = end, end-1
	}
	if done == 0 {
		return text, rules
	}
	return append(out, text[done:]...), rules
}

// HasForm reports whether text holds a secret of a known form or under a known name.
func HasForm(text string) bool {
	_, rules := RedactForms([]byte(text), nil)
	return len(rules) > 0
}

// keyForm is a published form of key: a prefix no word has, then at least min
// characters of a set.
type keyForm struct {
	prefix string
	rule   string
	chars  *[256]bool
	min    int
	dots   int // that must be among them
}

var (
	wordChars  = charset("-_")
	tokenChars = charset("-_.")
	alnumChars = charset("")
	upperChars = func() *[256]bool {
		set := charset("")
		for b := 'a'; b <= 'z'; b++ {
			set[b] = false
		}
		return set
	}()
)

// noWord is the number of characters of a set from which on they are not
// words, even without a digit: Hugging Face makes tokens of 34 letters and no digit, and
// one in a few ids of Amazon has none. In the other sets words are joined.
var noWord = map[*[256]bool]int{alnumChars: 30, upperChars: 16}

func charset(extra string) *[256]bool {
	var set [256]bool
	for b := range set {
		c := byte(b)
		set[b] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(extra, c) >= 0
	}
	return &set
}

var keyForms = []keyForm{
	{"sk-ant-", "anthropic-key", wordChars, 20, 0},
	{"sk-or-", "openrouter-key", wordChars, 20, 0},
	{"sk-", "openai-key", wordChars, 20, 0},
	{"csk-", "cerebras-key", wordChars, 30, 0},
	{"tp-", "toolpost-key", wordChars, 37, 0}, // of package internal/access
	{"sk_live_", "stripe-key", wordChars, 16, 0},
	{"sk_test_", "stripe-key", wordChars, 16, 0},
	{"rk_live_", "stripe-key", wordChars, 16, 0},
	{"AKIA", "aws-key", alnumChars, 16, 0},
	{"ASIA", "aws-key", alnumChars, 16, 0},
	{"AKIA", "aws-key", upperChars, 16, 0},
	{"ASIA", "aws-key", upperChars, 16, 0},
	{"AIza", "google-key", wordChars, 30, 0},
	{"ya29.", "google-token", tokenChars, 20, 0},
	{"GOCSPX-", "google-secret", wordChars, 20, 0},
	{"ghp_", "github-token", wordChars, 30, 0},
	{"gho_", "github-token", wordChars, 30, 0},
	{"ghu_", "github-token", wordChars, 30, 0},
	{"ghs_", "github-token", wordChars, 30, 0},
	{"ghr_", "github-token", wordChars, 30, 0},
	{"github_pat_", "github-token", wordChars, 22, 0},
	{"glpat-", "gitlab-token", tokenChars, 20, 0},
	{"xoxa-", "slack-token", wordChars, 10, 0},
	{"xoxb-", "slack-token", wordChars, 10, 0},
	{"xoxp-", "slack-token", wordChars, 10, 0},
	{"xoxr-", "slack-token", wordChars, 10, 0},
	{"xoxs-", "slack-token", wordChars, 10, 0},
	{"xapp-", "slack-token", wordChars, 10, 0},
	{"hf_", "huggingface-token", alnumChars, 30, 0},
	{"gsk_", "groq-key", alnumChars, 30, 0},
	{"xai-", "xai-key", alnumChars, 30, 0},
	{"pplx-", "perplexity-key", alnumChars, 30, 0},
	{"nvapi-", "nvidia-key", wordChars, 30, 0},
	{"r8_", "replicate-token", alnumChars, 30, 0},
	{"tgp_v1_", "together-key", wordChars, 20, 0},
	{"fw_", "fireworks-key", alnumChars, 20, 0},
	{"npm_", "npm-token", alnumChars, 30, 0},
	{"pypi-", "pypi-token", wordChars, 40, 0},
	{"SG.", "sendgrid-key", tokenChars, 40, 1},
	{"dop_v1_", "digitalocean-token", alnumChars, 40, 0},
	{"AGE-SECRET-KEY-1", "age-key", alnumChars, 40, 0},
	{"eyJ", "jwt", tokenChars, 37, 2},
}

// secretNames are fields and headers whose value is a secret, with their rule.
var secretNames = map[string]string{
	"authorization": "authorization", "proxy-authorization": "authorization", "cookie": "cookie", "set-cookie": "cookie",
	"x-api-key": "api-key", "api-key": "api-key", "api_key": "api-key", "apikey": "api-key", "x-goog-api-key": "api-key",
	"access_token": "token", "refresh_token": "token", "id_token": "token", "auth_token": "token",
	"client_secret": "secret", "secret_key": "secret", "private_key": "private-key",
	"aws_secret_access_key": "aws-secret", "secretaccesskey": "aws-secret", "aws_session_token": "aws-secret",
	"password": "password", "passwd": "password",
}

// LongestName is the length of the longest name that [NameRule] knows.
const LongestName = 24

// nameStart has the lengths of names, as bits, by their first letter: nearly
// all other names are passed over by one look at this table.
var nameStart = func() (lengths [256]uint32) {
	for name := range secretNames {
		lengths[name[0]] |= 1 << len(name)
	}
	return lengths
}()

// NameRule returns the rule of a field or header whose value is a secret, whatever
// the case of its name, and "" for others.
func NameRule(name []byte) string {
	if len(name) == 0 || len(name) > LongestName || nameStart[name[0]|0x20]&(1<<len(name)) == 0 {
		return ""
	}
	var lower [LongestName]byte
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		lower[i] = b
	}
	return secretNames[string(lower[:len(name)])]
}

// pairs is a set of two bytes in a row.
type pairs [1 << 10]uint64

func (p *pairs) has(a, b byte) bool {
	n := uint(a)<<8 | uint(b)
	return p[n>>6]&(1<<(n&63)) != 0
}

func (p *pairs) add(a, b byte) {
	n := uint(a)<<8 | uint(b)
	p[n>>6] |= 1 << (n & 63)
}

// secretStart are the two bytes at which secretAt can find something: nearly
// all text is passed over by one look at this table. formsBy are the forms
// that begin with a byte.
var secretStart, formsBy = func() (*pairs, *[256][]keyForm) {
	start, by := new(pairs), new([256][]keyForm)
	for _, f := range keyForms {
		start.add(f.prefix[0], f.prefix[1])
		by[f.prefix[0]] = append(by[f.prefix[0]], f)
	}
	for b := range 256 { // name: value, name=value, ://user:password@
		start.add(':', byte(b))
		start.add('=', byte(b))
	}
	for _, two := range []string{"be", "bE", "Be", "BE", "--"} { // Bearer, -----BEGIN
		start.add(two[0], two[1])
	}
	return start, by
}()

// secretAt returns the secret that is recognised at i and its rule; end is 0
// if there is none.
func secretAt(text []byte, i int) (start, end int, rule string) {
	switch text[i] {
	case ':', '=':
		if start, end = urlPassword(text, i); end > 0 {
			return start, end, "url-password"
		}
		return namedValue(text, i)
	case '-':
		if end = privateKey(text, i); end > 0 {
			return i, end, "private-key"
		}
		return 0, 0, ""
	}
	if i > 0 && alnumChars[text[i-1]] {
		return 0, 0, ""
	}
	for _, f := range formsBy[text[i]] {
		if end := f.match(text, i); end > 0 {
			return i, end, f.rule
		}
	}
	if text[i]|0x20 == 'b' {
		return bearer(text, i)
	}
	return 0, 0, ""
}

func (f keyForm) match(text []byte, i int) int {
	if !bytes.HasPrefix(text[i:], []byte(f.prefix)) {
		return 0
	}
	end, digit, dots := span(text, i+len(f.prefix), f.chars)
	n := end - i - len(f.prefix)
	if n < f.min || dots < f.dots || !digit && (noWord[f.chars] == 0 || n < noWord[f.chars]) {
		return 0
	}
	return end
}

// span passes over characters of a set, and reports whether a digit was among
// them and the number of dots. A dot at the end is the sentence's.
func span(text []byte, i int, chars *[256]bool) (end int, digit bool, dots int) {
	for ; i < len(text) && chars[text[i]]; i++ {
		switch b := text[i]; {
		case b >= '0' && b <= '9':
			digit = true
		case b == '.':
			dots++
		}
	}
	if i > 0 && text[i-1] == '.' {
		i--
	}
	return i, digit, dots
}

// The texts that precede a token and a private key.
const (
	bearerWord = "bearer "
	pemBegin   = "-----BEGIN "
)

// bearer matches "Bearer" and a token that is not a word.
func bearer(text []byte, i int) (int, int, string) {
	if len(text) < i+len(bearerWord) || !bytes.EqualFold(text[i:i+len(bearerWord)], []byte(bearerWord)) {
		return 0, 0, ""
	}
	start := i + len(bearerWord)
	end, digit, _ := span(text, start, opaqueChars)
	if !digit || end-start < 16 {
		return 0, 0, ""
	}
	return start, end, "authorization"
}

var opaqueChars = charset("-_.~+/=")

// privateKey matches a PEM block, or the part of it that is there.
func privateKey(text []byte, i int) int {
	if !bytes.HasPrefix(text[i:], []byte(pemBegin)) {
		return 0
	}
	title := text[i+len(pemBegin) : min(i+len(pemBegin)+64, len(text))]
	if n := bytes.Index(title, []byte("PRIVATE KEY-----")); n < 0 || bytes.IndexByte(title[:n], '\n') >= 0 {
		return 0
	}
	rest := text[i+len(pemBegin):]
	if n := bytes.Index(rest, []byte("-----END ")); n >= 0 {
		if m := bytes.Index(rest[n:], []byte("KEY-----")); m >= 0 {
			return i + len(pemBegin) + n + m + len("KEY-----")
		}
	}
	return len(text)
}

// urlPassword matches the password of ://user:password@, from the colon of the
// scheme.
func urlPassword(text []byte, i int) (int, int) {
	if !bytes.HasPrefix(text[i:], []byte("://")) {
		return 0, 0
	}
	colon := 0
	for j := i + 3; j < min(i+512, len(text)); j++ {
		switch b := text[j]; {
		case b == ':' && colon == 0:
			colon = j + 1
		case b == '@' && colon > 0 && j > colon && !bytes.HasPrefix(text[colon:], []byte(MarkPrefix)):
			return colon, j
		case b <= ' ' || b == '/' || b == '?' || b == '"' || b == '\'' || b == '<' || b == '@':
			return 0, 0
		}
	}
	return 0, 0
}

// schemes may precede the token of an Authorization header.
var schemes = []string{"bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate "}

// namedValue matches the value of NAME: value and NAME=value, quoted or not,
// from the colon or equals sign.
func namedValue(text []byte, i int) (int, int, string) {
	rule := NameRule(nameBefore(text, i))
	if rule == "" {
		return 0, 0, ""
	}
	start := i + 1
	for start < len(text) && (text[start] == ' ' || text[start] == '"' || text[start] == '\'' || text[start] == '\\') {
		start++
	}
	least := 6
	for _, s := range schemes {
		if len(text) > start+len(s) && bytes.EqualFold(text[start:start+len(s)], []byte(s)) {
			start, least = start+len(s), 1
			break
		}
	}
	end := start
	for end < len(text) && text[end] > ' ' && strings.IndexByte("\"'`,;<>&(){}[]\\", text[end]) < 0 {
		end++
	}
	if end-start < least || text[start] == '$' { // $NAME refers to a secret and is none
		return 0, 0, ""
	}
	return start, end, rule
}

// nameBefore returns the word that ends at i, perhaps in quotes.
func nameBefore(text []byte, i int) []byte {
	for i > 0 && (text[i-1] == '"' || text[i-1] == '\'' || text[i-1] == '\\' || text[i-1] == ' ') {
		i--
	}
	start := i
	for start > 0 && wordChars[text[start-1]] && i-start <= LongestName {
		start--
	}
	return text[start:i]
}

// Suspicious reports whether a canonical body may hold a secret of a known form
// or under a known name. Such a thing begins with a word, or shows at a sign.
func Suspicious(body []byte) bool {
	for i := 0; i < len(body); {
		b := body[i]
		switch {
		case alnumChars[b]:
			if i+1 < len(body) && secretStart.has(b, body[i+1]) && suspiciousWord(body[i:]) {
				return true
			}
			for i++; i < len(body) && alnumChars[body[i]]; i++ {
			}
			continue
		case b == '\\': // of an escape no letter belongs to the next word
			if i++; i < len(body) && body[i] == 'u' {
				i += 4
			}
		case b == ':' || b == '=':
			if userInURL(body[i:]) || endOfName(body[:i]) {
				return true
			}
		case b == '-' && bytes.HasPrefix(body[i:], []byte(pemBegin)):
			return true
		}
		i++
	}
	return false
}

// suspiciousWord reports whether text begins like a key or the word before one.
func suspiciousWord(text []byte) bool {
	for _, f := range formsBy[text[0]] {
		if bytes.HasPrefix(text, []byte(f.prefix)) {
			return true
		}
	}
	return len(text) >= len(bearerWord) && bytes.EqualFold(text[:len(bearerWord)], []byte(bearerWord))
}

// userInURL reports whether text begins with "://" and something before an @.
func userInURL(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("://")) {
		return false
	}
	for _, b := range text[3:] {
		switch b {
		case '@':
			return true
		case '/', '"', ' ':
			return false
		}
	}
	return false
}

// nameEnd are the last two letters of the names of secrets.
var nameEnd = func() *pairs {
	end := new(pairs)
	for name := range secretNames {
		end.add(name[len(name)-2], name[len(name)-1])
	}
	return end
}()

// endOfName reports whether text ends like the name of a secret, perhaps in
// quotes.
func endOfName(text []byte) bool {
	n := len(text)
	for n > 0 && (text[n-1] == '"' || text[n-1] == '\'' || text[n-1] == '\\' || text[n-1] == ' ') {
		n--
	}
	return n >= 2 && nameEnd.has(text[n-2]|0x20, text[n-1]|0x20)
}
