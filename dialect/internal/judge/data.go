package judge

import (
	"bytes"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
)

// BeginsData reports whether a JSON object, or a list of objects, begins at the current position. It requires the first
// key and its colon.
func (e *Evidence) BeginsData(c byte) bool {
	i := e.Spaces(1)
	if c == '[' {
		if e.Peek(i) != '{' {
			return false
		}
		i = e.Spaces(i + 1)
	} else if c != '{' {
		return false
	}
	if e.Peek(i) != '"' {
		return false
	}
	for end := i + lexicon.MaxName; i < end; {
		i++
		switch c := e.Peek(i); {
		case c == '"':
			return e.Peek(e.Spaces(i+1)) == ':'
		case c < ' ' || c == '\\':
			return false
		}
	}
	return false
}

// EndsValue reports whether the text before ends in an object. An object in the form of a message after it then belongs
// to a record of messages.
func EndsValue(before []byte) bool {
	return bytes.HasSuffix(bytes.TrimRight(before, ", \t\r\n"), []byte{'}'})
}

// dataState is the part of a JSON value that may come next.
type dataState uint8

const (
	dataValue   dataState = iota
	dataFirst             // a key, or the end of the object
	dataKey               // a key
	dataColon             // a colon
	dataNext              // a comma, or the end of the object or list
	dataString            // more of a string
	dataEscape            // the byte after a backslash
	dataLiteral           // more of a number or word
	dataEnd               // nothing: the value has ended or is not valid
)

// maxDataDepth bounds the nesting of data.
const maxDataDepth = 64

// Data skips one JSON value that is not a call, and finds the parts that look like one. objects, names, args and described have one bit for each depth.
type Data struct {
	e          *Evidence
	from       int         // offset of the value
	Flow       func() bool // the method read
	state      dataState
	depth      int
	objects    uint64         // an object and not a list
	names      uint64         // it has the name of a tool
	args       uint64         // it has arguments
	described  uint64         // it has a description, so it defines a tool and is not a call
	isKey      bool           // the string being read is a key
	role       values.KeyRole // of the last key
	named      bool           // the last key is the name of a tool
	text       [lexicon.MaxName]byte
	n          int // length of the string; text holds its beginning if it is longer than text
	suspicious bool
	start      int  // offset of the suspicious part
	other      bool // it has a key that API messages do not have
	calls      bool // the last key is the key for the calls of a message
}

// Begin starts at the value at the current position. It keeps the method value Flow, so it can be called again.
func (d *Data) Begin(e *Evidence) {
	flow := d.Flow
	if flow == nil {
		flow = d.read
	}
	*d = Data{e: e, from: e.Offset(), Flow: flow, other: EndsValue(e.Lately())}
}

// Ended reports whether the value has ended, or is not valid.
func (d *Data) Ended() bool { return d.state == dataEnd }

// Read skips what the buffer holds of the value. The byte of a string that may begin a marker is skipped as well, and
// the marker is a suspect.
func (d *Data) Read() {
	if !d.read() && d.state != dataEnd {
		d.e.Suspect(isData)
		d.n = len(d.text) + 1 // a name cannot contain this byte
		d.e.Pos++
	}
}

// End records the suspects in the value.
func (d *Data) End() {
	if d.suspicious {
		d.e.Lost.Add(d.e.Lex.Bare.And(d.e.Lex.Form[spec.JSONCall]), d.start, isData)
		d.e.Covers = append(d.e.Covers, Extent{Start: d.from, End: d.e.Offset()})
	}
}

// messageKeys are the keys of a message as APIs and models write it. The value is true for keys that hold calls. Such a
// message may begin with its text.
var messageKeys = map[string]bool{
	"role": false, "content": false, "refusal": false, "reasoning_content": false, "id": false, "type": false,
	"message": false, "text": false, "response": false, "reply": false, "thought": false, "thinking": false, "reasoning": false,
	"tool_calls": true, "toolCalls": true, "function_call": true, "functionCall": true,
}

// read skips the data in the buffer. It reports false at the end of the value, and before a byte in a string that may
// begin a marker.
func (d *Data) read() bool {
	m := d.e
	for ; m.Pos < len(m.Buf); m.Pos++ {
		if d.state == dataString {
			d.skim()
			if m.Pos == len(m.Buf) {
				break
			}
		}
		c := m.Buf[m.Pos]
		if d.state == dataEnd || d.state == dataString && c == '<' {
			return false
		}
		if !d.step(c) {
			d.state = dataEnd
			return false
		}
	}
	return d.state != dataEnd
}

