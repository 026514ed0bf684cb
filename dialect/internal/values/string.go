package values

import (
	"encoding/json"
	"strings"
)

// Unquoter decodes a JSON string that arrives in pieces, as far as each piece
// can be decoded.
type Unquoter struct {
	rest string // not decoded yet: a partial escape
	Said bool   // there was more than white space
	in   bool   // the opening quote has been seen
}

// Add decodes the next piece.
func (u *Unquoter) Add(piece string) string {
	s := u.rest + piece
	if !u.in && s != "" {
		u.in = true
		s = s[1:]
	}
	n := whole(s)
	s, u.rest = s[:n], s[n:]
	u.rest = strings.TrimPrefix(u.rest, `"`) // the closing quote
	out := s
	if strings.IndexByte(s, '\\') >= 0 {
		if err := json.Unmarshal([]byte(`"`+s+`"`), &out); err != nil {
			out = s
		}
	}
	u.Said = u.Said || strings.TrimSpace(out) != ""
	return out
}

// whole returns how much of s can be decoded: all before the closing quote,
// but for an escape, or the first half of a surrogate pair, at the end.
func whole(s string) int {
	for i := 0; i < len(s); {
		if s[i] == '"' {
			return i
		}
		if s[i] != '\\' {
			i++
			continue
		}
		width := 2
		if i+1 < len(s) && s[i+1] == 'u' {
			width = 6
			if i+3 < len(s) && (s[i+2] == 'd' || s[i+2] == 'D') && (s[i+3] == '8' || s[i+3] == '9' || s[i+3]|0x20 == 'a' || s[i+3]|0x20 == 'b') {
				width = 12
			}
		}
		if i+width > len(s) {
			return i
		}
		i += width
	}
	return len(s)
}
