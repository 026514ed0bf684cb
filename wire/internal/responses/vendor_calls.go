package responses

import (
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// vendorCall describes an item that calls a tool of the vendor: the tool, and the members with arguments and result. A
// tool and its calls have the same name here, whatever their types are called. Offered, allowed and forced tools are
// compared with calls by that name.
type vendorCall struct {
	tool   string   // what the tool is called here, and its calls unless they are named
	types  []string // the types of the tool, in all versions; the first is asked for where the caller names none
	named  bool     // the item names the called tool, as for an MCP server
	client bool     // the client runs it
	args   string   // the member that is the arguments
	wrap   bool     // the arguments are an object with that member
	list   string   // the member that is in the place of args where there are several; the arguments are an object with it
	result string   // the member that is the result
}

// vendorCalls are the items, by their types.
var vendorCalls = map[string]vendorCall{
	"web_search_call": {tool: llm.WebSearch, args: "action",
		types: []string{"web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"}},
	"file_search_call":      {tool: "file_search", types: []string{"file_search"}, args: "queries", wrap: true, result: "results"},
	"code_interpreter_call": {tool: "code_execution", types: []string{"code_interpreter"}, args: "code", wrap: true, result: "outputs"},
	"image_generation_call": {tool: "image_generation", types: []string{"image_generation"}, args: "revised_prompt", wrap: true, result: "result"},
	"mcp_call":              {tool: "mcp", types: []string{"mcp"}, named: true, args: "arguments", result: "output"},
	"mcp_approval_request":  {tool: "mcp", named: true, args: "arguments"}, // a call that the vendor runs once it is approved
	loss.SearchCall:         {tool: llm.ToolSearch, types: []string{"tool_search"}, client: true, args: "arguments"},
	"computer_call":         {tool: "computer", types: []string{"computer", "computer_use_preview"}, client: true, args: "action", list: "actions"},
	"local_shell_call":      {tool: "local_shell", types: []string{"local_shell"}, client: true, args: "action"},
	"shell_call":            {tool: "shell", types: []string{"shell"}, client: true, args: "action"},
	"apply_patch_call":      {tool: "apply_patch", types: []string{"apply_patch"}, client: true, args: "operation"},
}

// hostedTypes maps the types of the vendor's tools to our names: those above, and tools without an item for their
// calls. hosted is the default type for each name.
var hostedTypes, hosted = vendorTypes()

func vendorTypes() (names, types map[string]string) {
	names = map[string]string{"namespace": "namespace", "programmatic_tool_calling": "programmatic_tool_calling"}
	types = make(map[string]string)
	for _, c := range vendorCalls {
		for i, typ := range c.types {
			names[typ] = c.tool
			if i == 0 {
				types[c.tool] = typ
			}
		}
	}
	return names, types
}
