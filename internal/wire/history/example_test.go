package history_test

import (
	"fmt"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
)

// Names that a target does not accept get an alias, and come back.
func ExampleRules_Apply() {
	var names catalog.Limit
	err := names.UnmarshalText([]byte("[a-zA-Z0-9_-]{1,64}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llm.Request{Tools: []llm.ToolDef{{Name: "calendar.create"}}}
	out, back := history.Rules{Name: names}.Apply(req)
	fmt.Println(out.Tools[0].Name, back.Name(out.Tools[0].Name))
	// Output: calendar_create calendar.create
}
