package journal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/secret"
)

// Secrets finds secrets in text and takes them out. A nil or zero Secrets
// knows the published forms of keys, values of Authorization and of fields
// like api_key or password, passwords in URLs, and private keys. It is safe for
// concurrent use as long as nobody changes it.
//
// It is careful, not clever: a secret without a known form, and not under a
// known name, is found only by Values or Patterns.
type Secrets struct {
	// Values are secrets known by value, like the keys the program holds
	// itself. Those of eight bytes or more are found escaped for addresses and
	// in base64, too. Empty ones are passed over.
	Values []string
	// Patterns match other secrets; the whole match goes.
	Patterns []*regexp.Regexp

	known atomic.Pointer[knownValues]
}

// knownValues are values with their spellings.
type knownValues struct {
	values []string
	set    *secret.Set
}

// set returns the spellings of the values.
func (s *Secrets) set() *secret.Set {
	if s == nil || len(s.Values) == 0 {
		return nil
	}
	k := s.known.Load()
	if k == nil || !slices.Equal(k.values, s.Values) {
		k = &knownValues{slices.Clone(s.Values), secret.NewSet(s.Values...)}
		s.known.Store(k)
	}
	return k.set
}

// StripValues returns text with each secret that is known by value replaced, and
// how many there were. What it leaves may hold secrets of a known form.
func (s *Secrets) StripValues(text string) (string, int) {
	set := s.set()
	if set == nil || !set.In([]byte(text)) {
		return text, 0
	}
	out, n := set.Strip([]byte(text), marker("value"))
	return string(out), n
}

// SecretsOf returns the secrets that a store of this package strips.
func SecretsOf(s Store) *Secrets {
	switch s := s.(type) {
	case *Memory:
		return s.Secrets
	case *Dir:
		return s.Secrets
	case *SQL:
		return s.Secrets
	}
	return nil
}

// Clean is text without secrets. It is the only text that is cut for a record or
// a person: half a secret would not be recognised as one.
type Clean struct{ text string }

// Clean strips text.
func (s *Secrets) Clean(text string) Clean {
	out, _ := s.Strip(text)
	return Clean{out}
}

// String returns the whole text.
func (c Clean) String() string { return c.text }

// Cut returns the first n bytes, without half a character, and a mark if there
// is more.
func (c Clean) Cut(n int) string {
	if len(c.text) <= n {
		return c.text
	}
	for n > 0 && !utf8.RuneStart(c.text[n]) {
		n--
	}
	return c.text[:n] + "…"
}

// Map returns what f makes of the text, which may be a part of it.
func (c Clean) Map(f func(string) string) Clean { return Clean{f(c.text)} }

// Strip returns text with each secret replaced by [stripped:RULE], and the
// rules that found one, sorted, once each. The time it takes grows with the
// length of the text only.
func (s *Secrets) Strip(text string) (string, []string) {
	out, rules := s.strip([]byte(text), nil)
	if len(rules) == 0 {
		return text, nil
	}
	return string(out), sortedOnce(rules)
}

func sortedOnce(rules []string) []string {
	slices.Sort(rules)
	return slices.Compact(rules)
}

// strip returns text, or a copy without its secrets, and rules with those that
// found one.
func (s *Secrets) strip(text []byte, rules []string) ([]byte, []string) {
	if s != nil {
		text, rules = s.stripOwn(text, rules)
	}
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
		out = append(append(out, text[done:start]...), marker(rule)...)
		rules = append(rules, rule)
		done, i = end, end-1
	}
	if done == 0 {
		return text, rules
	}
	return append(out, text[done:]...), rules
}

func marker(rule string) string { return "[stripped:" + rule + "]" }

// stripOwn takes out what the user named.
func (s *Secrets) stripOwn(text []byte, rules []string) ([]byte, []string) {
	if stripped, n := s.set().Strip(text, marker("value")); n > 0 {
		text, rules = stripped, append(rules, "value")
	}
	for _, v := range s.Values { // what is too short to have spellings
		if v != "" && len(v) < secret.Least && bytes.Contains(text, []byte(v)) {
			text = bytes.ReplaceAll(text, []byte(v), []byte(marker("value")))
			rules = append(rules, "value")
		}
	}
	for _, p := range s.Patterns {
		if p.Match(text) {
			text = p.ReplaceAllLiteral(text, []byte(marker("pattern")))
			rules = append(rules, "pattern")
		}
	}
	return text, rules
}

// StripJSON returns a JSON value, without space between its parts, and with each of its strings stripped of what [Secrets.Strip] finds in what it says,
// however that is escaped. A string under the name of a secret goes whole. False means that body is no JSON.
func (s *Secrets) StripJSON(body []byte) ([]byte, bool) {
	var compact bytes.Buffer
	if !js.Valid(body) || json.Compact(&compact, body) != nil {
		return nil, false
	}
	out, _ := s.stripStrings(compact.Bytes())
	return out, true
}

// stripBody strips every string of a canonical JSON value, keys included, and
// returns the mark to put on the entry, nil if there was nothing to strip.
func (s *Secrets) stripBody(body []byte, harmless bool) ([]byte, *Stripped) {
	if !s.mayFind(body, harmless) {
		return body, nil
	}
	return s.stripStrings(body)
}

