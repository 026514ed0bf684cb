package values

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/internal/jsonfix"
)

// KeyRole is the meaning of a key in a JSON call.
type KeyRole uint8

const (
	OtherKey KeyRole = iota
	NameRole         // the name of the tool
	ArgsRole         // its arguments
	IdRole           // the id of the call
	BothRole         // the name, or an object that holds name and arguments
	ListRole         // a list of calls
)

// Keys are the keys of calls that models have been seen to write. They apply to every dialect, because models mix them.
var Keys = map[string]KeyRole{
	"name": NameRole, "tool_name": NameRole, "toolName": NameRole, "function_name": NameRole,
	"functionName": NameRole, "recipient_name": NameRole, "api_name": NameRole, "func_name": NameRole,
	"tool": BothRole, "function": BothRole, "function_call": BothRole, "tool_call": BothRole, "tool_use": BothRole,
	"functionCall": BothRole, "toolCall": BothRole, "toolUse": BothRole, "action": BothRole,
	"arguments": ArgsRole, "parameters": ArgsRole, "args": ArgsRole, "input": ArgsRole, "params": ArgsRole,
	"tool_input": ArgsRole, "action_input": ArgsRole, "kwargs": ArgsRole, "toolInput": ArgsRole, "actionInput": ArgsRole,
	"tool_args": ArgsRole, "tool_arguments": ArgsRole, "tool_parameters": ArgsRole,
	"api_args": ArgsRole, "api_arguments": ArgsRole, "api_parameters": ArgsRole, "func_args": ArgsRole,
	"function_args": ArgsRole, "function_arguments": ArgsRole, "function_parameters": ArgsRole,
	"id": IdRole, "tool_call_id": IdRole, "call_id": IdRole,
	"tool_calls": ListRole, "calls": ListRole, "tool_uses": ListRole, "toolCalls": ListRole, "function_calls": ListRole, "actions": ListRole,
}

// AsideKeys are keys next to a call for thinking or text to the user. The value is true for thinking. Objects may begin
// with such a key.
var AsideKeys = map[string]bool{
	"thought": true, "thoughts": true, "thinking": true, "reasoning": true, "content": false,
}

// ResultKeys are keys next to a call for its result. An object with such a key reports a call that was already made.
var ResultKeys = map[string]bool{
	"result": true, "results": true, "tool_result": true, "observation": true, "return_value": true, "output": true, "outputs": true,
	"response": true, "returned": true, "tool_output": true, "tool_response": true,
}

// KindOfCall returns the value of a call's "type" if it may be the name of a tool, and "" if it is a common API type.
func KindOfCall(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	switch s {
	case "function", "function_call", "tool_call", "tool_use", "tool", "object", "text", "call":
		return ""
	}
	return s
}

// InnerArgs returns the arguments inside an object whose only key is a key for arguments, or inside a schema that has
// values in place of schemas. It returns nil if there are none. If named is set, the name of the tool may be next to
// them.
func InnerArgs(raw json.RawMessage, named bool) json.RawMessage {
	var outer map[string]json.RawMessage
	if json.Unmarshal(raw, &outer) != nil {
		return nil
	}
	if named {
		delete(outer, "name")
	}
	inner, described := outer["properties"]
	for key, v := range outer {
		switch {
		case key == "type" || key == "required" || key == "additionalProperties" || key == "$schema":
		case key != "properties" && (described || len(outer) > 1):
			return nil
		case key != "properties":
			inner = v
		}
	}
	if len(inner) == 0 || inner[0] != '{' || described && HoldsSchemas(inner) {
		return nil
	}
	return inner
}

// HoldsSchemas reports whether all members of an object are schemas. It is true for an empty object.
func HoldsSchemas(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	for _, v := range members {
		if string(v) != "{}" && !IsSchema(v) {
			return false
		}
	}
	return true
}

// IsSchema reports whether a value is a JSON Schema with at least one common keyword.
func IsSchema(v json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(v, &s) != nil {
		return false
	}
	for _, key := range [...]string{"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "description"} {
		if s[key] != nil {
			return true
		}
	}
	return false
}

// NameInJSON returns the name in the incomplete JSON of a call or a list of calls. It reports false if rest is not the
// beginning of JSON, or is complete.
func NameInJSON(rest []byte) (name string, ok bool) {
	var r jsonfix.Reader
	r.FeedBytes(rest)
	if r.Done() || r.Err() != nil {
		return "", false
	}
	var v any
	if r.Close() == nil && json.Unmarshal(r.Value(), &v) == nil {
		name = nameIn(v)
	}
	return name, true
}

// nameIn returns the name of the last call in a JSON value.
func nameIn(v any) string {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			return nameIn(v[len(v)-1])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			value := v[k]
			if s, ok := value.(string); ok && (Keys[k] == NameRole || Keys[k] == BothRole) {
				return s
			}
			if Keys[k] == ListRole || Keys[k] == BothRole {
				return nameIn(value)
			}
		}
	}
	return ""
}

// ListedArguments returns the arguments object that a list in its place means, and the rule of the repair. The object
// is the only item of the list, or has a member for each item like {"name": "city", "value": "Rome"}. It is nil for
// other lists.
func ListedArguments(v json.RawMessage) (args json.RawMessage, rule string) {
	var items []map[string]json.RawMessage
	if len(v) == 0 || v[0] != '[' || json.Unmarshal(v, &items) != nil || len(items) == 0 {
		return nil, ""
	}
	out := []byte{'{'}
	for i, item := range items {
		var key string
		name := item["name"]
		if name == nil {
			name = item["key"]
		}
		if len(item) != 2 || item["value"] == nil || json.Unmarshal(name, &key) != nil {
			if len(items) > 1 {
				return nil, ""
			}
			return bytes.Trim(v[1:len(v)-1], " \t\r\n,"), "list-of-arguments"
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, chars.QuoteJSON(key)...), ':'), item["value"]...)
	}
	return append(out, '}'), "member-per-item"
}
