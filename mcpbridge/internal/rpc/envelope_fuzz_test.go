package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// exactly reads the members of an object by their exact names, and of two the first or the
// last, as other readers do.
func exactly(text []byte, first bool) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return out
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		name, _ := key.(string)
		if _, there := out[name]; !there || !first {
			out[name] = value
		}
	}
	return out
}

// FuzzRelayReads: a relay reads a message as every other reader does, or refuses it; what
// it writes in place of one is a message, with the member that it sets and all others as they
// were; events come out of a stream as they went in.
func FuzzRelayReads(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"b":1},"_meta":{"progressToken":7}}}`,
		`{"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"a"}]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","Method":"ping","params":{}}`,
		`{"id":null,"method":"x","params":null}`, `[{}]`, "\ufeff{}", `{"m\u0045thod":"x","method":"y"}`, `{"ſ":1}`,
		"event: message\nid: 1\ndata: {\"a\":\ndata: 1}\n\n: c\n\ndata:x\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := ReadEnvelope(text); err == nil {
			for _, first := range []bool{false, true} {
				sameReading(t, e, exactly(text, first))
			}
			replaced(t, text, "id")
			replaced(t, text, "params", "_meta", "progressToken")
		}
		in := NewEvents(bytes.NewReader(text))
		for {
			one, err := in.Next()
			if err != nil {
				break
			}
			again, err := NewEvents(bytes.NewReader(append(bytes.Clone(one.Lines), '\n'))).Next()
			if err != nil || !bytes.Equal(again.Data, one.Data) || (again.Data == nil) != (one.Data == nil) {
				t.Errorf("%q is read again as %q, %v", one.Data, again.Data, err)
			}
			if next := one.With([]byte(`{"id":1}`)); !strings.HasSuffix(string(next.Lines), "data: {\"id\":1}\n") {
				t.Errorf("other data make %q", next.Lines)
			}
		}
	})
}

// sameReading fails if others read another method, id or parameters in a message.
func sameReading(t *testing.T, e Envelope, m map[string]json.RawMessage) {
	t.Helper()
	method := ""
	_ = json.Unmarshal(m["method"], &method) // null is none
	id := m["id"]
	if string(id) == "null" {
		id = nil
	}
	if method != e.Method || !bytes.Equal(id, e.ID) || !bytes.Equal(m["params"], e.Params) && string(m["params"]) != "null" {
		t.Errorf("we read %q %s %s, others %q %s %s", e.Method, e.ID, e.Params, method, id, m["params"])
	}
}

// replaced fails if setting a member does anything else.
func replaced(t *testing.T, text []byte, path ...string) {
	t.Helper()
	out, err := ReplaceMember(text, json.RawMessage("12345"), path...)
	if err != nil {
		return // there is no such object
	}
	before, after := exactly(text, false), exactly(out, false)
	if !json.Valid(out) || len(after) < len(before) {
		t.Fatalf("%s becomes %s", text, out)
	}
	for name, value := range before {
		var was, is any
		if name == path[0] || json.Unmarshal(value, &was) != nil || json.Unmarshal(after[name], &is) != nil {
			continue
		}
		x, _ := json.Marshal(was)
		if y, _ := json.Marshal(is); !bytes.Equal(x, y) {
			t.Errorf("%q was %s and is %s", name, value, after[name])
		}
	}
	for _, name := range path {
		out = exactly(out, false)[name]
	}
	if string(out) != "12345" {
		t.Errorf("it was set to %s", out)
	}
}
