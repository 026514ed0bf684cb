package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Rules about messages look at them as they were sent: a decoded request no longer shows the number of system messages,
// empty content or the roles of results.

// sentMessage is a message of a request of the chat, messages or converse format.
type sentMessage struct {
	raw     []byte
	role    string
	content []byte
}

// sent returns the messages of the request.
func (q *inquiry) sent() []sentMessage {
	var out []sentMessage
	for m := range js.Elements(js.Get(q.body, "messages")) {
		out = append(out, sentMessage{m, js.Text(js.Get(m, "role")), js.Get(m, "content")})
	}
	return out
}

// calls returns the calls of a message of the chat format.
func (m sentMessage) calls() [][]byte {
	return slices.Collect(js.Elements(js.Get(m.raw, "tool_calls")))
}

// parts returns the parts of the content, if it is a list.
func (m sentMessage) parts() [][]byte {
	if js.Kind(m.content) != '[' {
		return nil
	}
	return slices.Collect(js.Elements(m.content))
}

// empty reports whether a message has no content: null, "", [], or parts without text.
func (m sentMessage) empty() bool {
	switch js.Kind(m.content) {
	case '"':
		return js.Text(m.content) == ""
	case '[':
		for _, p := range m.parts() {
			if !js.Is(js.Get(p, "type"), "text") || js.Text(js.Get(p, "text")) != "" {
				return false
			}
		}
		return true
	}
	return true
}

// has reports whether a list of words, separated by spaces, has a word.
func has(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// fillIn replaces the placeholders of words: pairs of a placeholder and its value.
func fillIn(words string, pairs ...any) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		words = strings.ReplaceAll(words, pairs[i].(string), fmt.Sprint(pairs[i+1]))
	}
	return words
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// roles finds a message of another role than those listed.
func roles(list, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			if !has(list, m.role) {
				return fillIn(words, "{at}", i, "{role}", m.role)
			}
		}
		return ""
	}
}

// systemFirst finds a system message after the first message.
func systemFirst(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			if i > 0 && m.role == "system" {
				return words
			}
		}
		return ""
	}
}

// missing refuses a conversation without a message of a role.
func missing(role, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		if slices.ContainsFunc(q.sent(), func(m sentMessage) bool { return m.role == role }) {
			return ""
		}
		return words
	}
}

// alternate finds two turns of one side. Messages of the roles in skip do not count, nor do calls if tool is one of them.
func alternate(skip, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		next := "user"
		for _, m := range q.sent() {
			if has(skip, m.role) || has(skip, "tool") && len(m.calls()) > 0 {
				continue
			}
			if m.role != next {
				return words
			}
			next = map[string]string{"user": "assistant", "assistant": "user"}[m.role]
		}
		return ""
	}
}

// repeats finds two messages of one role in a row.
func repeats(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		before := ""
		for _, m := range q.sent() {
			if m.role == before {
				return words
			}
			before = m.role
		}
		return ""
	}
}

// order finds a message whose role may not follow the role before it.
func order(after map[string]string, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		before := ""
		for _, m := range q.sent() {
			if before != "" && !has(after[before], m.role) {
				return fillIn(words, "{role}", m.role, "{before}", before)
			}
			before = m.role
		}
		return ""
	}
}

// lastRole refuses another role of the last message, unless it is a prefix of the answer.
func lastRole(list, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		all := q.sent()
		if len(all) < 2 {
			return ""
		}
		if last := all[len(all)-1]; !has(list, last.role) && js.Kind(js.Get(last.raw, "prefix")) != 't' {
			return fillIn(words, "{role}", last.role)
		}
		return ""
	}
}

// silent finds a message of the assistant without content and calls.
func silent(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			if m.role == "assistant" && m.empty() && len(m.calls()) == 0 && js.Get(m.raw, "audio") == nil && js.Text(js.Get(m.raw, "refusal")) == "" {
				return fillIn(words, "{at}", i)
			}
		}
		return ""
	}
}

// noContent finds a message whose content is missing, null or an empty list.
func noContent(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for _, m := range q.sent() {
			if js.Kind(m.content) != '"' && len(m.parts()) == 0 {
				return words
			}
		}
		return ""
	}
}

// callIDs finds the id of a call or result with other characters, or of another length.
func callIDs(least, most int, chars, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for _, m := range q.sent() {
			var ids []string
			for _, c := range m.calls() {
				ids = append(ids, js.Text(js.Get(c, "id")))
			}
			if m.role == "tool" {
				ids = append(ids, js.Text(js.Get(m.raw, "tool_call_id")))
			}
			for _, id := range ids {
				if len(id) < least || len(id) > most || strings.Trim(id, chars) != "" {
					return fillIn(words, "{id}", id)
				}
			}
		}
		return ""
	}
}

// oneCall finds a message with several calls.
func oneCall(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		if slices.ContainsFunc(q.sent(), func(m sentMessage) bool { return len(m.calls()) > 1 }) {
			return words
		}
		return ""
	}
}

// callsWith finds a message with calls that lacks a member.
func callsWith(member, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			if len(m.calls()) > 0 && js.Get(m.raw, member) == nil {
				return fillIn(words, "{at}", i)
			}
		}
		return ""
	}
}

