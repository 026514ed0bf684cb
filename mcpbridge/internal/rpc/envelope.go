package rpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// Envelope is the part of a message that a relay reads. The rest is passed on unchanged.
type Envelope struct {
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
	ErrNoMessage = errors.New("this is not a JSON-RPC message")
	errBatch     = errors.New("batches are not relayed; send one message at a time")
)

// ReadEnvelope reads a message. A batch is an error.
func ReadEnvelope(text []byte) (Envelope, error) {
	var e Envelope
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return e, errBatch
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, ErrNoMessage
	}
	if err := Unambiguous(text, "jsonrpc", "id", "method", "params", "result", "error"); err != nil {
		return Envelope{}, err
	}
	if string(e.ID) == "null" {
		e.ID = nil
	}
	if e.Method == "" && len(e.ID) == 0 {
		return e, ErrNoMessage
	}
	if len(e.ID) > maxID || len(e.ID) > 0 && (e.ID[0] == '{' || e.ID[0] == '[') {
		return e, fmt.Errorf("the id of a message is a number or a string of up to %d bytes", maxID)
	}
	return e, nil
}

// Unambiguous refuses an object that other readers may read differently: an object with a duplicate
// member, or with a member that differs from one of names only in case, which our reader ignores.
func Unambiguous(text []byte, names ...string) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ErrNoMessage
	}
	seen := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return ErrNoMessage
		}
		alike := slices.ContainsFunc(names, func(known string) bool { return known != name && strings.EqualFold(known, name) })
		if seen[name] || alike {
			return fmt.Errorf("the message can be read in two ways: it has %q twice, or in other letters", clip.Bytes(PlainText(name), 60))
		}
		seen[name] = true
	}
	return nil
}

// maxID bounds the id of a message.
const maxID = 1024

// IsCall reports whether the message is a request.
func (e Envelope) IsCall() bool { return e.Method != "" && len(e.ID) > 0 }

// IsResponse reports whether the message answers a request.
func (e Envelope) IsResponse() bool { return e.Method == "" && len(e.ID) > 0 }

// Answers reports whether a message is the response to the request of that id.
func Answers(text []byte, id json.RawMessage) bool {
	e, err := ReadEnvelope(text)
	return err == nil && e.IsResponse() && bytes.Equal(bytes.TrimSpace(e.ID), bytes.TrimSpace(id))
}

// ReplaceMember sets a member of an object inside an object. Other members do not change.
func ReplaceMember(text []byte, value json.RawMessage, path ...string) ([]byte, error) {
	if len(path) == 0 {
		return value, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return nil, cmp.Or(err, ErrNoMessage)
	}
	inner, err := ReplaceMember(object[path[0]], value, path[1:]...)
	if err != nil {
		return nil, err
	}
	object[path[0]] = inner
	return json.Marshal(object)
}

// ErrorResponse returns a protocol error as a response. Without an id in the request it has none.
func ErrorResponse(id json.RawMessage, code int64, message string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": wireError{Code: code, Message: message}})
	return text
}

// deeper reports whether values of JSON are nested deeper than that.
func deeper(text []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