func (s *Secrets) stripStrings(body []byte) ([]byte, *Stripped) {
	var (
		out     []byte
		rules   []string
		done    int
		name    []byte // the key whose value comes next
		scratch canon
		rekeyed bool

		nameSpace [longestName]byte
	)
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			if body[i] != ':' {
				name = nil
			}
			continue
		}
		end, said := scratch.stringAt(body, i)
		isKey := end < len(body) && body[end] == ':'
		clean, found := s.stripString(name, said, rules)
		if len(found) > len(rules) {
			if isKey { // two keys must not become one
				clean = append(bytes.Clone(clean), "#"+hashBytes(said).Short()...)
				rekeyed = true
			}
			out = appendQuoted(append(out, body[done:i]...), clean)
			rules, done = found, end
		}
		if name = nil; isKey && len(said) <= longestName {
			name = append(nameSpace[:0], said...)
		}
		i = end - 1
	}
	if done == 0 {
		return body, nil
	}
	out = append(out, body[done:]...)
	if rekeyed {
		if sorted, err := Canonical(out); err == nil {
			out = sorted
		}
	}
	return out, &Stripped{Whole: hashBytes(body), Rules: sortedOnce(rules)}
}

// stringAt returns the end of the JSON string at i and what it says, which is
// valid until the next call.
func (c *canon) stringAt(body []byte, i int) (int, []byte) {
	end := i + 1 + bytes.IndexByte(body[i+1:], '"')
	if bytes.IndexByte(body[i+1:end], '\\') < 0 {
		return end + 1, body[i+1 : end]
	}
	c.Text, c.Pos = body, i
	quoted, _, _ := c.String() // canonical, so it cannot fail
	c.scratch, _ = js.AppendUnquoted(c.scratch[:0], quoted)
	return c.Pos, c.scratch
}

// isSecret reports whether a hash is itself one of the secrets known by value. Part
// of a hash never is: a value short enough to be in one by chance is no secret.
func (s *Secrets) isSecret(hash []byte) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(s.Values, func(v string) bool {
		return len(v) >= len(hash)-len(hashPrefix) && bytes.Contains(hash, []byte(v))
	})
}

// stripString strips a string value; one that stands under the name of a
// secret goes whole.
func (s *Secrets) stripString(name, said []byte, rules []string) ([]byte, []string) {
	if len(name) > 0 && len(said) > 0 && !bytes.HasPrefix(said, []byte("[stripped:")) {
		if rule := secretNames.rule(name); rule != "" {
			return []byte(marker(rule)), append(rules, rule)
		}
	}
	if isHash(said) && !s.isSecret(said) { // entries are full of them, and refer by them
		return said, rules
	}
	return s.strip(said, rules)
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

// noWord is the number of characters of a set from which on nobody wrote them as
// words, digit or none: Hugging Face makes tokens of 34 letters and no digit, and
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
	{"tp-", "toolpost-key", wordChars, 37, 0}, // of package gateway/access
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

// names are fields and headers whose value is a secret.
type names map[string]string

var secretNames = names{
	"authorization": "authorization", "proxy-authorization": "authorization", "cookie": "cookie", "set-cookie": "cookie",
	"x-api-key": "api-key", "api-key": "api-key", "api_key": "api-key", "apikey": "api-key", "x-goog-api-key": "api-key",
	"access_token": "token", "refresh_token": "token", "id_token": "token", "auth_token": "token",
	"client_secret": "secret", "secret_key": "secret", "private_key": "private-key",
	"aws_secret_access_key": "aws-secret", "secretaccesskey": "aws-secret", "aws_session_token": "aws-secret",
	"password": "password", "passwd": "password",
}

const longestName = 24

// nameStart has the lengths of names, as bits, by their first letter: nearly
// all other names are passed over by one look at this table.
var nameStart = func() (lengths [256]uint32) {
	for name := range secretNames {
		lengths[name[0]] |= 1 << len(name)
	}
	return lengths
}()

// rule returns the rule for a name, whatever its case, or "".
func (n names) rule(name []byte) string {
	if len(name) == 0 || len(name) > longestName || nameStart[name[0]|0x20]&(1<<len(name)) == 0 {
		return ""
	}
	var lower [longestName]byte
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		lower[i] = b
	}
	return n[string(lower[:len(name)])]
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
// them and how many dots. A dot at the end is the sentence's.
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

// What stands before a token and before a private key.
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

// privateKey matches a PEM block, or what there is of it.
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
		case b == '@' && colon > 0 && j > colon && !bytes.HasPrefix(text[colon:], []byte("[stripped:")):
			return colon, j
		case b <= ' ' || b == '/' || b == '?' || b == '"' || b == '\'' || b == '<' || b == '@':
			return 0, 0
		}
	}
	return 0, 0
}

// schemes may stand before the token of an Authorization.
var schemes = []string{"bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate "}

// namedValue matches the value of NAME: value and NAME=value, quoted or not,
// from the colon or equals sign.
func namedValue(text []byte, i int) (int, int, string) {
	rule := secretNames.rule(nameBefore(text, i))
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
	for start > 0 && wordChars[text[start-1]] && i-start <= longestName {
		start--
	}
	return text[start:i]
}
