package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// Event is one of a stream of server-sent events. Lines are its text, without the
// empty line after it.
type Event struct {
	Lines []byte
	Data  []byte // nil without any
}

// EventOf is an event with a message.
func EventOf(data []byte) Event {
	var flat bytes.Buffer
	if json.Compact(&flat, data) != nil { // an event has one line
		flat.Reset()
		flat.Write(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")))
	}
	lines := append([]byte("event: message\ndata: "), flat.Bytes()...)
	return Event{Lines: append(lines, '\n'), Data: flat.Bytes()}
}

// With returns the event with other data.
func (e Event) With(data []byte) Event {
	var lines []byte
	for line := range bytes.Lines(e.Lines) {
		if !bytes.HasPrefix(line, []byte("data:")) && !bytes.HasPrefix(line, []byte("event:")) {
			lines = append(lines, line...)
		}
	}
	next := EventOf(data)
	next.Lines = append(lines, next.Lines...)
	return next
}

// Events reads a stream of events.
type Events struct{ from *LineReader }

// NewEvents returns a reader of a stream.
func NewEvents(r io.Reader) *Events {
	return &Events{&LineReader{from: bufio.NewReader(r), max: MaxFrame}}
}

// Next returns an event within bounds. With an error, like [io.EOF], it returns the lines that the stream ended in,
// which are not an event.
func (e *Events) Next() (Event, error) {
	var one Event
	for {
		line, long, err := e.from.read(MaxFrame-len(one.Lines), false)
		if long {
			err = tooLong(MaxFrame)
		}
		if err != nil {
			one.add(bytes.TrimRight(line, "\r\n"))
			return one, err
		}
		text := bytes.TrimRight(line, "\r\n")
		if len(text) == 0 {
			if len(one.Lines) == 0 {
				continue
			}
			return one, nil
		}
		one.add(text)
	}
}

// add adds a line without its end.
func (e *Event) add(line []byte) {
	if len(line) == 0 {
		return
	}
	e.Lines = append(append(e.Lines, line...), '\n')
	if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		if e.Data != nil {
			e.Data = append(e.Data, '\n')
		}
		e.Data = append(append([]byte{}, e.Data...), bytes.TrimPrefix(value, []byte(" "))...)
	}
}
