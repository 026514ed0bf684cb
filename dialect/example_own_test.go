package dialect_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// A program adds a dialect of its own: a value, read and written like any
// other.
func ExampleList_With() {
	list, err := dialect.Builtin().With(spec.Dialect{
		Name: "acme", Form: spec.JSONCall,
		Call:    []spec.Pair{{Open: "<acme:run>", Close: "</acme:run>"}},
		NameKey: "function", ArgsKey: "args",
		Write:   spec.Writing{Call: `<acme:run>{"function": "$name", "args": $args}</acme:run>`},
		Results: spec.Results{Role: llm.RoleUser, Each: "<acme:result>$text</acme:result>"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := list.Render("acme", llm.Text{Text: "Let me look. "}, llm.Call{Name: "find_room", Args: json.RawMessage(`{"town":"Siena"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(text)
	p := dialect.Parser{Dialects: list, Tools: []llm.ToolDef{{Name: "find_room"}}}
	for ev, err := range p.Parse(dialect.Cut(text, 5)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if call, ok := ev.(llm.Call); ok {
			fmt.Println(call.Name, string(call.Args), "in", call.Provenance.Dialect)
		}
	}
	// Output:
	// Let me look. <acme:run>{"function": "find_room", "args": {"town": "Siena"}}</acme:run>
	// find_room {"town": "Siena"} in acme
}
