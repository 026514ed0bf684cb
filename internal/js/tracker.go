package js

// Tracker follows a JSON text byte by byte and separates strings from structure. It checks nothing: other text has
// brackets and strings, too. The zero value is ready to use, and a copy is independent.
type Tracker struct {
	// Depth is how many objects and arrays are open. It goes below 0 where more
	// are closed than were opened.
	Depth int

	quoted, escaped bool
}

// Next takes the next byte and reports whether it is part of a string, quotes
// included.
func (t *Tracker) Next(c byte) (inString bool) {
	switch {
	case t.escaped:
		t.escaped = false
		return true
	case t.quoted:
		t.escaped = c == '\\'
		t.quoted = c != '"'
		return true
	case c == '"':
		t.quoted = true
		return true
	case c == '{' || c == '[':
		t.Depth++
	case c == '}' || c == ']':
		t.Depth--
	}
	return false
}

// InString reports whether a string is open.
func (t *Tracker) InString() bool { return t.quoted }

// IsSpace reports whether c is white space between tokens.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
