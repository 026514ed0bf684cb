package codec

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// argScan follows arguments as they arrive and finds how much of them is certainly part of their JSON value. Deltas
// cannot be taken back, and broken arguments are repaired at their end. So it holds back a quote that may belong to the
// text, a comma that may be superfluous, and an incomplete word or number. When the text is not JSON any more, it holds
// back everything after that.
type argScan struct {
	mode  argMode
	depth int
	begin int // of the value, behind white space
	at    int // of the next byte
	safe  int // all before it is certain
	token int // where the word or number that is being read begins
	empty bool
}

type argMode uint8

const (
	beforeValue argMode = iota // a value may begin here
	inText                     // inside a string
	inEscape                   // after a backslash in a string
	inToken                    // inside a number or word
	afterValue                 // after a value or key
	afterAll                   // after the whole value
	noJSON                     // something is wrong
)

// add reads the next piece, with which args end.
func (s *argScan) add(args string, piece int) {
	for s.at = len(args) - piece; s.at < len(args) && s.mode != noJSON; s.at++ {
		c := args[s.at]
		if s.mode == inText && c >= ' ' && c != '"' && c != '\\' { // most of most arguments
			s.safe = s.at + 1
			continue
		}
		s.byte(args, c)
	}
}

func (s *argScan) byte(args string, c byte) {
	switch s.mode {
	case inText:
		s.inText(c)
	case inEscape:
		s.mode = inText
		if strings.IndexByte(`"\/bfnrtu`, c) < 0 {
			s.mode = noJSON
		} else {
			s.safe = s.at + 1
		}
	case inToken:
		if c != ',' && c != '}' && c != ']' && !isSpace(c) {
			return
		}
		s.mode = noJSON
		if js.Valid([]byte(args[s.token:s.at])) {
			s.mode, s.safe = afterValue, s.at
			s.after(c)
		}
	case beforeValue:
		s.before(c)
	case afterValue:
		s.after(c)
	case afterAll:
		if !isSpace(c) {
			s.mode = noJSON
		}
	}
}

func (s *argScan) inText(c byte) {
	switch {
	case c == '\\':
		s.mode = inEscape
	case c == '"':
		s.mode = afterValue // if it is the end, which the next byte tells
	case c < ' ':
		s.mode = noJSON
	default:
		s.safe = s.at + 1
	}
}

// before reads a byte where a value may begin.
func (s *argScan) before(c byte) {
	if s.depth == 0 && s.safe == s.begin && !isSpace(c) {
		s.begin, s.safe = s.at, s.at
	}
	switch {
	case isSpace(c):
	case c == '"':
		s.mode, s.safe = inText, s.at+1
	case c == '{' || c == '[':
		s.depth++
		s.safe, s.empty = s.at+1, true
		return
	case (c == '}' || c == ']') && s.empty:
		s.after(c)
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n':
		s.mode, s.token = inToken, s.at
	default:
		s.mode = noJSON
	}
	s.empty = s.empty && isSpace(c)
}

// after reads a byte after a value or key.
func (s *argScan) after(c byte) {
	switch {
	case isSpace(c):
	case c == ':':
		s.mode, s.safe = beforeValue, s.at+1
	case c == ',':
		s.mode, s.safe = beforeValue, s.at // the comma itself may be one too many
	case (c == '}' || c == ']') && s.depth > 0:
		s.safe = s.at + 1
		s.mode = afterValue
		if s.depth--; s.depth == 0 {
			s.mode = afterAll
		}
	default:
		s.mode = noJSON
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// value returns complete arguments as one JSON value, and the repairs. Arguments are repaired like those of calls in
// text, unless the answer was truncated, because then anything may be missing. It reports false if there is no such
// value, or if the value does not begin with the deltas that were sent.
func (p *PendingCall) value(whole bool) (args json.RawMessage, repairs []llm.Repair, ok bool) {
	text := p.Args.String()
	if js.Valid([]byte(text)) {
		return json.RawMessage(strings.Trim(text[p.scan.begin:], " \t\r\n")), nil, true
	}
	if !whole {
		return nil, nil, false
	}
	args, repairs, err := jsonfix.Fix(text)
	if err != nil || args[0] != '{' || (llm.Provenance{Repairs: repairs}).Worst() >= llm.Truncation {
		return nil, nil, false
	}
	return args, repairs, strings.HasPrefix(string(args), text[p.scan.begin:p.scan.begin+p.passed])
}
