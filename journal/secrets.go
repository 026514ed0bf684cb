package journal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/secret"
)

// Secrets finds secrets in text and redacts them. A nil or zero Secrets knows the
// published forms of keys, values of Authorization and of fields like api_key or
// password, passwords in URLs, and private keys. It is safe for concurrent use as long
// as it is not changed.
//
// A secret without a known form, and not under a known name, is found only by Values
// or Patterns.
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

// RedactValues returns text with each secret that is known by value replaced, and
// how many there were. What it leaves may hold secrets of a known form.
func (s *Secrets) RedactValues(text string) (string, int) {
	set := s.set()
	if set == nil || !set.In([]byte(text)) {
		return text, 0
	}
	out, n := set.Redact([]byte(text))
	return string(out), n
}

// Clean is text without secrets. It is the only text that is cut for a record or
// a person: half a secret would not be recognised as one.
type Clean struct{ text string }

// Clean redacts text.
func (s *Secrets) Clean(text string) Clean {
	out, _ := s.Redact(text)
	return Clean{out}
}

// String returns the whole text.
func (c Clean) String() string { return c.text }

// Cut returns the first n bytes, without part of a rune, and "…" if there is more. The record holds such texts, so that another
// length would be another text.
func (c Clean) Cut(n int) string {
	if len(c.text) <= n {
		return c.text
	}
	return c.text[:clip.Rune(c.text, n)] + "…"
}

// Map returns what f makes of the text, which may be a part of it.
func (c Clean) Map(f func(string) string) Clean { return Clean{f(c.text)} }

// Redact returns text with each secret replaced by [stripped:RULE], and the
// rules that found one, sorted, once each. The time it takes grows with the
// length of the text only.
func (s *Secrets) Redact(text string) (string, []string) {
	out, rules := s.redact([]byte(text), nil)
	if len(rules) == 0 {
		return text, nil
	}
	return string(out), sortedOnce(rules)
}

// Strip is [Secrets.Redact].
//
// Deprecated: use Redact.
func (s *Secrets) Strip(text string) (string, []string) { return s.Redact(text) }

// StripValues is [Secrets.RedactValues].
//
// Deprecated: use RedactValues.
func (s *Secrets) StripValues(text string) (string, int) { return s.RedactValues(text) }

// StripJSON is [Secrets.RedactJSON].
//
// Deprecated: use RedactJSON.
func (s *Secrets) StripJSON(body []byte) ([]byte, bool) { return s.RedactJSON(body) }

func sortedOnce(rules []string) []string {
	slices.Sort(rules)
	return slices.Compact(rules)
}

// redact returns text, or a copy without its secrets, and rules plus the rules that
// found one.
func (s *Secrets) redact(text []byte, rules []string) ([]byte, []string) {
	if s != nil {
		text, rules = s.redactOwn(text, rules)
	}
	return secret.RedactForms(text, rules)
}

// redactOwn removes what the user named.
func (s *Secrets) redactOwn(text []byte, rules []string) ([]byte, []string) {
	if redacted, n := s.set().Redact(text); n > 0 {
		text, rules = redacted, append(rules, "value")
	}
	for _, v := range s.Values { // values too short to have spellings
		if v != "" && len(v) < secret.Least && bytes.Contains(text, []byte(v)) {
			text = bytes.ReplaceAll(text, []byte(v), []byte(secret.Mark("value")))
			rules = append(rules, "value")
		}
	}
	for _, p := range s.Patterns {
		if p.Match(text) {
			text = p.ReplaceAllLiteral(text, []byte(secret.Mark("pattern")))
			rules = append(rules, "pattern")
		}
	}
	return text, rules
}

// RedactJSON returns a JSON value, without space between its parts, in which each string is redacted as by [Secrets.Redact],
// however it is escaped. A string under the name of a secret is replaced whole. False means that body is not JSON.
func (s *Secrets) RedactJSON(body []byte) ([]byte, bool) {
	var compact bytes.Buffer
	if !js.Valid(body) || json.Compact(&compact, body) != nil {
		return nil, false
	}
	out, _ := s.redactStrings(compact.Bytes())
	return out, true
}

