package spec

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// taught are the dialects that no training teaches but a prompt, a program around
// the model or habit. Their words are common ones, so they come last.
var taught = []Dialect{
	{
		Name: "qwen_agent", Title: "✿FUNCTION✿ and ✿ARGS✿", Form: LineCall, NamedCode: true,
		Models:  "Qwen1.5 and Qwen2 with Qwen-Agent",
		Call:    []Pair{{"✿FUNCTION✿:", ""}, {"✿FUNCTION✿：", ""}, {"✿FUNCTION✿", ""}},
		Sep:     []string{"✿ARGS✿:", "✿ARGS✿：", "✿ARGS✿"},
		Drop:    []string{"✿RESULT✿:", "✿RETURN✿:", "✿RESULT✿：", "✿RETURN✿：", "✿RESULT✿", "✿RETURN✿"},
		Write:   Writing{Think: thinkLines, Lead: "\n", Call: "✿FUNCTION✿: $name\n✿ARGS✿: $args\n", Close: "✿RESULT✿:"},
		Results: Results{Role: llm.RoleUser, Each: "✿RESULT✿: $text", Sep: "\n", Stop: []string{"✿RESULT✿", "✿RETURN✿"}},
		Tells:   []Tell{{All: []string{"✿FUNCTION✿"}}},
	},
	{
		Name: "react", Title: "Action: and Action Input:", Form: LineCall, PlainArgs: true,
		Models: "instruct models before 2024, Yi, Baichuan, Qwen 1",
		Call:   []Pair{{"Action:", ""}},
		Sep:    []string{"Action Input:"},
		Think:  []Pair{{"Thought:", ""}}, Bare: true,
		Write: Writing{Think: Pair{"Thought: ", "\n"}, Lead: "\n", Call: "Action: $name\nAction Input: $args", Sep: "\n"},
		Results: Results{
			Role: llm.RoleUser, Each: "Observation: $text", Sep: "\n", Guard: []string{"Observation:"},
			Stop: []string{"Observation:"},
		},
		Tells: []Tell{{Order: 16, All: []string{"Action Input:"}}},
	},
	{
		Name: "labelled", Title: "Calling tool: and Arguments:", Form: LineCall,
		Models: "instruct models that were never taught to call",
		Call: openLabels(
			"Calling tool", "Calling function", "Calling", "Tool call", "Function call", "Tool", "Function", "Tool name",
			"Function name", "Using tool", "Name", "Call", "工具", "函数", "工具名称", "函数名称", "调用工具", "调用函数",
		),
		Sep: labels(
			"Arguments", "Parameters", "Args", "Input", "Params", "Tool input", "Tool args", "Tool arguments", "Tool parameters",
			"Function arguments", "Function parameters", "With arguments", "参数", "输入",
		),
		Bare:    true,
		Write:   Writing{Think: thinkLines, Lead: "\n", Call: "Calling tool: $name\nArguments: $args", Sep: "\n"},
		Results: Results{Role: llm.RoleUser, Each: "Result: $text", Sep: "\n", Guard: []string{"Result:"}},
		Tells:   []Tell{{Order: 19, All: []string{"Calling tool:", "Arguments:"}}},
	},
	{
		Name: "continue", Title: "TOOL_NAME: and BEGIN_ARG: lines", Form: LineCall,
		Models: "models in Continue without native tools",
		Wrap:   []Pair{{"```tool", "```"}},
		Call:   []Pair{{"TOOL_NAME:", ""}, {"tool_name:", ""}},
		Tags:   Tags{Param: Pair{"BEGIN_ARG: %s\n", "END_ARG"}},
		Bare:   true, Text: OneLine,
		Write: Writing{
			Think: thinkLines, Lead: "\n", Call: "```tool\nTOOL_NAME: $name\n$args```", Sep: "\n", Body: ParamsBody,
			Param: "BEGIN_ARG: $key\n$value\nEND_ARG\n",
		},
		Tells: []Tell{{Order: 19, All: []string{"TOOL_NAME:", "BEGIN_ARG:"}}},
	},
	{
		Name: "langchain_xml", Title: "<tool> and <tool_input>", Form: NameJSON, PlainArgs: true,
		Models: "models behind LangChain's XML agent",
		Call:   []Pair{{"<tool>", "</tool_input>"}},
		Sep:    []string{"</tool><tool_input>", "</tool>\n<tool_input>", "</tool> <tool_input>", "</tool>\n\n<tool_input>"},
		Bare:   true,
		Drop:   []string{"<final_answer>", "</final_answer>"},
		Write:  Writing{Think: thinkLines, Lead: "\n", Call: "<tool>$name</tool><tool_input>$args</tool_input>", Sep: "\n"},
		Results: Results{
			Role: llm.RoleUser, Each: "<observation>$text</observation>", Sep: "\n", Stop: []string{"<observation>"},
		},
		Tells: []Tell{{Order: 7, All: []string{"<tool>", "<tool_input>"}}},
	},
	{
		Name: "functions_xml", Title: "<function> in <functions>, as the Berkeley leaderboard asks for", Form: TagCall,
		Models: "models that are asked for XML",
		Wrap:   []Pair{{"<functions>", "</functions>"}},
		Tags: Tags{
			Call: Pair{`<function name="%s">`, "</function>"}, Param: Pair{`<param name="%s" type="%s">`, "</param>"},
		},
		Text: Trimmed,
		Write: Writing{
			Think: thinkLines, Lead: "\n", Open: "<functions>", Call: `<function name="$name">$args</function>`, Close: "</functions>",
			Body: ParamsBody, Param: `<param name="$key" type="$type">$value</param>`, CData: true,
		},
		Tells: []Tell{{Order: 2, All: []string{"<functions>", "<param name="}}},
	},
	{
		Name: "claude_xml", Title: "<invoke> in <function_calls>", Form: TagCall,
		Models: "Claude 2 prompts and models that imitate them",
		Wrap:   []Pair{{"<function_calls>", "</function_calls>"}, {"<tool_use>", "</tool_use>"}, {"<use_mcp_tool>", "</use_mcp_tool>"}},
		Tags: Tags{
			Call: Pair{`<invoke name="%s">`, "</invoke>"}, Param: Pair{`<parameter name="%s">`, "</parameter>"},
			Spaces: []string{"antml"},
		},
		Think: []Pair{thought, {"<scratchpad>", "</scratchpad>"}},
		Write: Writing{
			Think: oldThink, Lead: "\n", Open: "<function_calls>\n", Call: "<invoke name=\"$name\">\n$args</invoke>\n",
			Close: "</function_calls>", Body: ParamsBody, Param: "<parameter name=\"$key\">$value</parameter>\n",
		},
		Results: Results{
			Role: llm.RoleUser, Open: "<function_results>\n",
			Each: "<result>\n<tool_name>$name</tool_name>\n<stdout>\n$text\n</stdout>\n</result>\n", Close: "</function_results>",
			Stop: []string{"<function_results>"},
		},
		Tells: []Tell{{Order: 7, All: []string{"<function_calls>", "<invoke"}}},
	},
	{
		Name: "xml_tagname", Title: "the tool's name as an element", Form: TagCall,
		Models: "Cline, Roo Code, morph; emulation",
		Tags:   Tags{Call: Pair{"<%s>", "</%s>"}, Param: Pair{"<%s>", "</%s>"}},
		Think:  []Pair{thought}, Bare: true, Text: Trimmed,
		Write: Writing{
			Think: oldThink, Lead: "\n", Call: "<$name>\n$args</$name>", Sep: "\n", Body: ParamsBody, Param: "<$key>$value</$key>\n",
			Node: "<$key>\n$value</$key>\n", Item: "=", Entities: true, OwnLines: true,
		},
	},
	{
		Name: "yaml_tagname", Title: "YAML in an element named after the tool", Form: TagCall,
		Models: "models whose prompt asks for YAML",
		Tags:   Tags{Call: Pair{"<%s>", "</%s>"}},
		Think:  []Pair{thought}, Bare: true,
		Write: Writing{Think: oldThink, Lead: "\n", Call: "<$name>\n$args</$name>", Sep: "\n", Body: YAMLBody},
	},
	{
		Name: "json_fence", Title: "a fenced JSON object", Form: JSONCall,
		Models:  "any model that was told to",
		Wrap:    []Pair{{"```json", "```"}, {"```", "```"}},
		NameKey: "tool", ArgsKey: "arguments", Bare: true,
		Write: Writing{Think: thinkLines, Lead: "\n", Call: "```json\n{\"tool\": \"$name\", \"arguments\": $args}\n```", Sep: "\n\n"},
	},
	{
		Name: "envelope", Title: "one JSON object as the whole answer", Form: JSONCall,
		Models:  "any model whose host holds it to a schema",
		NameKey: "toolName", ArgsKey: "input", Bare: true,
		Write: Writing{
			Think: thinkLines, Whole: true, Text: Pair{`{"type":"text","text":`, "}"}, Open: `{"type":"tool-calls","calls":[`,
			Call: `{"toolName":"$name","input":$args}`, Sep: ",", Close: "]}", Tight: true,
		},
	},
}

// labels returns words as models write them before a colon: unchanged, with
// each word in capitals, in capitals throughout and, if there are several, in
// small letters and as an identifier. Words that are not ASCII also come before
// the wide colon.
func labels(words ...string) (list []string) {
	add := func(s string) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, word := range words {
		if word[0] >= utf8.RuneSelf {
			add(word + "：")
			add(word + ":")
			continue
		}
		add(word + ":")
		titled := strings.Fields(word)
		for i, w := range titled {
			titled[i] = strings.ToUpper(w[:1]) + w[1:]
		}
		add(strings.Join(titled, " ") + ":")
		add(strings.ToUpper(word) + ":")
		if len(titled) > 1 { // one word in small letters is a key of data
			add(strings.ToLower(word) + ":")
			add(strings.ReplaceAll(strings.ToLower(word), " ", "_") + ":")
			add(strings.ReplaceAll(strings.ToUpper(word), " ", "_") + ":")
		}
	}
	return list
}

// openLabels returns labels that nothing closes.
func openLabels(words ...string) (list []Pair) {
	for _, label := range labels(words...) {
		list = append(list, Pair{Open: label})
	}
	return list
}
