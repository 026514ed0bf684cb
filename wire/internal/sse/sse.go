// Package sse reads and writes server-sent events and lines of JSON.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent bounds the bytes of one event or line.
const MaxEvent = 32 << 20

// ErrTooLong says that an event or line exceeds MaxEvent.
var ErrTooLong = fmt.Errorf("an event of more than %d bytes", MaxEvent)

// Lines splits a stream into lines. A line ends with LF, CR LF or CR. A byte
// order mark at the start is passed over. The work and the memory are linear
// in the input, however it is cut into reads.
type Lines struct {
	src        io.Reader
	buf        []byte
	start, end int
	scanned    int   // bytes after start that hold no line end
	err        error // of src
	begun      bool
	skipLF     bool // the last line ended with CR, so LF may follow
	partial    bool
	offset     int64 // of the byte at start
}

// NewLines returns the lines of src.
func NewLines(src io.Reader) *Lines { return &Lines{src: src} }

// Cut returns what ended the last line, if the end of the stream did: io.EOF, or the error of the
// reader. It is nil if the line had its end.
func (l *Lines) Cut() error {
	if !l.partial {
		return nil
	}
	return l.err
}

// Offset returns how many bytes of the stream belong to the lines returned so
// far. The LF of a CR LF may count for the line after it.
func (l *Lines) Offset() int64 { return l.offset }

// Next returns the next line without its end. It is valid until the next
// call. After the last line it returns the error of the reader, io.EOF if all
// was read.
func (l *Lines) Next() ([]byte, error) {
	for {
		if l.skipLF && l.start < l.end {
			l.skipLF = false
			if l.buf[l.start] == '\n' {
				l.start++
				l.offset++
			}
		}
		rest := l.buf[l.start:l.end]
		if i := lineEnd(rest[l.scanned:]); i >= 0 {
			i += l.scanned
			l.skipLF = rest[i] == '\r'
			l.start += i + 1
			l.offset += int64(i + 1)
			l.scanned = 0
			return l.line(rest[:i]), nil
		}
		l.scanned = len(rest)
		if l.err != nil {
			if len(rest) == 0 {
				return nil, l.err
			}
			l.start, l.scanned, l.partial = l.end, 0, true
			l.offset += int64(len(rest))
			return l.line(rest), nil
		}
		l.fill()
	}
}

func (l *Lines) line(b []byte) []byte {
	if !l.begun {
		l.begun = true
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	return b
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// leastRead is the room that reading begins with. It grows with the lines: most streams are open and
// silent, and all that they have is kept.
const leastRead = 512

// fill reads more, and sets err when nothing more can come.
func (l *Lines) fill() {
	if l.start > 0 && l.end == len(l.buf) {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		if len(l.buf) >= MaxEvent {
			l.start, l.end, l.scanned, l.err = 0, 0, 0, ErrTooLong
			return
		}
		l.buf = append(l.buf, make([]byte, max(leastRead, len(l.buf)))...)
	}
	for range 100 {
		n, err := l.src.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// Reader splits a stream into events.
type Reader struct {
	lines *Lines
	name  []byte
	data  []byte
}

// NewReader returns the events of src.
func NewReader(src io.Reader) *Reader { return &Reader{lines: NewLines(src), data: []byte{}} }

// Offset returns the number of bytes of the stream up to the end of the last returned event.
func (r *Reader) Offset() int64 { return r.lines.Offset() }

// Cut returns what ended the last event, if the end of the stream did, as that of [Lines].
func (r *Reader) Cut() error { return r.lines.Cut() }

// Next returns the name and the data of the next event that has data; both
// are valid until the next call. A comment between events, which servers send
// to keep a connection alive, comes as nil without an error. Other comments
// and unknown fields are passed over.
// A line of JSON without a field name counts as data: servers that fail send
// such lines. An event at the very end needs no blank line after it.
func (r *Reader) Next() (name, data []byte, err error) {
	r.name, r.data = r.name[:0], r.data[:0]
	found := false
	for {
		line, err := r.lines.Next()
		if err != nil || len(line) == 0 {
			if found {
				return r.name, r.data, nil
			}
			if err != nil {
				return nil, nil, err
			}
			r.name = r.name[:0]
			continue
		}
		if line[0] == ':' && !found && len(r.name) == 0 {
			return nil, nil, nil
		}
		field, value := split(line)
		switch string(field) {
		case "data":
			if found {
				r.data = append(r.data, '\n')
			}
			if len(r.data)+len(value) > MaxEvent {
				return nil, nil, ErrTooLong
			}
			r.data = append(r.data, value...)
			found = true
		case "event":
			r.name = append(r.name[:0], value...)
		}
	}
}

// split returns the field name and the value of a line.
func split(line []byte) (field, value []byte) {
	if line[0] == '{' || line[0] == '[' {
		return []byte("data"), line
	}
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		return line, nil
	}
	field, value = line[:i], line[i+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return field, value
}

// IsEnd reports whether err is the ordinary end of a stream.
func IsEnd(err error) bool { return errors.Is(err, io.EOF) }
