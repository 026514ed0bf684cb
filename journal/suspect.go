package journal

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/internal/secret"
)

// Nearly all bodies hold no secret, and one pass over the bytes tells: canonical
// JSON writes every character of a secret's form as itself, so what the strings
// of a body say need not be read for it. The pass may suspect too much, never
// too little.

// mayFind reports whether redactStrings may find something in a canonical body,
// which is harmless if it is known that [secret.Suspicious] finds nothing.
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
