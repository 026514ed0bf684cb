package main

import (
	"fmt"
	"strings"
)

// The size of a request of a coding agent in the middle of its work: about 100 kB.
const (
	largeTools = 40
	largeTurns = 30
)

// largeBody returns such a request, as fmt's format of the model and of whether a stream is wanted: many tools, and many turns
// in each of which the model has called one.
func largeBody(messages bool) string {
	var b strings.Builder
	system := strings.Repeat(`You are careful with \"files\".\n`, 200)
	if messages {
		fmt.Fprintf(&b, `{"model":"%%s","stream":%%t,"max_tokens":1024,"system":"%s","messages":[`, system)
	} else {
		fmt.Fprintf(&b, `{"model":"%%s","stream":%%t,"messages":[{"role":"system","content":"%s"}`, system)
	}
	turn := `,{"role":"user","content":%[2]q},{"role":"assistant","content":null,"tool_calls":[{"id":"call_%[1]d","type":"function","function":{"name":"tool_%[1]d","arguments":"{\"path\":\"src/%[1]d.go\"}"}}]},{"role":"tool","tool_call_id":"call_%[1]d","content":%[3]q}`
	if messages {
		turn = `,{"role":"user","content":%[2]q},{"role":"assistant","content":[{"type":"tool_use","id":"call_%[1]d","name":"tool_%[1]d","input":{"path":"src/%[1]d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%[1]d","content":%[3]q}]}`
	}
	said, read := strings.Repeat("Look at this file and say what is in it. ", 10), strings.Repeat("package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n", 15)
	var turns strings.Builder
	for i := range largeTurns {
		fmt.Fprintf(&turns, turn, i, said, read)
	}
	if messages {
		b.WriteString(turns.String()[1:])
	} else {
		b.WriteString(turns.String())
	}
	b.WriteString(`],"tools":[` + largeTool(messages, "get_weather"))
	for i := range largeTools {
		b.WriteString("," + largeTool(messages, fmt.Sprintf("tool_%d", i)))
	}
	return b.String() + "]}"
}

// largeTool returns one of its tools.
func largeTool(messages bool, name string) string {
	description := strings.Repeat("Does something with a file. ", 15)
	var members []string
	for i := range 6 {
		members = append(members, fmt.Sprintf(`"path_%d":{"type":"string","description":"The path of a file that the tool uses."}`, i))
	}
	parameters := `{"type":"object","properties":{` + strings.Join(members, ",") + `},"required":["path_0"]}`
	if messages {
		return fmt.Sprintf(`{"name":%q,"description":%q,"input_schema":%s}`, name, description, parameters)
	}
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":%s}}`, name, description, parameters)
}