// contentTypes finds a part of another type in messages of a role; an empty role means all.
func contentTypes(role, list, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			if role != "" && m.role != role {
				continue
			}
			for _, p := range m.parts() {
				if kind := js.Text(js.Get(p, "type")); !has(list, kind) {
					return fillIn(words, "{at}", i, "{kind}", kind)
				}
			}
		}
		return ""
	}
}

// imageRoles finds an image in a message of another role.
func imageRoles(list, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			for _, p := range m.parts() {
				if js.Is(js.Get(p, "type"), "image_url") && !has(list, m.role) {
					return fillIn(words, "{at}", i, "{role}", m.role)
				}
			}
		}
		return ""
	}
}

// imageLimit refuses more images in a request.
func imageLimit(most int, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		n := 0
		for _, m := range q.sent() {
			for _, p := range m.parts() {
				if js.Is(js.Get(p, "type"), "image_url") {
					n++
				}
			}
		}
		if n > most {
			return words
		}
		return ""
	}
}

// mediaIn finds an image of another type.
func mediaIn(types []string, words string) func(*inquiry) string {
	return mediaTypes(func(m llm.Media, _, _ int) string {
		if m.Kind == llm.Image && !slices.Contains(types, m.MIME) {
			return words
		}
		return ""
	})
}

// members finds an unknown member of the request, or of a message of a role. An empty list knows all.
func members(top string, ofRole map[string]string, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for key := range js.Members(q.body) {
			if top != "" && !has(top, string(key)) {
				return fillIn(words, "{path}", string(key), "{name}", string(key))
			}
		}
		if ofRole == nil {
			return ""
		}
		for i, m := range q.sent() {
			known, there := ofRole[m.role]
			for key := range js.Members(m.raw) {
				if there && !has(known, string(key)) {
					return fillIn(words, "{path}", `messages",`+strconv.Itoa(i)+`,"`+m.role+`","`+string(key), "{at}", i, "{role}", m.role, "{name}", string(key))
				}
			}
		}
		return ""
	}
}

// blocksPerMessage refuses more blocks of a kind in one message.
func blocksPerMessage(kind string, most int, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for _, m := range q.sent() {
			n := 0
			for _, p := range m.parts() {
				if js.Get(p, kind) != nil {
					n++
				}
			}
			if n > most {
				return fillIn(words, "{number}", n)
			}
		}
		return ""
	}
}

// noFailureContent finds a failed result of the converse format without content.
func noFailureContent(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.sent() {
			for k, p := range m.parts() {
				r := js.Get(p, "toolResult")
				if js.Is(js.Get(r, "status"), "error") && len(slices.Collect(js.Elements(js.Get(r, "content")))) == 0 {
					return fillIn(words, "{at}", i, "{number}", k)
				}
			}
		}
		return ""
	}
}

// trailingSpace finds white space at the end of an answer that the model is to continue.
func trailingSpace(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		all := q.sent()
		if len(all) == 0 || all[len(all)-1].role != "assistant" {
			return ""
		}
		text := all[len(all)-1].content
		if parts := all[len(all)-1].parts(); len(parts) > 0 {
			text = js.Get(parts[len(parts)-1], "text")
		}
		if said := js.Text(text); said != strings.TrimRight(said, " \t\r\n") {
			return words
		}
		return ""
	}
}

// objectArguments finds a call whose arguments are not an object.
func objectArguments(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for _, m := range q.sent() {
			for _, c := range m.calls() {
				if args := js.Get(js.Get(c, "function"), "arguments"); args != nil && js.Kind(args) != '{' {
					return words
				}
			}
		}
		return ""
	}
}

// openAPI finds a keyword of JSON Schema in a schema of Gemini's older kind.
func (q *inquiry) openAPI() string {
	const known = "type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
	n := 0
	for tool := range js.Elements(js.Get(q.body, "tools")) {
		for _, list := range []string{"functionDeclarations", "function_declarations"} {
			for f := range js.Elements(js.Get(tool, list)) {
				if name := unknownKeyword(js.Get(f, "parameters"), known, 0); name != "" {
					return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at 'tools[0].function_declarations[%d].parameters': Cannot find field.", name, n)
				}
				n++
			}
		}
	}
	return ""
}

// unknownKeyword returns a keyword of a schema that is not in a list.
func unknownKeyword(schema []byte, known string, depth int) string {
	const deepest = 64
	if js.Kind(schema) != '{' || depth > deepest {
		return ""
	}
	for key, v := range js.Members(schema) {
		if !has(known, string(key)) {
			return string(key)
		}
		var inner [][]byte
		switch {
		case string(key) == "items":
			inner = append(inner, v)
		case string(key) == "anyOf":
			inner = slices.Collect(js.Elements(v))
		case string(key) == "properties":
			for _, p := range js.Members(v) {
				inner = append(inner, bytes.Clone(p))
			}
		}
		for _, s := range inner {
			if name := unknownKeyword(s, known, depth+1); name != "" {
				return name
			}
		}
	}
	return ""
}