// skim skips the ordinary bytes of a string.
func (d *Data) skim() {
	rest := d.e.Buf[d.e.Pos:]
	n := 0
	for n < len(rest) && !endsSkim[rest[n]] {
		n++
	}
	if d.n < len(d.text) {
		copy(d.text[d.n:], rest[:n])
	}
	d.n += n
	d.e.Pos += n
}

// endsSkim are the bytes of a string that end skim.
var endsSkim = func() (set [256]bool) {
	for c := range ' ' {
		set[c] = true
	}
	set['"'], set['\\'], set['<'] = true, true, true
	return set
}()

// step reads the next byte. It reports false if the byte is not valid here.
func (d *Data) step(c byte) bool {
	switch d.state {
	case dataString:
		return d.inString(c)
	case dataEscape:
		d.state = dataString
		return c > ' '
	case dataLiteral:
		if chars.IsNameByte(c) || c == '+' {
			return true
		}
		d.state = dataNext
	}
	if chars.IsSpace(c) {
		return true
	}
	switch d.state {
	case dataValue:
		return d.value(c)
	case dataFirst, dataKey:
		if c == '}' && d.state == dataFirst {
			return d.leave()
		}
		d.begin(true)
		return c == '"'
	case dataColon:
		d.state = dataValue
		return c == ':'
	}
	return d.next(c)
}

func (d *Data) value(c byte) bool {
	switch {
	case (c == '{' || c == '[') && d.calls:
		d.e.MessageAt = d.e.Offset() // this is not data but a message with calls
		return false
	case c == '{' || c == '[':
		return d.enter(c == '{')
	case c == ']' && d.depth > 0 && !d.inObject():
		return d.leave()
	case c == '"':
		d.begin(false)
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n':
		d.state = dataLiteral
	default:
		return false
	}
	return true
}

// next reads the byte after a member or an item.
func (d *Data) next(c byte) bool {
	switch {
	case c == ',':
		if d.state = dataValue; d.inObject() {
			d.state = dataKey
		}
		return true
	case c == '}' && d.inObject(), c == ']' && !d.inObject():
		return d.leave()
	}
	return false
}

func (d *Data) bit() uint64 { return 1 << d.depth }

func (d *Data) inObject() bool { return d.objects&d.bit() != 0 }

func (d *Data) enter(object bool) bool {
	d.argument()
	if d.depth++; d.depth == maxDataDepth {
		return false
	}
	d.objects &^= d.bit()
	d.names &^= d.bit()
	d.args &^= d.bit()
	d.described &^= d.bit()
	if d.state = dataValue; object {
		d.objects |= d.bit()
		d.state = dataFirst
	}
	return true
}

func (d *Data) leave() bool {
	if d.depth--; d.depth == 0 {
		d.state = dataEnd
	} else {
		d.state = dataNext
	}
	return true
}

func (d *Data) begin(key bool) {
	d.state, d.isKey, d.n = dataString, key, 0
	if key {
		d.role = values.OtherKey
	}
}

// inString reads a byte of a string that skim has left.
func (d *Data) inString(c byte) bool {
	switch c {
	case '\\':
		d.state = dataEscape
		d.n = len(d.text) + 1 // a name cannot contain a backslash
	case '"':
		d.endString()
	default:
		return false
	}
	return true
}

func (d *Data) endString() {
	text := d.text[:min(d.n, len(d.text))]
	if d.n > len(d.text) {
		text = nil // too long for a key or a name
	}
	if d.isKey {
		if d.named = false; len(text) > 0 && d.e.Names.First.Has(text[0]) {
			_, d.named = d.e.Names.Find(string(text))
		}
		if d.state, d.role = dataColon, values.Keys[string(text)]; string(text) == "description" {
			d.described |= d.bit()
		}
		if d.calls = false; d.depth == 1 {
			calls, ok := messageKeys[string(text)]
			d.other = d.other || !ok
			d.calls = calls && !d.other
		}
		return
	}
	d.named = false
	if d.state = dataNext; (d.role == values.NameRole || d.role == values.BothRole) && (d.e.Names.Any || d.e.Names.Offered(string(text))) {
		d.names |= d.bit()
		d.suspect()
	}
}

// argument notes that the value of the last key is an object or a list.
func (d *Data) argument() {
	if d.depth == 0 || !d.inObject() {
		return
	}
	if d.role == values.ArgsRole {
		d.args |= d.bit()
	}
	d.suspect()
}

// suspect notes that an object has the name of a tool and arguments, or that the name of a tool is the key of an object
// or a list.
func (d *Data) suspect() {
	if (d.named || d.names&d.args&^d.described&d.bit() != 0) && !d.suspicious {
		d.suspicious, d.start = true, d.e.Offset()
	}
}
