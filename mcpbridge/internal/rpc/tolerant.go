package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServerMessage returns a line of a program as the client can read it, nil if it is none:
// programs print all kinds of things, and responses that answer nothing. What it does
// not pass on is written to noise.
func ServerMessage(line []byte, noise io.Writer) []byte {
	text := ServerText(line)
	if len(text) == 0 {
		return nil
	}
	if text[0] == '[' && json.Valid(text) {
		return append(text, '\n') // a batch, which one revision has
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
	return append(repairResponse(text), '\n')
}

// ServerText returns a line of a program without the space around it. Some programs on Windows begin each line with a byte
// order mark.
func ServerText(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), byteOrderMark))
}

// ServerEvents returns a stream of events whose messages the client can read. Heard is told of each message.
func ServerEvents(r io.Reader, heard func([]byte)) io.Reader {
	return &serverEvents{from: NewEvents(r), heard: heard}
}

type serverEvents struct {
	from  *Events
	heard func([]byte)
	rest  []byte
	err   error
}

// Read implements [io.Reader].
func (s *serverEvents) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		var e Event
		e, s.err = s.from.Next()
		if e.Data != nil {
			s.heard(e.Data)
			if data := repairResponse(e.Data); !bytes.Equal(data, e.Data) {
				e = e.With(data)
			}
		}
		if s.rest = e.Lines; s.err == nil {
			s.rest = append(s.rest, '\n')
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
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
		b.whole = bytes.NewReader(repairResponse(text))
	}
	return b.whole.Read(p)
}

// ExactResult is the key, in the _meta of a result, of the result as the server wrote it. Only results that the SDK
// would not decode without loss have it.
const ExactResult = "toolpost.dev/result"

// repairResponse returns a message that the SDK decodes without loss.
func repairResponse(text []byte) []byte { return keepTasks(keepResult(repairToolList(text))) }

// Tasks is the key, in the experimental capabilities of a server, of its capability for tasks, which the SDK does not decode.
const Tasks = "toolpost.dev/tasks"

// keepTasks keeps the capability for tasks in the result of a handshake.
func keepTasks(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"capabilities"`)) || !bytes.Contains(text, []byte(`"tasks"`)) {
		return text
	}
	var m struct {
		Result struct {
			Capabilities struct {
				Tasks        json.RawMessage            `json:"tasks"`
				Experimental map[string]json.RawMessage `json:"experimental"`
			} `json:"capabilities"`
		} `json:"result"`
	}
	if json.Unmarshal(text, &m) != nil || len(m.Result.Capabilities.Tasks) == 0 {
		return text
	}
	kept := m.Result.Capabilities.Experimental
	if kept == nil {
		kept = make(map[string]json.RawMessage)
	}
	kept[Tasks] = m.Result.Capabilities.Tasks
	value, err := json.Marshal(kept)
	if err != nil {
		return text
	}
	out, err := ReplaceMember(text, value, "result", "capabilities", "experimental")
	if err != nil {
		return text
	}
	return out
}

// TasksExtension names the extension for tasks in capabilities, since revision 2026-07-28.
const TasksExtension = "io.modelcontextprotocol/tasks"

// keepResult adds to the result of a response what the SDK loses.
func keepResult(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"structuredContent"`)) && !bytes.Contains(text, []byte(`"resultType"`)) && !bytes.Contains(text, []byte(`"task"`)) && !longMeta(text) {
		return text
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || m["method"] != nil {
		return text
	}
	kept := KeepExact(m["result"])
	if bytes.Equal(kept, m["result"]) {
		return text
	}
	m["result"] = kept
	out, err := json.Marshal(m)
	if err != nil {
		return text
	}
	return out
}

var longNumber = regexp.MustCompile(`[0-9]{16}`)

// longMeta reports whether content may have metadata with a number that the SDK does not keep.
func longMeta(content []byte) bool {
	return bytes.Contains(content, []byte(`"_meta"`)) && longNumber.Match(content)
}

// KeepExact adds to a result what the SDK loses: digits of structured content, other types of results, and tasks.
func KeepExact(text json.RawMessage) json.RawMessage {
	var result, meta map[string]json.RawMessage
	if json.Unmarshal(text, &result) != nil {
		return text
	}
	names := []string{"structuredContent", "task", "resultType"}
	switch string(result["resultType"]) {
	case `"complete"`:
		names = names[:2]
	case `"task"`:
		names = append(names, "taskId", "status", "statusMessage", "pollIntervalMs")
	}
	kept := make(map[string]json.RawMessage)
	for _, name := range names {
		if value, there := result[name]; there {
			kept[name] = value
		}
	}
	if content := result["content"]; longMeta(content) {
		kept["content"] = content
	}
	if len(kept) == 0 {
		return text
	}
	exact, err := json.Marshal(kept)
	if err != nil {
		return text
	}
	if json.Unmarshal(result["_meta"], &meta) != nil || meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	meta[ExactResult], _ = json.Marshal(string(exact)) // a string can be written
	if result["_meta"], err = json.Marshal(meta); err != nil {
		return text
	}
	out, err := json.Marshal(result)
	if err != nil {
		return text
	}
	return out
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
		} else if marked := markTask(t); marked != nil {
			tools[i], repaired = marked, true
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
		return fmt.Sprintf("it is not an object (%s)", kind.Value)
	}
	return "it cannot be read"
}

// TaskOnly is the key, in the _meta of a tool, of whether it can only be called as a task. The SDK does not decode it.
const TaskOnly = "toolpost.dev/task"

// markTask returns a tool that can only be called as a task with a mark of that, nil if it can be called otherwise.
func markTask(text json.RawMessage) json.RawMessage {
	if !bytes.Contains(text, []byte(`"taskSupport"`)) {
		return nil
	}
	var t struct {
		Execution any            `json:"execution"`
		Meta      map[string]any `json:"_meta"`
	}
	err := json.Unmarshal(text, &t)
	if e, _ := t.Execution.(map[string]any); err != nil || e["taskSupport"] != "required" {
		return nil
	}
	if t.Meta == nil {
		t.Meta = make(map[string]any)
	}
	t.Meta[TaskOnly] = true
	meta, err := json.Marshal(t.Meta)
	if err != nil {
		return nil
	}
	out, err := ReplaceMember(text, meta, "_meta")
	if err != nil {
		return nil
	}
	return out
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
