package values

import (
	"encoding/json"
	"strings"
)

// Unquoter decodes a JSON string that arrives in pieces, as far as possible after each piece.
type Unquoter struct {
	rest string // a partial escape that is not decoded yet
	Said bool   // the text contained more than white space
	in   bool   // the opening quote was read
}

// Add adds the next piece and returns the text that it completes.
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

// whole returns the length of the part of s that can be decoded. It ends at the closing quote and before an incomplete
// escape or surrogate pair.
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
