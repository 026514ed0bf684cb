package losses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/wire"
)

// Large returns a request of the same shape with at least the given numbers of tools and bytes, as coding agents send
// them: more tools, with schemas of all kinds, and more words in the instructions, the messages and the descriptions.
// All texts that it adds differ; a lost text is therefore noticed.
func Large(format string, body []byte, tools, size int) ([]byte, error) {
	v, err := parse(body)
	if err != nil {
		return nil, err
	}
	request, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the request is no object")
	}
	if err := addTools(format, request, tools); err != nil {
		return nil, err
	}
	out, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	n := 0
	places := texts(request, false, nil)
	for more := size - len(out); more > 0 && len(places) > 0; {
		for _, add := range places {
			n++
			line := sentence(n)
			add(line)
			if more -= len(line); more <= 0 {
				break
			}
		}
	}
	return json.Marshal(request)
}

// sentence returns the n-th of any number of different sentences.
func sentence(n int) string {
	return fmt.Sprintf("\nRule %d: look at \"%s\" before you change %s, and say in <b>one</b> line why – not how; step %d follows.",
		n, subjects[n%len(subjects)], subjects[(n/7)%len(subjects)], n+1)
}

var subjects = []string{"the tests", "the folder", "what the user wrote", "the history", "a plan", "the notes of the project", "the last result", "C:\\temp\\a.txt"}

// texts returns a function per text of a request that adds words to the text. It returns the texts written by people or
// programs, but not those of a model, because those are signed.
func texts(v any, model bool, path []string) []func(string) {
	var list []func(string)
	switch v := v.(type) {
	case map[string]any:
		role, _ := v["role"].(string)
		model = model || role == "assistant" || role == "model" || v["type"] == "reasoning"
		for _, key := range sorted(v) {
			_, ok := v[key].(string)
			if ok && !model && slices.Contains([]string{"text", "content", "instructions", "description"}, key) && !slices.Contains(path, "properties") {
				list = append(list, func(more string) { v[key] = v[key].(string) + more })
			} else if !ok {
				list = append(list, texts(v[key], model, append(slices.Clone(path), key))...)
			}
		}
	case []any:
		for _, el := range v {
			list = append(list, texts(el, model, path)...)
		}
	}
	return list
}

// schemas are parameters of tools, with the keywords that agents and servers use.
var schemas = []string{
	`{"type":"object","properties":{"path":{"type":"string","description":"An absolute path."},"limit":{"type":"integer","minimum":1,"maximum":2000,"default":200},"offset":{"type":"integer","exclusiveMinimum":0}},"required":["path"],"additionalProperties":false}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"todos":{"type":"array","minItems":1,"items":{"type":"object","properties":{"content":{"type":"string","minLength":1},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"],"additionalProperties":false}}},"required":["todos"]}`,
	`{"type":"object","properties":{"target":{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}]},"mode":{"const":"safe"}},"required":["target"]}`,
	`{"type":"object","properties":{"filter":{"$ref":"#/$defs/filter"},"since":{"type":"string","format":"date-time"}},"$defs":{"filter":{"type":"object","title":"Filter","properties":{"field":{"type":"string"},"value":{"type":["string","number","null"]}},"required":["field"]}}}`,
	`{"type":"object","properties":{"pages":{"oneOf":[{"type":"string","enum":["all","none"]},{"type":"string","pattern":"^[0-9]+(-[0-9]+)?$","maxLength":20}]},"labels":{"type":"object","additionalProperties":{"type":"string"}}},"required":[]}`,
	`{"type":"object","properties":{}}`,
}

var (
	verbs = []string{"find", "read", "create", "update", "close", "list", "watch"}
	nouns = []string{"tickets", "pages", "branches", "builds", "notes", "mails"}
)

// definition is how a tool is defined in a format.
type definition struct {
	format string
	write  func(n int, name, about string, schema any) any
}

// definitions write the definition of a tool in each format.
var definitions = []definition{
	{wire.Messages, func(n int, name, about string, schema any) any {
		return map[string]any{"name": name, "description": about, "input_schema": schema, "defer_loading": n%2 == 0}
	}},
	{wire.Chat, func(_ int, name, about string, schema any) any {
		return map[string]any{"type": "function", "function": map[string]any{"name": name, "description": about, "parameters": schema}}
	}},
	{wire.Responses, func(_ int, name, about string, schema any) any {
		return map[string]any{"type": "function", "name": name, "description": about, "strict": false, "parameters": schema}
	}},
	{wire.Gemini, func(_ int, name, about string, schema any) any {
		return map[string]any{"name": name, "description": about, "parametersJsonSchema": schema}
	}},
}

// addTools adds tools until there are so many.
func addTools(format string, request map[string]any, want int) error {
	row := slices.IndexFunc(definitions, func(d definition) bool { return d.format == format })
	if row < 0 {
		return fmt.Errorf("no tools can be added in the format %s", format)
	}
	for n := count(request["tools"]); n < want; n++ {
		name := fmt.Sprintf("mcp__%s__%s_%d", nouns[n%len(nouns)], verbs[n%len(verbs)], n)
		about := fmt.Sprintf("Tool %d: can %s %s of the project.", n, verbs[n%len(verbs)], nouns[n%len(nouns)])
		schema, err := parse([]byte(schemas[n%len(schemas)]))
		if err != nil {
			return err
		}
		holder, key := request, "tools"
		if list, _ := request[key].([]any); len(list) > 0 {
			if group, ok := list[0].(map[string]any); ok && group["functionDeclarations"] != nil {
				holder, key = group, "functionDeclarations"
			}
		}
		list, _ := holder[key].([]any)
		holder[key] = append(list, definitions[row].write(n, name, about, schema))
	}
	return nil
}

// count counts the tools of a request.
func count(v any) int {
	n := 0
	list, _ := v.([]any)
	for _, el := range list {
		object, _ := el.(map[string]any)
		if declared, ok := object["functionDeclarations"].([]any); ok {
			n += len(declared)
		} else {
			n++
		}
	}
	return n
}

// Size reads how large the requests of a program are from the comment of a shape: "size: 12 tools, 46000 bytes".
func Size(comment []byte) (tools, size int, err error) {
	for line := range strings.Lines(string(comment)) {
		if n, _ := fmt.Sscanf(line, "size: %d tools, %d bytes", &tools, &size); n == 2 {
			return tools, size, nil
		}
	}
	return 0, 0, fmt.Errorf("the comment does not say how large a request is")
}
