package mcpbridge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// envelope is the part of a message that a relay reads. The rest is passed on unchanged.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

type wireError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Why a message is not relayed.
var (
	errNoMessage = errors.New("this is no JSON-RPC message")
	errBatch     = errors.New("batches are not relayed; send one message at a time")
)

// readEnvelope reads a message. A batch is an error.
func readEnvelope(text []byte) (envelope, error) {
	var e envelope
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return e, errBatch
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, errNoMessage
	}
	if err := unambiguous(text, "jsonrpc", "id", "method", "params", "result", "error"); err != nil {
		return envelope{}, err
	}
	if string(e.ID) == "null" {
		e.ID = nil
	}
	if e.Method == "" && len(e.ID) == 0 {
		return e, errNoMessage
	}
	if len(e.ID) > maxID || len(e.ID) > 0 && (e.ID[0] == '{' || e.ID[0] == '[') {
		return e, fmt.Errorf("the id of a message is a number or a string of up to %d bytes", maxID)
	}
	return e, nil
}

// unambiguous refuses an object that other readers may read differently: an object with a duplicate
// member, or with a member that differs from one of names only in case, which our reader ignores.
func unambiguous(text []byte, names ...string) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNoMessage
	}
	seen := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return errNoMessage
		}
		alike := slices.ContainsFunc(names, func(known string) bool { return known != name && strings.EqualFold(known, name) })
		if seen[name] || alike {
			return fmt.Errorf("the message can be read in two ways: it has %q twice, or in other letters", clip.Bytes(plainText(name), 60))
		}
		seen[name] = true
	}
	return nil
}

// maxID bounds the id of a message.
const maxID = 1024

func (e envelope) isCall() bool     { return e.Method != "" && len(e.ID) > 0 }
func (e envelope) isResponse() bool { return e.Method == "" && len(e.ID) > 0 }

// answers reports whether a message is the response to the request of that id.
func answers(text []byte, id json.RawMessage) bool {
	e, err := readEnvelope(text)
	return err == nil && e.isResponse() && bytes.Equal(bytes.TrimSpace(e.ID), bytes.TrimSpace(id))
}

// event is one of a stream of server-sent events. Lines are its text, without the
// empty line after it.
type event struct {
	lines []byte
	data  []byte // nil without any
}

// eventOf is an event with a message.
func eventOf(data []byte) event {
	var flat bytes.Buffer
	if json.Compact(&flat, data) != nil { // an event has one line
		flat.Reset()
		flat.Write(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")))
	}
	lines := append([]byte("event: message\ndata: "), flat.Bytes()...)
	return event{lines: append(lines, '\n'), data: flat.Bytes()}
}

// with returns the event with other data.
func (e event) with(data []byte) event {
	var lines []byte
	for line := range bytes.Lines(e.lines) {
		if !bytes.HasPrefix(line, []byte("data:")) && !bytes.HasPrefix(line, []byte("event:")) {
			lines = append(lines, line...)
		}
	}
	next := eventOf(data)
	next.lines = append(lines, next.lines...)
	return next
}

// events reads a stream of events.
type events struct{ from *bufio.Reader }

func newEvents(r io.Reader) *events { return &events{bufio.NewReader(r)} }

// next returns an event within bounds, or [io.EOF]. An event that the stream breaks
// off in is none.
func (e *events) next() (event, error) {
	var one event
	for {
		line, err := e.line(maxFrame - len(one.lines))
		if err != nil {
			return event{}, err
		}
		text := bytes.TrimRight(line, "\r\n")
		if len(text) == 0 {
			if len(one.lines) == 0 {
				continue
			}
			return one, nil
		}
		one.lines = append(append(one.lines, text...), '\n')
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if one.data != nil {
				one.data = append(one.data, '\n')
			}
			one.data = append(append([]byte{}, one.data...), bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
}

// line reads a line of at most so many bytes.
func (e *events) line(most int) ([]byte, error) { return boundedLine(e.from, most) }

// errTooLong is followed by the limit.
var errTooLong = errors.New("a message has more than")

func boundedLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, fmt.Errorf("%w %d bytes", errTooLong, most)
		}
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
