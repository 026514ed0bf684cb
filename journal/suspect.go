package journal

import "bytes"

// Nearly all bodies hold no secret, and one pass over the bytes tells: canonical
// JSON writes every character of a secret's form as itself, so what the strings
// of a body say need not be read for it. The pass may suspect too much, never
// too little.

// mayFind reports whether stripStrings may find something in a canonical body,
// which is harmless if it is known that suspicious finds nothing.
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
	return !harmless && suspicious(body)
}

// needsEscape reports whether JSON writes text otherwise than it is.
func needsEscape(text string) bool {
	for i := range len(text) {
		if escaped[text[i]] {
			return true
		}
	}
	return false
}

// suspicious reports whether a canonical body may hold a secret of a known form
// or under a known name. Such a thing begins with a word, or shows at a sign.
func suspicious(body []byte) bool {
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
