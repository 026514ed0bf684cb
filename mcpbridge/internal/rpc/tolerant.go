package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServerMessage returns a line of a program as the client can read it, nil if it is none:
// programs print all kinds of things, and responses that answer nothing. What it does
// not pass on is written to noise.
func ServerMessage(line []byte, noise io.Writer) []byte {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return nil
	}
	if text[0] == '[' && json.Valid(text) {
		return line // a batch, which one revision has
	}
	var id struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_, err := jsonrpc.DecodeMessage(text)
	if err != nil || json.Unmarshal(text, &id) != nil || id.Method == "" && (len(id.ID) == 0 || string(id.ID) == "null") {
		_, _ = noise.Write(append(text, '\n'))
		return nil
	}
	return append(repairToolList(text), '\n')
}

// ServerDataLine repairs the list of tools in a line of a stream of events.
func ServerDataLine(line []byte) []byte {
	data, is := bytes.CutPrefix(line, []byte("data:"))
	if !is || !bytes.Contains(data, []byte(`"tools"`)) {
		return line
	}
	return append(append([]byte("data: "), repairToolList(bytes.TrimSpace(data))...), '\n')
}

// ServerBody is the body of a response. It repairs the list of tools.
type ServerBody struct {
	io.ReadCloser
	whole io.Reader // once it is read
}

// Read implements [io.Reader].
func (b *ServerBody) Read(p []byte) (int, error) {
	if b.whole == nil {
		text, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		b.whole = bytes.NewReader(repairToolList(bytes.TrimPrefix(text, byteOrderMark)))
	}
	return b.whole.Read(p)
}

// Unusable is the key, in the _meta of a tool, of why it cannot be used.
const Unusable = "toolpost.dev/unusable"

// repairToolList returns a message in which each tool of a list can be decoded. A tool that
// could not be decoded is replaced by its problem, and left out by [define].
func repairToolList(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"tools"`)) {
		return text
	}
	var m map[string]json.RawMessage
	var result map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(text, &m) != nil || json.Unmarshal(m["result"], &result) != nil || json.Unmarshal(result["tools"], &tools) != nil {
		return text // not a list, or an unreadable one
	}
	repaired := false
	for i, t := range tools {
		if why := malformed(t); why != "" {
			tools[i], repaired = placeholder(t, why), true
		}
	}
	if !repaired {
		return text
	}
	var err error
	if result["tools"], err = json.Marshal(tools); err != nil {
		return text
	}
	if m["result"], err = json.Marshal(result); err != nil {
		return text
	}
	out, err := json.Marshal(m)
	if err != nil {
		return text
	}
	return out
}

// malformed returns why a tool cannot be read, "" if it can. Schemas are checked later.
func malformed(text json.RawMessage) string {
	var t struct {
		Meta        map[string]json.RawMessage `json:"_meta"`
		Annotations *mcp.ToolAnnotations       `json:"annotations"`
		Description string                     `json:"description"`
		Name        string                     `json:"name"`
		Title       string                     `json:"title"`
		Icons       []mcp.Icon                 `json:"icons"`
	}
	err := json.Unmarshal(text, &t)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("its %s is of the wrong type (%s)", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it is no object (%s)", kind.Value)
	}
	return "it cannot be read"
}

// placeholder returns a tool with the reason why it cannot be used.
func placeholder(text json.RawMessage, why string) json.RawMessage {
	var said struct {
		Name any `json:"name"`
	}
	_ = json.Unmarshal(text, &said) // without a name it has none
	name, _ := said.Name.(string)
	out, err := json.Marshal(map[string]any{"name": name, "inputSchema": map[string]any{}, "_meta": map[string]any{Unusable: why}})
	if err != nil {
		panic(err) // strings can be written
	}
	return out
}
