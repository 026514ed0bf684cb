package spec

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// The delimiters of thinking, the calls and the results that several dialects
// share.
var (
	think   = Pair{"<think>", "</think>"}
	thought = Pair{"<thinking>", "</thinking>"}

	thinkTags  = Pair{"<think>", "</think>"}
	thinkLines = Pair{"<think>\n", "\n</think>\n\n"}
	oldThink   = Pair{"<thinking>", "</thinking>\n"}

	toolResponse = Results{
		Role: llm.RoleUser, Each: "<tool_response>\n$text\n</tool_response>", Sep: "\n", Stop: []string{"<tool_response>"},
	}
	// bareResult is the plain text of a result: only the role of the message
	// shows that it is one.
	bareResult = Results{Role: llm.RoleTool, Each: "$text", Sep: "\n"}
)

const (
	jsonCall   = `{"name": "$name", "arguments": $args}`
	paramsCall = `{"name": "$name", "parameters": $args}`
	pyCall     = `$name($args)`
	ns         = "]<]minimax[>["
)

// Builtin returns the rows of the dialects that Toolpost knows. Where two could
// have written the same text, the earlier row counts, so the more common dialect
// stands first. The markers of all rows are read in every answer: a call of one
// dialect between the markers of a related one is still a call.
func Builtin() []Dialect { return slices.Concat(table, taught) }

