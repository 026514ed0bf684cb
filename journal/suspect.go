package journal

import (
	"bytes"
	"strings"
)

// Nearly all bodies hold no secret, and one pass over the bytes tells: canonical
// JSON writes every character of a secret's form as itself, so what the strings
// of a body say need not be read for it. The pass may suspect too much, never
// too little.

// mayFind reports whether stripStrings may find something in a canonical body.
func (s *Secrets) mayFind(body []byte) bool {
	if s != nil {
		if len(s.Patterns) > 0 {
			return true
		}
		for _, v := range s.Values {
			if v != "" && (needsEscape(v) || bytes.Contains(body, []byte(v))) {
				return true
			}
		}
	}
	return suspicious(body)
}

// needsEscape reports whether JSON writes text otherwise than it is.
func needsEscape(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
}

// suspicious reports whether a canonical body may hold a secret of a known form
// or under a known name.
func suspicious(body []byte) bool {
	for i := 0; i+1 < len(body); i++ {
		if secretStart.has(body[i], body[i+1]) && suspiciousAt(body, i) {
			return true
		}
	}
	return false
}

// suspiciousAt is secretAt for the text of JSON, without a look at what follows
// the beginning.
func suspiciousAt(body []byte, i int) bool {
	rest := body[i:]
	switch body[i] {
	case ':', '=':
		return userInURL(rest) || endOfName(body[:i])
	case '-':
		return bytes.HasPrefix(rest, []byte(pemBegin))
	}
	if i > 0 && alnumChars[body[i-1]] && bytes.IndexByte(body[max(i-6, 0):i], '\\') < 0 { // not a letter of an escape
		return false
	}
	for _, f := range formsBy[body[i]] {
		if bytes.HasPrefix(rest, []byte(f.prefix)) {
			return true
		}
	}
	return len(rest) >= len(bearerWord) && bytes.EqualFold(rest[:len(bearerWord)], []byte(bearerWord))
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
