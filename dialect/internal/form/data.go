package form

import (
	"bytes"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
)

// data reads JSON that is not a call, up to its end, as text. A model that answers with data may name a tool in it, as
// in {"plan": [{"tool": "f", "args": {}}]}. Values inside the data are part of it and not calls. The first byte that is
// not valid JSON ends the data and is read like any other text.
func (m envelopeReader) data(c byte) bool {
	if m.Mode != judge.InText || len(m.Tries) > 0 || m.Names.None || !m.beginsData(c) {
		return false
	}
	d, from := m.newDataReader(), m.Offset()
	d.other = endsValue(m.Lately())
	for d.state != dataEnd && m.Flows(0, d.flow) {
		if !d.read() && d.state != dataEnd {
			m.Suspect()
			d.n = len(d.text) + 1 // a name cannot contain this byte
			m.Pos++
		}
	}
	if d.suspicious {
		m.Lost.Add(m.Lex.Bare.And(m.Lex.Form[spec.JSONCall]), d.start)
		m.Covers = append(m.Covers, judge.Extent{Start: from, End: m.Offset()})
	}
	return true
}

// endsValue reports whether the text before ends in an object. An object in the form of a message after it then belongs
// to a record of messages.
func endsValue(before []byte) bool {
	return bytes.HasSuffix(bytes.TrimRight(before, ", \t\r\n"), []byte{'}'})
}

// newDataReader returns the reader of data. At most one is in use at a time.
func (m envelopeReader) newDataReader() *dataReader {
	d := m.answer.data
	if d == nil {
		d = new(dataReader)
		d.flow = d.read
		m.answer.data = d
	}
	*d = dataReader{m: m.answer, flow: d.flow}
	return d
}

// beginsData reports whether a JSON object, or a list of objects, begins at the current position. It requires the first
// key and its colon.
func (m envelopeReader) beginsData(c byte) bool {
	i := m.Spaces(1)
	if c == '[' {
		if m.Peek(i) != '{' {
			return false
		}
		i = m.Spaces(i + 1)
	} else if c != '{' {
		return false
	}
	if m.Peek(i) != '"' {
		return false
	}
	for end := i + lexicon.MaxName; i < end; {
		i++
		switch c := m.Peek(i); {
		case c == '"':
			return m.Peek(m.Spaces(i+1)) == ':'
		case c < ' ' || c == '\\':
			return false
		}
	}
	return false
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

// dataReader skips one JSON value. objects, names, args and described have one bit for each depth.
type dataReader struct {
	m          *answer
	flow       func() bool // the method read
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

// messageKeys are the keys of a message as APIs and models write it. The value is true for keys that hold calls. Such a
// message may begin with its text.
var messageKeys = map[string]bool{
	"role": false, "content": false, "refusal": false, "reasoning_content": false, "id": false, "type": false,
	"message": false, "text": false, "response": false, "reply": false, "thought": false, "thinking": false, "reasoning": false,
	"tool_calls": true, "toolCalls": true, "function_call": true, "functionCall": true,
}

// read skips the data in the buffer. It reports false at the end of the value, and before a byte in a string that may
// begin a marker.
func (d *dataReader) read() bool {
	m := d.m
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
func (d *dataReader) skim() {
	rest := d.m.Buf[d.m.Pos:]
	n := 0
	for n < len(rest) && !endsSkim[rest[n]] {
		n++
	}
	if d.n < len(d.text) {
		copy(d.text[d.n:], rest[:n])
	}
	d.n += n
	d.m.Pos += n
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
func (d *dataReader) step(c byte) bool {
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

func (d *dataReader) value(c byte) bool {
	switch {
	case (c == '{' || c == '[') && d.calls:
		d.m.MessageAt = d.m.Offset() // this is not data but a message with calls
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
func (d *dataReader) next(c byte) bool {
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

func (d *dataReader) bit() uint64 { return 1 << d.depth }

func (d *dataReader) inObject() bool { return d.objects&d.bit() != 0 }

func (d *dataReader) enter(object bool) bool {
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

func (d *dataReader) leave() bool {
	if d.depth--; d.depth == 0 {
		d.state = dataEnd
	} else {
		d.state = dataNext
	}
	return true
}

func (d *dataReader) begin(key bool) {
	d.state, d.isKey, d.n = dataString, key, 0
	if key {
		d.role = values.OtherKey
	}
}

// inString reads a byte of a string that skim has left.
func (d *dataReader) inString(c byte) bool {
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

func (d *dataReader) endString() {
	text := d.text[:min(d.n, len(d.text))]
	if d.n > len(d.text) {
		text = nil // too long for a key or a name
	}
	if d.isKey {
		if d.named = false; len(text) > 0 && d.m.Names.First.Has(text[0]) {
			_, d.named = d.m.Names.Find(string(text))
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
	if d.state = dataNext; (d.role == values.NameRole || d.role == values.BothRole) && (d.m.Names.Any || d.m.Names.Offered(string(text))) {
		d.names |= d.bit()
		d.suspect()
	}
}

// argument notes that the value of the last key is an object or a list.
func (d *dataReader) argument() {
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
func (d *dataReader) suspect() {
	if (d.named || d.names&d.args&^d.described&d.bit() != 0) && !d.suspicious {
		d.suspicious, d.start = true, d.m.Offset()
	}
}