// table are the dialects that models were trained to write.
var table = []Dialect{
	{
		Name: "hermes_json", Title: "JSON in <tool_call>", Form: JSONCall,
		Models:  "Hermes 2 Pro to 4, Qwen2.5, QwQ, Qwen3, EXAONE 4, SmolLM3, Granite 4, Trinity",
		Call:    []Pair{{"<tool_call>", "</tool_call>"}, {"<toolcall>", "</toolcall>"}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think}, Bare: true,
		Drop:    []string{"<|im_end|>", "<|im_start|>", "<|endoftext|>"},
		Write:   Writing{Think: thinkLines, Lead: "\n", Call: "<tool_call>\n" + jsonCall + "\n</tool_call>", Sep: "\n"},
		Results: toolResponse,
		Tells:   []Tell{{Order: 15, All: []string{"<tool_call>"}}},
	},
	{
		Name: "hermes_plural_array", Title: "JSON list in <tool_calls>", Form: JSONCall, List: true,
		Models:  "Jamba 1.5, Hunyuan-A13B, Apriel 1.5 and 1.6",
		Wrap:    []Pair{{"<tool_calls>", "</tool_calls>"}},
		NameKey: "name", ArgsKey: "arguments",
		Think:   []Pair{think, {"", "[BEGIN FINAL RESPONSE]"}},
		Drop:    []string{"<answer>", "</answer>", "[END FINAL RESPONSE]", "<|eos|>"},
		Write:   Writing{Think: thinkTags, Open: "<tool_calls>[", Call: jsonCall, Sep: ", ", Close: "]</tool_calls>"},
		Results: Results{Role: llm.RoleTool, Each: "<tool_response>$text</tool_response>", Stop: []string{"<tool_response>"}},
		Tells:   []Tell{{Order: 14, All: []string{"<tool_calls>"}}},
	},
	{
		Name: "minimax_m1", Title: "JSON lines in <tool_calls>", Form: JSONCall,
		Models:  "MiniMax-M1, MiniMax-Text-01",
		Wrap:    []Pair{{"<tool_calls>", "</tool_calls>"}, {"[TOOL_CALL]", "[/TOOL_CALL]"}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think},
		Drop:  []string{"<end_of_sentence>"},
		Write: Writing{Think: thinkTags, Open: "<tool_calls>\n", Call: jsonCall, Sep: "\n", Close: "\n</tool_calls>"},
		Tells: []Tell{
			{Order: 13, All: []string{"<tool_calls>\n{"}},
			{Order: 13, All: []string{`<tool_calls>\n{`}},
			{Order: 13, All: []string{"<tool_calls>", "<beginning_of_sentence>"}},
		},
	},
	{
		Name: "granite3", Title: "JSON list after <|tool_call|>", Form: JSONCall, List: true,
		Models:  "Granite 3.0 to 3.3",
		Wrap:    []Pair{{"<|tool_call|>", ""}, {"<tool_call>", ""}, {"<|tool_call|>", "<|/tool_call|>"}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think, {"Here is my thought process:", "Here is my response:"}, {"Here's my thought process:", "Here's my response:"}},
		Drop:  []string{"<response>", "</response>", "<|end_of_text|>"},
		Write: Writing{Think: thinkTags, Open: "<|tool_call|>[", Call: jsonCall, Sep: ", ", Close: "]"},
		Tells: []Tell{{Order: 12, All: []string{"<|tool_call|>"}}, {Order: 14, All: []string{"<tool_call>["}}},
	},
	{
		Name: "granite20b_fc", Title: "JSON after <function_call>", Form: JSONCall,
		Models:  "Granite-20B-FunctionCalling",
		Call:    []Pair{{"<function_call>", ""}, {"<function_call>", "</function_call>"}, {"<functioncall>", ""}, {"<functioncall>", "</functioncall>"}},
		NameKey: "name", ArgsKey: "arguments",
		Write:   Writing{Think: thinkTags, Lead: "\n", Call: "<function_call> " + jsonCall, Sep: "\n"},
		Results: Results{Role: llm.RoleTool, Each: "<function_response> $text", Sep: "\n"},
		Tells:   []Tell{{Order: 11, All: []string{"<function_call>"}}},
	},
	{
		Name: "longcat", Title: "JSON or <longcat_arg_key> pairs in <longcat_tool_call>", Form: JSONCall,
		Models:  "LongCat-Flash",
		Call:    []Pair{{"<longcat_tool_call>", "</longcat_tool_call>"}},
		NameKey: "name", ArgsKey: "arguments",
		Tags: Tags{
			Param: Pair{"<longcat_arg_key>", "</longcat_arg_key>"}, Value: Pair{"<longcat_arg_value>", "</longcat_arg_value>"},
		},
		Think: []Pair{{"<longcat_think>", "</longcat_think>"}},
		Drop:  []string{"</longcat_s>"},
		Write: Writing{
			Think: Pair{"<longcat_think>", "</longcat_think>"}, Call: "<longcat_tool_call>" + jsonCall + "</longcat_tool_call>",
			Sep: "\n",
		},
		Tells: []Tell{{All: []string{"<longcat_tool_call>"}}},
	},
	{
		Name: "ernie45", Title: "JSON in <tool_call> after prefilled thinking", Form: JSONCall,
		Models:  "ERNIE 4.5",
		Call:    []Pair{{"<tool_call>", "</tool_call>"}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think}, Prefilled: true,
		Drop: []string{"<response>", "</response>"},
		Write: Writing{
			Think: Pair{"<think>\n", "\n</think>\n\n\n"}, Text: Pair{"<response>\n", "\n</response>\n"},
			Call: "<tool_call>\n" + jsonCall + "\n</tool_call>", Sep: "\n", End: "\n",
		},
		Tells: []Tell{{Order: 14, All: []string{"<tool_call>", "<response>"}}},
	},
	{
		Name: "nemotron_nano_v2", Title: "JSON list in <TOOLCALL>", Form: JSONCall, List: true,
		Models:  "Nemotron Nano v2, Llama-Nemotron",
		Wrap:    []Pair{{"<TOOLCALL>", "</TOOLCALL>"}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think}, Prefilled: true,
		Drop:    []string{"<SPECIAL_12>"},
		Write:   Writing{Think: thinkTags, Open: "<TOOLCALL>[", Call: jsonCall, Sep: ", ", Close: "]</TOOLCALL>"},
		Results: Results{Role: llm.RoleTool, Open: "<TOOL_RESPONSE>[", Each: "$json", Sep: ", ", Close: "]</TOOL_RESPONSE>"},
		Tells:   []Tell{{All: []string{"<TOOLCALL>"}}},
	},
	{
		Name: "qwen3_coder_xml", Title: "<function=…> with <parameter=…>", Form: TagCall,
		Models: "Qwen3-Coder, Qwen3.5 and later, Nemotron 3, Step-3.5, MiMo-V2",
		Wrap:   []Pair{{"<tool_call>", "</tool_call>"}},
		Tags: Tags{
			Call: Pair{"<function=%s>", "</function>"}, Param: Pair{"<parameter=%s>", "</parameter>"},
			Also: []Pair{
				{"<call=%s>", "</call>"}, {"<tool=%s>", "</tool>"}, {"function=%s>", "</function>"},
				{`<function_call name="%s">`, "</function_call>"}, {`<tool_call name="%s">`, "</tool_call>"},
				{`<tool_use name="%s">`, "</tool_use>"}, {`<tool name="%s">`, "</tool>"}, {`<call name="%s">`, "</call>"},
				{`<action name="%s">`, "</action>"},
			},
		},
		Think: []Pair{think}, Text: OneLine,
		Drop: []string{"<|im_end|>"},
		Write: Writing{
			Think: thinkLines, Lead: "\n", Call: "<tool_call>\n<function=$name>\n$args</function>\n</tool_call>", Sep: "\n",
			Body: ParamsBody, Param: "<parameter=$key>\n$value\n</parameter>\n",
		},
		Results: toolResponse,
		Tells:   []Tell{{Order: 7, All: []string{"<function=", "<parameter="}}},
	},
	{
		Name: "seed_oss", Title: "Qwen3-Coder's elements in <seed:tool_call>", Form: TagCall,
		Models: "Seed-OSS",
		Wrap:   []Pair{{"<seed:tool_call>", "</seed:tool_call>"}},
		Tags:   Tags{Call: Pair{"<function=%s>", "</function>"}, Param: Pair{"<parameter=%s>", "</parameter>"}},
		Think:  []Pair{{"<seed:think>", "</seed:think>"}}, Text: OneLine,
		Drop: []string{"<seed:eos>"},
		Write: Writing{
			Think: Pair{"<seed:think>", "</seed:think>"}, Lead: "\n",
			Call: "<seed:tool_call>\n<function=$name>\n$args</function>\n</seed:tool_call>", Sep: "\n", Body: ParamsBody,
			Param: "<parameter=$key>$value</parameter>\n", OwnLines: true,
		},
		Tells: []Tell{{All: []string{"<seed:tool_call>"}}},
	},
	{
		Name: "glm45", Title: "name, then <arg_key> and <arg_value> on lines", Form: TagCall,
		Models: "GLM-4.5, GLM-4.6, Laguna, Ring-2.6",
		Call:   []Pair{{"<tool_call>", "</tool_call>"}, {"<user>", "</user>"}},
		Tags:   Tags{Param: Pair{"<arg_key>", "</arg_key>"}, Value: Pair{"<arg_value>", "</arg_value>"}},
		Sep:    []string{"\n"},
		Think:  []Pair{think}, Text: Literal,
		Drop: []string{"<|observation|>", "<|user|>", "<|assistant|>"},
		Write: Writing{
			Think: thinkLines, Lead: "\n", Call: "<tool_call>$name\n$args</tool_call>", Sep: "\n", Body: ParamsBody,
			Param: "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n",
		},
		Results: Results{Role: llm.RoleTool, Open: "<|observation|>", Each: "\n<tool_response>\n$text\n</tool_response>"},
		Tells: []Tell{
			{Order: 6, All: []string{"</arg_key>\n"}},
			{Order: 6, All: []string{"</arg_key>\r"}},
			{Order: 6, All: []string{`</arg_key>\n`}},
		},
	},
	{
		Name: "glm47", Title: "name, then <arg_key> and <arg_value>, compact", Form: TagCall,
		Models: "GLM-4.7, GLM-5, Ling 3, Laguna S",
		Call:   []Pair{{"<tool_call>", "</tool_call>"}},
		Tags:   Tags{Param: Pair{"<arg_key>", "</arg_key>"}, Value: Pair{"<arg_value>", "</arg_value>"}},
		Think:  []Pair{think}, Prefilled: true, Text: Verbatim, NameAlone: true,
		Write: Writing{
			Think: thinkTags, Call: "<tool_call>$name$args</tool_call>", Body: ParamsBody,
			Param: "<arg_key>$key</arg_key><arg_value>$value</arg_value>",
		},
		Results: Results{Role: llm.RoleTool, Open: "<|observation|>", Each: "<tool_response>$text</tool_response>"},
		Tells:   []Tell{{Order: 5, All: []string{"</arg_key><arg_value>"}}, {Order: 6, All: []string{"<arg_key>"}}},
	},
	{
		Name: "hy_v3", Title: "name<tool_sep>, then <arg_key> and <arg_value>", Form: TagCall,
		Models: "Hunyuan HY-V3",
		Wrap:   []Pair{{"<tool_calls>", "</tool_calls>"}},
		Call:   []Pair{{"<tool_call>", "</tool_call>"}},
		Sep:    []string{"<tool_sep>"}, // each tag may have a suffix, like <tool_sep:opensource>
		Tags: Tags{
			Param: Pair{"<arg_key>", "</arg_key>"}, Value: Pair{"<arg_value>", "</arg_value>"},
		},
		Think: []Pair{think}, Text: Literal, NameAlone: true,
		Drop: []string{"<｜hy_eos｜>"},
		Write: Writing{
			Think: thinkTags, Lead: "\n", Open: "<tool_calls>\n", Call: "<tool_call>$name<tool_sep>\n$args</tool_call>\n",
			Close: "</tool_calls>", Body: ParamsBody, Param: "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n",
		},
		Results: Results{
			Role: llm.RoleTool, Open: "<tool_responses>\n", Each: "<tool_response>\n$text\n</tool_response>\n",
			Close: "</tool_responses>",
		},
		Tells: []Tell{{Order: 4, All: []string{"<tool_sep"}}, {Order: 4, All: []string{"tool_sep", "arg_key", "tool_calls"}}},
	},
	{
		Name: "minimax_m2", Title: "<invoke> in <minimax:tool_call>", Form: TagCall,
		Models: "MiniMax-M2",
		Wrap:   []Pair{{"<minimax:tool_call>", "</minimax:tool_call>"}},
		Tags:   Tags{Call: Pair{`<invoke name="%s">`, "</invoke>"}, Param: Pair{`<parameter name="%s">`, "</parameter>"}},
		Think:  []Pair{think}, Prefilled: true, Text: Literal,
		Drop: []string{"[e~["},
		Write: Writing{
			Think: thinkLines, Lead: "\n", Open: "<minimax:tool_call>\n", Call: "<invoke name=\"$name\">\n$args</invoke>\n",
			Close: "</minimax:tool_call>", Body: ParamsBody, Param: "<parameter name=\"$key\">$value</parameter>\n",
		},
		Results: Results{Role: llm.RoleTool, Each: "<response>$text</response>", Sep: "\n"},
		Tells:   []Tell{{Order: 1, All: []string{"<minimax:tool_call>"}}},
	},
	{
		Name: "minimax_m3", Title: "nested elements, each after ]<]minimax[>[", Form: TagCall,
		Models: "MiniMax-M3",
		Wrap:   []Pair{{"]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>"}},
		Tags: Tags{
			Call:  Pair{`]<]minimax[>[<invoke name="%s">`, "]<]minimax[>[</invoke>"},
			Param: Pair{"]<]minimax[>[<%s>", "]<]minimax[>[</%s>"},
		},
		Think: []Pair{{"<mm:think>", "</mm:think>"}}, Unthought: true, Text: Literal,
		Write: Writing{
			Think: Pair{"<mm:think>", "</mm:think>"}, Lead: "\n", Open: ns + "<tool_call>\n",
			Call: ns + "<invoke name=\"$name\">\n$args" + ns + "</invoke>\n", Close: ns + "</tool_call>", Body: ParamsBody,
			Param: ns + "<$key>$value" + ns + "</$key>\n", Node: ns + "<$key>\n$value" + ns + "</$key>\n", Item: "item",
		},
		Results: Results{Role: llm.RoleTool, Each: "<response>$text</response>", Sep: "\n"},
		Tells:   []Tell{{All: []string{"]<]minimax[>["}}, {All: []string{"<mm:think>"}}},
	},
	{
		Name: "deepseek_dsml_v32", Title: "DSML in function_calls", Form: TagCall,
		Models: "DeepSeek-V3.2",
		Wrap:   []Pair{{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>"}, {"<｜DSML｜function_call>", "</｜DSML｜function_call>"}},
		Tags: Tags{
			Call:  Pair{`<｜DSML｜invoke name="%s">`, "</｜DSML｜invoke>"},
			Param: Pair{`<｜DSML｜parameter name="%s" string="%t">`, "</｜DSML｜parameter>"},
		},
		Think: []Pair{think}, Prefilled: true,
		Drop:    []string{"<｜end▁of▁sentence｜>"},
		Write:   dsml("function_calls"),
		Results: Results{Role: llm.RoleTool, Open: "\n\n<function_results>\n", Each: "<result>$text</result>\n", Close: "</function_results>"},
		Tells:   []Tell{{Order: 1, All: []string{"｜DSML｜"}}},
	},
	{
		Name: "deepseek_dsml_v4", Title: "DSML in tool_calls", Form: TagCall,
		Models: "DeepSeek-V4",
		Wrap: []Pair{
			{"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"}, {"<｜DSML｜tool_call>", "</｜DSML｜tool_call>"},
			{"<｜DSML｜tool_use>", "</｜DSML｜tool_use>"}, {"<｜DSML｜invokes>", "</｜DSML｜invokes>"},
		},
		Tags: Tags{
			Call:  Pair{`<｜DSML｜invoke name="%s">`, "</｜DSML｜invoke>"},
			Param: Pair{`<｜DSML｜parameter name="%s" string="%t">`, "</｜DSML｜parameter>"},
		},
		Think: []Pair{think}, Prefilled: true,
		Drop:    []string{"<｜end▁of▁sentence｜>"},
		Write:   dsml("tool_calls"),
		Results: Results{Role: llm.RoleUser, Each: "<tool_result>$text</tool_result>"},
		Tells:   []Tell{{All: []string{"｜DSML｜", "tool_calls>"}}},
	},
	{
		Name: "deepseek_v3", Title: "tool tokens around a fenced object", Form: NameJSON, KindFirst: true,
		Models: "DeepSeek-V3, R1, Cogito",
		Wrap:   []Pair{{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}},
		Call:   []Pair{{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"}},
		Sep:    []string{"<｜tool▁sep｜>"},
		Think:  []Pair{think}, Prefilled: true,
		Drop: []string{"<｜end▁of▁sentence｜>", "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"},
		Write: Writing{
			Think: thinkLines, Open: "<｜tool▁calls▁begin｜>",
			Call: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$args\n```<｜tool▁call▁end｜>", Sep: "\n",
			Close: "<｜tool▁calls▁end｜>",
		},
		Results: Results{
			Role: llm.RoleTool, Open: "<｜tool▁outputs▁begin｜>", Each: "<｜tool▁output▁begin｜>$text<｜tool▁output▁end｜>", Sep: "\n",
			Close: "<｜tool▁outputs▁end｜>",
		},
		Tells: []Tell{{Order: 1, All: []string{"<｜tool▁sep｜>", "```json"}}},
	},
	{
		Name: "deepseek_v31", Title: "tool tokens around an object", Form: NameJSON,
		Models: "DeepSeek-V3.1",
		Wrap:   []Pair{{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}},
		Call:   []Pair{{"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"}},
		Sep:    []string{"<｜tool▁sep｜>"},
		Think:  []Pair{think}, Prefilled: true,
		Drop: []string{"<｜end▁of▁sentence｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"},
		Write: Writing{
			Think: thinkTags, Open: "<｜tool▁calls▁begin｜>", Call: "<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$args<｜tool▁call▁end｜>",
			Close: "<｜tool▁calls▁end｜>",
		},
		Results: Results{Role: llm.RoleTool, Each: "<｜tool▁output▁begin｜>$text<｜tool▁output▁end｜>"},
		Tells:   []Tell{{Order: 1, All: []string{"<｜tool▁sep｜>"}}},
	},
	{
		Name: "kimi_k2", Title: "functions.NAME:INDEX and an object", Form: NameJSON,
		Models: "Kimi K2, K2-Thinking, K2.5, K2.6",
		Wrap: []Pair{
			{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
			{"<|tool_call_section_begin|>", "<|tool_call_section_end|>"},
		},
		Call:  []Pair{{"<|tool_call_begin|>", "<|tool_call_end|>"}},
		Sep:   []string{"<|tool_call_argument_begin|>"},
		Think: []Pair{think, {"◁think▷", "◁/think▷"}}, Prefilled: true,
		Write: Writing{
			Think: thinkTags, ID: NameIndex, Open: "<|tool_calls_section_begin|>",
			Call: "<|tool_call_begin|>$id<|tool_call_argument_begin|>$args<|tool_call_end|>", Close: "<|tool_calls_section_end|>",
		},
		Results: Results{Role: llm.RoleTool, ID: NameIndex, Each: "## Return of $id\n$text", Sep: "\n", Guard: []string{"## Return of "}},
		Tells: []Tell{
			{Order: 1, All: []string{"<|tool_calls_section_begin|>"}},
			{Order: 1, All: []string{"<|tool_call_argument_begin|>"}},
		},
	},
	{
		Name: "kimi_k3", Title: "XTML channels", Form: TagCall,
		Models: "Kimi K3",
		Wrap:   []Pair{{"<|open|>tools<|sep|>", "<|close|>tools<|sep|>"}},
		Tags: Tags{
			Call: Pair{`<|open|>call tool="%s" index="%d"<|sep|>`, "<|close|>call<|sep|>"}, ID: "index",
			Param: Pair{`<|open|>argument key="%s" type="%s"<|sep|>`, "<|close|>argument<|sep|>"},
		},
		Think: []Pair{{"<|open|>think<|sep|>", "<|close|>think<|sep|>"}}, Prefilled: true,
		Drop: []string{
			"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
			"<|open|>message role=\"assistant\"<|sep|>", "<|end_of_msg|>",
		},
		Write: Writing{
			Think: Pair{"<|open|>think<|sep|>", "<|close|>think<|sep|>"},
			Text:  Pair{"<|open|>response<|sep|>", "<|close|>response<|sep|>"}, ID: OneBased, Open: "<|open|>tools<|sep|>",
			Call: `<|open|>call tool="$name" index="$id"<|sep|>$args<|close|>call<|sep|>`, Close: "<|close|>tools<|sep|>",
			End: "<|close|>message<|sep|>", Body: ParamsBody,
			Param: `<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>`,
		},
		Results: Results{
			Role: llm.RoleTool, ID: OneBased,
			Each: `<|open|>message role="tool" tool="$name" index="$id"<|sep|>$text<|close|>message<|sep|>`,
		},
		Tells: []Tell{{All: []string{"<|open|>", "<|sep|>"}}},
	},
	{
		Name: "mistral_json", Title: "JSON list after [TOOL_CALLS]", Form: JSONCall, List: true,
		Models:  "Mistral 7B v0.3, Mixtral, Nemo, Large 2407, Small 3",
		Wrap:    []Pair{{"[TOOL_CALLS]", ""}, {"[TOOL_CALLS]", "[/TOOL_CALLS]"}},
		NameKey: "name", ArgsKey: "arguments",
		End: []string{"</s>"},
		Write: Writing{
			Think: thinkLines, ID: Alnum9, Open: "[TOOL_CALLS] [", Call: `{"name": "$name", "arguments": $args, "id": "$id"}`,
			Sep: ", ", Close: "]",
		},
		Results: Results{Role: llm.RoleTool, ID: Alnum9, Each: `[TOOL_RESULTS] {"content": $json, "call_id": "$id"}[/TOOL_RESULTS]`},
		Tells:   []Tell{{Order: 2, All: []string{"[TOOL_CALLS]"}}},
	},
	{
		Name: "mistral_v11", Title: "name[ARGS]{…} after [TOOL_CALLS]", Form: NameJSON,
		Models:  "Devstral, Magistral, Ministral 3, Mistral Large 3",
		Call:    []Pair{{"[TOOL_CALLS]", ""}},
		Sep:     []string{"[ARGS]"},
		Think:   []Pair{{"[THINK]", "[/THINK]"}, think},
		End:     []string{"</s>"},
		Write:   Writing{Think: Pair{"[THINK]", "[/THINK]"}, Call: "[TOOL_CALLS]$name[ARGS]$args"},
		Results: Results{Role: llm.RoleTool, Each: "[TOOL_RESULTS]$text[/TOOL_RESULTS]"},
		Tells:   []Tell{{Order: 1, All: []string{"[TOOL_CALLS]", "[ARGS]"}}},
	},
	{
		Name: "mistral_call_id", Title: "name[CALL_ID]id[ARGS]{…} after [TOOL_CALLS]", Form: NameJSON,
		Models: "Mistral Small 3.2",
		Call:   []Pair{{"[TOOL_CALLS]", ""}},
		Sep:    []string{"[ARGS]"}, IDSep: []string{"[CALL_ID]"},
		End:     []string{"</s>"},
		Write:   Writing{Think: thinkLines, ID: Alnum9, Call: "[TOOL_CALLS]$name[CALL_ID]$id[ARGS]$args"},
		Results: Results{Role: llm.RoleTool, ID: Alnum9, Each: "[TOOL_RESULTS]$id[TOOL_CONTENT]$text[/TOOL_RESULTS]"},
		Tells:   []Tell{{All: []string{"[TOOL_CALLS]", "[CALL_ID]"}}},
	},
	{
		Name: "harmony", Title: "channels and recipients", Form: Header,
		Models: "gpt-oss",
		Call:   []Pair{{"<|channel|>", "<|call|>"}, {"<|start|>", "<|call|>"}},
		Wrap:   []Pair{{"to=functions.", ""}, {"to=multi_tool_use.parallel", ""}},
		Inline: []string{"to=functions.", "to=multi_tool_use.parallel"},
		Sep:    []string{"<|message|>"},
		Drop:   []string{"<|end|>", "<|return|>", "<|endoftext|>", "<|call|>"},
		Head: Head{
			End: "<|message|>", To: "to=", Channel: "<|channel|>", Skip: []string{"<|start|>", "<|constrain|>", "<|end|>"},
			ThinkChannels: []string{"analysis"}, Users: []string{"user"}, Speakers: []string{"assistant", "all"},
		},
		Write: Writing{
			Think: Pair{"<|channel|>analysis<|message|>", "<|end|>"}, Text: Pair{"<|channel|>final<|message|>", "<|end|>"},
			Intro: Pair{"<|channel|>commentary<|message|>", "<|end|>"}, Next: "<|start|>assistant",
			Call: "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$args<|call|>", Sep: "<|start|>assistant",
		},
		Results: Results{Role: llm.RoleTool, Each: "<|start|>functions.$name to=assistant<|channel|>commentary<|message|>$text<|end|>"},
		Tells:   []Tell{{Order: 1, All: []string{"<|channel|>", "<|message|>"}}},
	},
	{
		Name: "gemma4", Title: `call:NAME{key:<|"|>text<|"|>}`, Form: BraceCall,
		Models: "Gemma 4",
		Call:   []Pair{{"<|tool_call>", "<tool_call|>"}},
		Think:  []Pair{{"<|channel>", "<channel|>"}},
		Drop:   []string{"<|tool_response>", "<tool_response|>", "<turn|>", "<|turn>"},
		End:    []string{"<eos>"},
		Quotes: []string{`<|"|>`}, Text: Verbatim, ThinkLabel: "thought",
		Write: Writing{
			Think: Pair{"<|channel>thought\n", "<channel|>"}, Call: "<|tool_call>call:$name$args<tool_call|>", Body: BareBody,
			Delim: `<|"|>`,
		},
		Results: Results{Role: llm.RoleTool, Each: `<|tool_response>response:$name{value:<|"|>$text<|"|>}<tool_response|>`},
		Tells:   []Tell{{All: []string{"<|tool_call>"}}, {All: []string{`<|"|>`}}},
	},
	{
		Name: "functiongemma", Title: "call:NAME{key:<escape>text<escape>}", Form: BraceCall,
		Models:  "FunctionGemma",
		Call:    []Pair{{"<start_function_call>", "<end_function_call>"}},
		Drop:    []string{"<end_of_turn>", "<start_function_response>"},
		Quotes:  []string{"<escape>"},
		Write:   Writing{Think: thinkTags, Call: "<start_function_call>call:$name$args<end_function_call>", Body: BareBody, Delim: "<escape>"},
		Results: Results{Role: llm.RoleTool, Each: "<start_function_response>response:$name{<escape>$text<escape>}<end_function_response>"},
		Tells:   []Tell{{All: []string{"<start_function_call>"}}},
	},
	{
		Name: "llama3_json", Title: "JSON with parameters", Form: JSONCall,
		Models:  "Llama 3.1 to 3.3, Llama 4 (JSON template)",
		Wrap:    []Pair{{"<|python_tag|>", ""}, {"<|python_tag|>", "<|eom_id|>"}},
		NameKey: "name", ArgsKey: "parameters",
		Drop: []string{"<|eom_id|>", "<|eot_id|>", "<|begin_of_text|>", "<|end_header_id|>"}, Bare: true,
		Role:    []string{"<|start_header_id|>"},
		Write:   Writing{Think: thinkTags, Lead: "\n", Call: paramsCall, Sep: "; "},
		Results: bareResult,
		Tells: []Tell{
			{Order: 16, All: []string{"<|python_tag|>"}},
			{Order: 16, All: []string{"<|start_header_id|>", `"parameters"`}},
			{Order: 16, All: []string{"<|header_start|>", `"parameters"`}},
		},
	},
	{
		Name: "llama3_builtin", Title: "NAME.call(…) after <|python_tag|>", Form: PyCall,
		Models: "Llama 3.1 to 3.3 with built-in tools",
		Wrap:   []Pair{{"<|python_tag|>", "<|eom_id|>"}},
		Code:   []string{"<|python_tag|>"}, Method: ".call",
		Drop:    []string{"<|eom_id|>", "<|eot_id|>"},
		Write:   Writing{Think: thinkTags, Call: "<|python_tag|>$name.call($args)<|eom_id|>", Body: PythonBody},
		Results: bareResult,
	},
	{
		Name: "functionary_v31", Title: "<function=NAME>{…}", Form: NameJSON,
		Models:  "Functionary v3.1, Llama 3.1 custom tools",
		Tags:    Tags{Call: Pair{"<function=%s>", "</function>"}},
		Drop:    []string{"<|eom_id|>", "<|eot_id|>"},
		Write:   Writing{Think: thinkTags, Call: "<function=$name>$args</function>"},
		Results: bareResult,
		Tells:   []Tell{{Order: 10, All: []string{"<function="}}},
	},
	{
		Name: "functionary_v32", Title: ">>>NAME, newline, object", Form: NameJSON, NamedCode: true,
		Models: "Functionary v3.2",
		Call:   []Pair{{">>>", ""}, {"<|recipient|>", ""}},
		Sep:    []string{"\n", "<|content|>"}, Bare: true,
		Opening: Pair{"all\n", ">>>"}, BeforeName: []string{">>>"},
		Drop: []string{
			"<|from|>assistant", "<|stop|>", ">>>all\n", "<|recipient|>all\n<|content|>", "<|recipient|>all<|content|>",
			"<|recipient|>user\n<|content|>", "<|recipient|>user<|content|>",
		},
		Write:   Writing{Think: thinkTags, Text: Pair{"all\n", ""}, Next: ">>>", Call: "$name\n$args", Sep: ">>>"},
		Results: bareResult,
		Tells:   []Tell{{Order: 9, All: []string{">>>"}}},
	},
	{
		Name: "pythonic", Title: "a list of Python calls", Form: PyCall,
		Models: "Llama 3.2, Llama 4, ToolACE",
		Wrap:   []Pair{{"<|python_start|>", "<|python_end|>"}, {"[Calling tool:", ""}, {"[Tool call:", ""}, {"[Tool Call:", ""}, {"[Tool use:", ""}, {"[Tool Use:", ""}, {"<<function>>", ""}, {"Call:", "<bot_end>"}},
		Drop:   []string{"<|eom|>", "<|eot|>"}, Bare: true,
		Write:   Writing{Think: thinkTags, Lead: "\n", Open: "[", Call: pyCall, Sep: ", ", Close: "]", Body: PythonBody},
		Results: bareResult,
		Tells:   []Tell{{Order: 15, All: []string{"[func_name1("}}, {Order: 15, All: []string{"<|python_start|>"}}},
	},
	{
		Name: "gemma3_prompted", Title: "Python in a tool_code fence", Form: PyCall,
		Models: "Gemma 2, Gemma 3",
		Wrap:   []Pair{{"```tool_code", "```"}, {"<tool_code>", "</tool_code>"}, {"tool_code = ", ""}, {"tool_code\n", ""}},
		Drop:   []string{"<end_of_turn>", "print(tool_code)"}, Bare: true,
		Write: Writing{Think: thinkTags, Lead: "\n", Open: "```tool_code\n", Call: pyCall, Sep: "\n", Close: "\n```", Body: PythonBody},
		Tells: []Tell{{Order: 15, All: []string{"```tool_code"}}},
	},
	{
		Name: "olmo3", Title: "Python calls on lines in <function_calls>", Form: PyCall,
		Models: "Olmo 3",
		Wrap:   []Pair{{"<function_calls>", "</function_calls>"}},
		Think:  []Pair{think},
		Write: Writing{
			Think: thinkTags, Open: "<function_calls>\n", Call: pyCall, Sep: "\n", Close: "\n</function_calls>", Body: PythonBody,
		},
		Tells: []Tell{{Order: 8, All: []string{"<function_calls>"}}},
	},
	{
		Name: "lfm2", Title: "a list of Python calls between tool tokens", Form: PyCall, Echoes: true,
		Models: "LFM2, LFM2.5",
		Wrap:   []Pair{{"<|tool_call_start|>", "<|tool_call_end|>"}},
		Think:  []Pair{think},
		Drop:   []string{"<|im_end|>"},
		Write: Writing{
			Think: thinkTags, Open: "<|tool_call_start|>[", Call: pyCall, Sep: ", ", Close: "]<|tool_call_end|>", Body: PythonBody,
		},
		Results: Results{Role: llm.RoleTool, Each: "<|tool_response_start|>$text<|tool_response_end|>"},
		Tells: []Tell{
			{All: []string{"<|tool_call_start|>"}},
			{All: []string{"<|tool_list_start|>"}},
			{All: []string{"List of tools: ["}},
		},
	},
	{
		Name: "phi4_functools", Title: "functools[{…}]", Form: JSONCall, List: true,
		Models: "Phi-4-mini, FireFunction v2",
		Wrap:   []Pair{{"functools", ""}}, Inline: []string{"functools"},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think},
		Write: Writing{Think: thinkTags, Lead: "\n", Open: "functools[", Call: jsonCall, Sep: ", ", Close: "]"},
		Tells: []Tell{{Order: 11, All: []string{"functools"}}},
	},
	{
		Name: "command_r_plus", Title: "Action: and a fenced list", Form: JSONCall, List: true, Cites: "co",
		Models:  "Command R, Command R+",
		Wrap:    []Pair{{"Action:", ""}},
		NameKey: "tool_name", ArgsKey: "parameters", Bare: true,
		Write: Writing{
			Think: thinkLines, Lead: "\n", Open: "Action: ```json\n[\n", Sep: ",\n", Close: "\n]\n```",
			Call: "    {\n        \"tool_name\": \"$name\",\n        \"parameters\": $args\n    }",
		},
		Results: Results{Role: llm.RoleTool, Open: "<results>\n", Each: "Document: $id\n$text\n", ID: Counter, Sep: "\n", Close: "</results>"},
		Tells:   []Tell{{Order: 2, All: []string{"Action:", `"tool_name"`}}},
	},
	{
		Name: "command_action", Title: "JSON list in START_ACTION", Form: JSONCall, List: true, Cites: "co",
		Models:  "Command R7B, Command A, North",
		Wrap:    []Pair{{"<|START_ACTION|>", "<|END_ACTION|>"}},
		NameKey: "tool_name", ArgsKey: "parameters",
		Think: []Pair{
			{"<|START_THINKING|>", "<|END_THINKING|>"}, {"<|START_THINKING|>", "<|START_TEXT|>"}, {"<|START_THINKING|>", "<|START_RESPONSE|>"},
		},
		Prefilled: true,
		Drop: []string{
			"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
			"<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|START_OF_TURN_TOKEN|>",
		},
		Write: Writing{
			Think: Pair{"<|START_THINKING|>", "<|END_THINKING|>"}, Text: Pair{"<|START_RESPONSE|>", "<|END_RESPONSE|>"}, ID: Counter,
			Open: "<|START_ACTION|>[\n", Sep: ",\n", Close: "\n]<|END_ACTION|>",
			Call: `    {"tool_call_id": "$id", "tool_name": "$name", "parameters": $args}`,
		},
		Results: Results{
			Role: llm.RoleTool, ID: Counter, Open: "<|START_TOOL_RESULT|>[\n",
			Each: `    {"tool_call_id": "$id", "results": {"0": $json}}`, Sep: ",\n", Close: "\n]<|END_TOOL_RESULT|>",
		},
		Tells: []Tell{{Order: 1, All: []string{"<|START_ACTION|>"}}},
	},
	{
		Name: "cohere_cofl", Title: "typed elements in <cofl:tool_calls>", Form: TagCall, Cites: "co",
		Models: "newer Command",
		Wrap:   []Pair{{"<cofl:tool_calls>", "</cofl:tool_calls>"}},
		Tags: Tags{
			Call: Pair{`<cofl:tool_call id="%d" name="%s">`, "</cofl:tool_call>"}, ID: "id",
			Param: Pair{`<cofl:value name="%s" type="%s">`, "</cofl:value>"},
		},
		Think: []Pair{{"<|START_THINKING|>", "<|END_THINKING|>"}}, Prefilled: true,
		Write: Writing{
			Think: Pair{"<|START_THINKING|>", "<|END_THINKING|>"}, Text: Pair{"<|START_TEXT|>", "<|END_TEXT|>"}, ID: Counter,
			Open: "<cofl:tool_calls>", Call: `<cofl:tool_call id="$id" name="$name">$args</cofl:tool_call>`,
			Close: "</cofl:tool_calls>", Body: ParamsBody, Types: []string{"raw", "json", "json", "json", "dict", "list"},
			Param: `<cofl:value$attr type="$type">$value</cofl:value>`, Node: `<cofl:value$attr type="$type">$value</cofl:value>`,
		},
		Tells: []Tell{{All: []string{"<cofl:tool_call"}}},
	},
	{
		Name: "apertus", Title: `[{"NAME": {…}}] between tools tokens`, Form: JSONCall, Keyed: true, List: true,
		Models: "Apertus",
		Wrap:   []Pair{{"<|tools_prefix|>", "<|tools_suffix|>"}},
		Think:  []Pair{{"<|inner_prefix|>", "<|inner_suffix|>"}},
		Drop:   []string{"<|assistant_end|>"},
		Write: Writing{
			Think: Pair{"<|inner_prefix|>", "<|inner_suffix|>"}, Open: "<|tools_prefix|>[", Call: `{"$name": $args}`, Sep: ", ",
			Close: "]<|tools_suffix|>",
		},
		Tells: []Tell{{All: []string{"<|tools_prefix|>"}}, {All: []string{"<|inner_prefix|>"}}},
	},
	{
		Name: "internlm", Title: "JSON after <|action_start|><|plugin|>", Form: JSONCall,
		Models:  "InternLM 2 to 3, Intern-S1",
		Wrap:    []Pair{{"<|action_start|><|plugin|>", "<|action_end|>"}, {"<|action_start|>", "<|action_end|>"}, {"<|plugin|>", "<|action_end|>"}, {"<|interpreter|>", "<|action_end|>"}},
		Code:    []string{"<|interpreter|>"},
		NameKey: "name", ArgsKey: "parameters",
		Think:   []Pair{think},
		Write:   Writing{Think: thinkTags, Call: "<|action_start|><|plugin|>\n" + paramsCall + "<|action_end|>", Sep: "\n"},
		Results: Results{Role: llm.RoleTool, Each: "<|im_start|>environment name=<|plugin|>\n$text<|im_end|>", Sep: "\n"},
		Tells:   []Tell{{All: []string{"<|action_start|>"}}, {All: []string{"<|plugin|>"}}},
	},
	{
		Name: "gigachat3", Title: "JSON after a function call role", Form: JSONCall,
		Models:  "GigaChat 3",
		Wrap:    []Pair{{"<|function_call|>", ""}, {"function call<|role_sep|>", ""}, {"function call\n", ""}},
		NameKey: "name", ArgsKey: "arguments",
		Drop: []string{"<|message_sep|>"}, End: []string{"</s>"},
		Write: Writing{Think: thinkTags, Call: "<|function_call|>" + jsonCall},
		Tells: []Tell{{All: []string{"<|role_sep|>"}}, {All: []string{"<|function_call|>"}}},
	},
	{
		Name: "step3", Title: "steptml elements between tool tokens", Form: TagCall, KindFirst: true,
		Models: "Step-3",
		Wrap:   []Pair{{"<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"}},
		Call:   []Pair{{"<｜tool_call_begin｜>", "<｜tool_call_end｜>"}},
		Sep:    []string{"<｜tool_sep｜>"},
		Tags: Tags{
			Call:  Pair{`<steptml:invoke name="%s">`, "</steptml:invoke>"},
			Param: Pair{`<steptml:parameter name="%s">`, "</steptml:parameter>"},
		},
		Think: []Pair{think}, Prefilled: true, Text: Plain,
		Write: Writing{
			Think: thinkLines, Open: "<｜tool_calls_begin｜>\n", Close: "<｜tool_calls_end｜>",
			Call: "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"$name\">\n$args</steptml:invoke><｜tool_call_end｜>\n",
			Body: ParamsBody, Param: "<steptml:parameter name=\"$key\">$value</steptml:parameter>\n", OwnLines: true,
		},
		Tells: []Tell{{All: []string{"<steptml:invoke"}}, {All: []string{"<｜tool_calls_begin｜>"}}},
	},
	{
		Name: "dots", Title: "<invoke> in <dots_function_call>", Form: TagCall,
		Models: "dots.llm2",
		Wrap:   []Pair{{"<dots_function_call>", "</dots_function_call>"}},
		Tags:   Tags{Call: Pair{`<invoke name="%s">`, "</invoke>"}, Param: Pair{`<parameter name="%s">`, "</parameter>"}},
		Think:  []Pair{think}, Text: Trimmed,
		Drop: []string{"<|endofresponse|>"},
		Write: Writing{
			Think: thinkLines, Lead: "\n", Open: "<dots_function_call>\n", Call: "<invoke name=\"$name\">\n$args</invoke>\n",
			Close: "</dots_function_call>", Body: ParamsBody, Param: "<parameter name=\"$key\">$value</parameter>\n", OwnLines: true,
		},
		Tells: []Tell{{All: []string{"<dots_function_call>"}}},
	},
	{
		Name: "minicpm5", Title: `<function name="…"> with <param>`, Form: TagCall,
		Models: "MiniCPM5, MiniCPM4",
		Tags:   Tags{Call: Pair{`<function name="%s">`, "</function>"}, Param: Pair{`<param name="%s">`, "</param>"}, Once: true},
		Think:  []Pair{think}, Prefilled: true, Text: Trimmed,
		Write: Writing{
			Think: thinkLines, Call: `<function name="$name">$args</function>`, Sep: "\n", Body: ParamsBody,
			Param: `<param name="$key">$value</param>`, CData: true, OwnLines: true,
		},
		Results: toolResponse,
		Tells:   []Tell{{Order: 3, All: []string{"<function name=", "<param name="}}},
	},
	{
		Name: "inkling", Title: "typed content blocks", Form: JSONCall,
		Models: "Inkling",
		Wrap: []Pair{
			{"<|content_invoke_tool_json|>", "<|end_message|>"}, {"<|content_invoke_tool_json|>", "<|content_model_end_sampling|>"},
		},
		NameKey: "name", ArgsKey: "args",
		Think: []Pair{{"<|content_thinking|>", "<|end_message|>"}, {"<|content_thinking|>", "<|content_model_end_sampling|>"}},
		Role:  []string{"<|message_model|>"},
		Drop: []string{
			"<|end_message|>", "<|content_text|>", "<|content_invoke_tool_text|>",
			"<|content_tool_error|>", "<|content_model_end_sampling|>",
		},
		Write: Writing{
			Think: Pair{"<|content_thinking|>", "<|end_message|>"}, Text: Pair{"<|content_text|>", "<|end_message|>"},
			Next: "<|message_model|>", Call: `$name<|content_invoke_tool_json|>{"name":"$name","args":$args}<|end_message|>`,
			Sep: "<|message_model|>", Tight: true,
		},
		Tells: []Tell{{All: []string{"<|content_invoke_tool_json|>"}}},
	},
	{
		Name: "muse_glimmer", Title: "recipients and atem elements", Form: Header,
		Models: "Muse Glimmer",
		Wrap:   []Pair{{"<atem:function_calls>", "</atem:function_calls>"}},
		Sep:    []string{"<|message|>"},
		Tags: Tags{
			Call:  Pair{`<atem:invoke name="%s">`, "</atem:invoke>"},
			Param: Pair{`<atem:parameter name="%s">`, "</atem:parameter>"},
		},
		Prefilled: true,
		Drop:      []string{"<|eom|>", "<|eot|>", "<|message|>"},
		Head:      Head{End: "<|message|>", To: "to=", Thinkers: []string{"self"}, Users: []string{"user"}},
		Write: Writing{
			Think: Pair{" to=self<|message|>", "<|eom|>"}, Text: Pair{" to=user<|message|>", "<|eom|>"}, Next: "<|start|>assistant",
			Call: " to=$name<|message|><atem:function_calls>\n<atem:invoke name=\"$name\">\n$args</atem:invoke>\n</atem:function_calls><|eom|>",
			Sep:  "<|start|>assistant", Body: ParamsBody, Param: "<atem:parameter name=\"$key\">$value</atem:parameter>\n",
		},
		Results: Results{Role: llm.RoleTool, Each: "<tool_output name=\"$name\">\n$text\n</tool_output>", Sep: "\n"},
		Tells:   []Tell{{All: []string{"atem:"}}, {All: []string{"<tool_output name=", "to=self"}}},
	},
	{
		Name: "solar_open", Title: "id, name and object between tool_call tokens", Form: NameJSON, IDFirst: true,
		Models: "Solar Open",
		Wrap:   []Pair{{"<|tool_calls|>", ""}},
		Call:   []Pair{{"<|tool_call:begin|>", "<|tool_call:end|>"}},
		Sep:    []string{"<|tool_call:args|>"}, IDSep: []string{"<|tool_call:name|>"},
		Think: []Pair{{"<|think|>", "<|end|>"}},
		Drop:  []string{"<|begin|>assistant", "<|content|>", "<|end|>", "<|flush|>", "<|calls|>"},
		Write: Writing{
			Think: Pair{"<|begin|>assistant<|think|>", "<|end|>"}, Text: Pair{"<|begin|>assistant<|content|>", "<|end|>"},
			ID: Alnum10, Open: "<|begin|>assistant<|tool_calls|>",
			Call: "<|tool_call:begin|>$id<|tool_call:name|>$name<|tool_call:args|>$args<|tool_call:end|>",
		},
		Results: Results{
			Role: llm.RoleTool, ID: Alnum10, Open: "<|begin|>tool<|tool_response|>", Close: "<|end|>",
			Each: "<|tool_response:begin|>$id<|tool_response:name|>$name<|tool_response:result|>$text<|tool_response:end|>",
		},
		Tells: []Tell{{All: []string{"<|tool_call:begin|>"}}},
	},
	{
		Name: "hyperclova", Title: "JSON list in a tool role", Form: JSONCall, List: true,
		Models:  "HyperCLOVA X SEED Think",
		Wrap:    []Pair{{"<|im_start|>assistant -> tool/function_call", ""}, {"assistant -> tool/function_call", ""}, {"-> tool/function_call", ""}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{{"<|im_start|>assistant/think\n", "<|im_end|>"}, {"/think\n", "<|im_end|>"}}, AtStart: []string{"/think\n"},
		Drop: []string{"<|im_end|>", "<|im_start|>assistant", "<|stop|>", "<|endofturn|>"},
		Write: Writing{
			Think: Pair{"<|im_start|>assistant/think\n", ""}, Next: "<|im_end|>\n",
			Open: "<|im_start|>assistant -> tool/function_call\n[", Call: jsonCall, Sep: ", ", Close: "]<|im_end|>",
		},
		Tells: []Tell{{All: []string{"-> tool/function_call"}}},
	},
	{
		Name: "xlam", Title: "a bare JSON list", Form: JSONCall, List: true,
		Models:  "xLAM, Hammer",
		Wrap:    []Pair{{"```json", "```"}},
		NameKey: "name", ArgsKey: "arguments",
		Think: []Pair{think}, Bare: true,
		Write: Writing{Think: thinkLines, Lead: "\n", Open: "[", Call: jsonCall, Sep: ", ", Close: "]"},
		Tells: []Tell{
			{Order: 18, All: []string{`[{"name"`, `"arguments"`}},
			{Order: 18, All: []string{`"tool_calls"`, `"func_name1"`}},
		},
	},
	{
		Name: "glm4_classic", Title: "name, newline, object", Form: NameJSON,
		Models: "GLM-4-9B, GLM-4-0414, ChatGLM3",
		Sep:    []string{"\n"}, Think: []Pair{think}, Bare: true, ArgsFunc: "tool_call",
		Write:   Writing{Think: thinkLines, Lead: "\n", Call: "$name\n$args", Sep: "\n"},
		Results: Results{Role: llm.RoleTool, Each: "<|observation|>\n$text"},
		Tells:   []Tell{{Order: 17, All: []string{"<|observation|>"}}},
	},
}

// dsml is the markup of DeepSeek V3.2 and V4, which differ in one word.
func dsml(block string) Writing {
	return Writing{
		Think: Pair{"<think>", "</think>\n\n"}, Lead: "\n\n", Open: "<｜DSML｜" + block + ">\n", Close: "</｜DSML｜" + block + ">",
		Call: "<｜DSML｜invoke name=\"$name\">\n$args</｜DSML｜invoke>\n",
		Body: ParamsBody, Param: "<｜DSML｜parameter name=\"$key\" string=\"$string\">$value</｜DSML｜parameter>\n",
	}
}
