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

// Next returns an event within bounds, or [io.EOF]. An event that the stream breaks
// off in is none.
func (e *Events) Next() (Event, error) {
	var one Event
	for {
		line, long, err := e.from.read(MaxFrame-len(one.Lines), false)
		if long {
			err = tooLong(MaxFrame)
		}
		if err != nil {
			return Event{}, err
		}
		text := bytes.TrimRight(line, "\r\n")
		if len(text) == 0 {
			if len(one.Lines) == 0 {
				continue
			}
			return one, nil
		}
		one.Lines = append(append(one.Lines, text...), '\n')
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if one.Data != nil {
				one.Data = append(one.Data, '\n')
			}
			one.Data = append(append([]byte{}, one.Data...), bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
}