// redactBody redacts every string of a canonical JSON value, keys included, and
// returns the mark to put on the entry, nil without a secret.
func (s *Secrets) redactBody(body []byte, harmless bool) ([]byte, *Stripped) {
	if !s.mayFind(body, harmless) {
		return body, nil
	}
	return s.redactStrings(body)
}

func (s *Secrets) redactStrings(body []byte) ([]byte, *Stripped) {
	var (
		out     []byte
		rules   []string
		done    int
		name    []byte // the key whose value comes next
		space   []byte // for strings with escapes
		end     int
		said    []byte
		rekeyed bool

		nameSpace [secret.LongestName]byte
	)
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			if body[i] != ':' {
				name = nil
			}
			continue
		}
		end, said, space = stringAt(body, i, space)
		isKey := end < len(body) && body[end] == ':'
		clean, found := s.redactString(name, said, rules)
		if len(found) > len(rules) {
			if isKey { // two keys must not become one
				clean = append(bytes.Clone(clean), "#"+hashBytes(said).Short()...)
				rekeyed = true
			}
			out = js.AppendShortest(append(out, body[done:i]...), clean)
			rules, done = found, end
		}
		if name = nil; isKey && len(said) <= secret.LongestName {
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

// stringAt returns the end of the JSON string at i and its text, which is in space if it has escapes.
func stringAt(body []byte, i int, space []byte) (end int, text, used []byte) {
	end = i + 1 + bytes.IndexByte(body[i+1:], '"')
	if bytes.IndexByte(body[i+1:end], '\\') < 0 {
		return end + 1, body[i+1 : end], space
	}
	end = js.EndOfString(body, i)
	text, _ = js.AppendUnquoted(space[:0], body[i:end])
	return end, text, text
}

// isSecret reports whether a hash is itself one of the secrets known by value. Part of
// a hash never is: a value that short could be in a hash by chance.
func (s *Secrets) isSecret(hash []byte) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(s.Values, func(v string) bool {
		return len(v) >= len(hash)-len(hashPrefix) && bytes.Contains(hash, []byte(v))
	})
}

// redactString redacts a string value; one under the name of a secret is replaced
// whole.
func (s *Secrets) redactString(name, said []byte, rules []string) ([]byte, []string) {
	if len(name) > 0 && len(said) > 0 && !bytes.HasPrefix(said, []byte(secret.MarkPrefix)) {
		if rule := secret.NameRule(name); rule != "" {
			return []byte(secret.Mark(rule)), append(rules, rule)
		}
	}
	if isHash(said) && !s.isSecret(said) { // entries are full of them, and refer by them
		return said, rules
	}
	return s.redact(said, rules)
}

// Stripped says that an entry once held something else.
type Stripped struct {
	// Whole is the hash of the body before anything was taken out, or of its
	// text as a JSON string if it had no canonical form.
	Whole Hash `json:"whole"`
	// Rules are the kinds of secrets that were found, sorted, once each, and
	// "mended" for JSON that had no canonical form.
	Rules []string `json:"rules"`
	// Values are the hashes, before anything was taken out, of the values in the
	// body that other entries may refer to.
	Values []Hash `json:"values,omitempty"`
}

// mayFind reports whether redactStrings may find something in a canonical body,
// which is harmless if it is known that [secret.Suspicious] finds nothing.
//
// Nearly all bodies are free of secrets, and one pass over the bytes shows that:
// canonical JSON writes every character of a secret's form unescaped, so the
// strings of a body need not be decoded for it. The pass may suspect too much,
// never too little.
func (s *Secrets) mayFind(body []byte, harmless bool) bool {
	if s != nil {
		if len(s.Patterns) > 0 {
			return true
		}
		if s.set().In(body) {
			return true
		}
		for _, v := range s.Values {
			if v != "" && (needsEscape(v) || bytes.Contains(body, []byte(v))) {
				return true
			}
		}
	}
	return !harmless && secret.Suspicious(body)
}

// needsEscape reports whether JSON writes text otherwise than it is.
func needsEscape(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
}
