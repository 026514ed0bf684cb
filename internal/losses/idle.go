package losses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/wire"
)

// Idle returns the redundant members of a request, and the redundant elements of its lists: without them the request
// upstream and the warnings to the client stay the same. It does not return members that a warning names, and members
// that state the default.
func Idle(from, to string, body []byte) ([]string, error) {
	whole, err := parse(body)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	base, err := Translate(from, to, plain)
	if err != nil {
		return nil, err
	}
	var idle []string
	cut := func(path []string, value any) {
		about := path
		if object, ok := value.(map[string]any); ok {
			about = append(slices.Clone(path), kinds(object)...)
		}
		if usual(from, to, path, value) || slices.ContainsFunc(about, base.named) {
			return
		}
		less, err := json.Marshal(whole) // while the member is missing
		if err != nil {
			idle = append(idle, err.Error())
			return
		}
		t, err := Translate(from, to, less)
		if err == nil && bytes.Equal(t.Out, base.Out) && slices.Equal(t.Warnings, base.Warnings) {
			text, _ := json.Marshal(value)
			idle = append(idle, fmt.Sprintf("%s: %.100s", strings.Join(path, "."), text))
		}
	}
	walk(whole, place{set: func(any) {}}, func(v any, at place) bool {
		if len(at.path) > 0 {
			at.cut()
			cut(at.path, v)
			at.set(v)
		}
		return true
	})
	return idle, nil
}

// habit is a member that may be left out without a change of meaning.
type habit struct {
	from, to string // formats, "" for all, "-" for all but that of the client
	under    string // a member or a kind of object around it, "" for any
	member   string
	value    string // as JSON, "" for any
	why      string
}

var habits = []habit{
	{to: wire.Gemini, member: "model", why: "it stands in the address"},
	{to: wire.Converse, member: "model", why: "it stands in the address"},
	{to: wire.Gemini, member: "stream", why: "it stands in the address"},
	{to: wire.Converse, member: "stream", why: "it stands in the address"},
	{from: wire.Chat, member: "stream_options", value: `{"include_usage":true}`, why: "streams are always asked for what they use"},
	{from: wire.Chat, member: "include_usage", value: `true`, why: "streams are always asked for what they use"},
	{member: "tool_choice", value: `"auto"`, why: "the default"},
	{member: "parallel_tool_calls", value: `true`, why: "the default"},
	{member: "strict", value: `false`, why: "the default of most, and said to those with another"},
	{member: "type", value: `"function"`, why: "the default of servers"},
	{member: "type", value: `"message"`, why: "the default"},
	{from: wire.Responses, member: "status", value: `"completed"`, why: "what is sent back is complete"},
	{to: wire.Gemini, member: "summary", value: `"auto"`, why: "thoughts are asked for anyway"},
	{from: wire.Gemini, member: "role", value: `"user"`, why: "the default"},
	{member: "content", value: `""`, why: "no text"},
	{member: "arguments", value: `"{}"`, why: "none"},
	{from: wire.Responses, member: "execution", value: `"client"`, why: "of a search that has an id: the client does those"},
	{from: wire.Responses, member: "type", value: `"summary_text"`, why: "the only one"},
	{to: wire.Ollama, member: "media_type", why: "the server sees what a picture is"},
	{to: wire.Converse, member: "media_type", value: `"image/png"`, why: "it is said as a format"},
	{member: "annotations", value: `[]`, why: "none"},
	{from: wire.Messages, member: "is_error", value: `false`, why: "the default"},
	{from: wire.Gemini, member: "thinkingBudget", value: `-1`, why: "the default: the model decides"},
	{member: "id", why: "pairs calls and results, which stand in order"},
	{from: wire.Responses, member: "namespace", why: "a name that only one tool has needs none"},
	{from: wire.Gemini, under: "functionResponse", member: "name", why: "of a result: its call has it"},
	{from: wire.Chat, under: kindMark + "tool", member: "name", why: "of a result: its call has it"},
	{to: "-", member: "signature", why: "nobody else can read it"},
	{to: "-", member: "encrypted_content", why: "nobody else can read it"},
	{to: "-", member: "thoughtSignature", why: "nobody else can read it"},
}

// usual reports whether a member states the default.
func usual(from, to string, path []string, value any) bool {
	text, err := json.Marshal(value)
	if err != nil || value == nil {
		return err == nil
	}
	return slices.ContainsFunc(habits, func(h habit) bool {
		return (h.from == "" || h.from == from) && (h.to == "" || h.to == to || h.to == "-" && to != from) &&
			(h.under == "" || slices.Contains(path, h.under)) && h.member == path[len(path)-1] && (h.value == "" || h.value == string(text))
	})
}
