package dialect

// The calls and thinking blocks that several dialects share.
const (
	jsonCall   = `{"name": "$name", "arguments": $args}`
	paramsCall = `{"name": "$name", "parameters": $args}`
	pyCall     = `$name($args)`
	ns         = "]<]minimax[>["
)

var (
	thinkTags  = [2]string{"<think>", "</think>"}
	thinkLines = [2]string{"<think>\n", "\n</think>\n\n"}
	oldThink   = [2]string{"<thinking>", "</thinking>\n"}
)

// scripts says how each dialect is written, in the spelling its models were
// taught. Reading accepts far more.
var scripts = map[string]script{
	"hermes_json":         {think: thinkLines, lead: "\n", call: "<tool_call>\n" + jsonCall + "\n</tool_call>", sep: "\n"},
	"hermes_plural_array": {think: thinkTags, open: "<tool_calls>[", call: jsonCall, sep: ", ", close: "]</tool_calls>"},
	"minimax_m1":          {think: thinkTags, open: "<tool_calls>\n", call: jsonCall, sep: "\n", close: "\n</tool_calls>"},
	"granite3":            {think: thinkTags, open: "<|tool_call|>[", call: jsonCall, sep: ", ", close: "]"},
	"granite20b_fc":       {think: thinkTags, lead: "\n", call: "<function_call> " + jsonCall, sep: "\n"},
	"longcat":             {think: [2]string{"<longcat_think>", "</longcat_think>"}, call: "<longcat_tool_call>" + jsonCall + "</longcat_tool_call>", sep: "\n"},
	"ernie45": {
		think: [2]string{"<think>\n", "\n</think>\n\n\n"}, text: [2]string{"<response>\n", "\n</response>\n"},
		call: "<tool_call>\n" + jsonCall + "\n</tool_call>", sep: "\n", end: "\n",
	},
	"nemotron_nano_v2": {think: thinkTags, open: "<TOOLCALL>[", call: jsonCall, sep: ", ", close: "]</TOOLCALL>"},

	"qwen3_coder_xml": {
		think: thinkLines, lead: "\n", call: "<tool_call>\n<function=$name>\n$args</function>\n</tool_call>", sep: "\n",
		form: form{body: paramsBody, param: "<parameter=$key>\n$value\n</parameter>\n"},
	},
	"seed_oss": {
		think: [2]string{"<seed:think>", "</seed:think>"}, lead: "\n",
		call: "<seed:tool_call>\n<function=$name>\n$args</function>\n</seed:tool_call>", sep: "\n",
		form: form{body: paramsBody, param: "<parameter=$key>$value</parameter>\n"},
	},
	"glm45": {
		think: thinkLines, lead: "\n", call: "<tool_call>$name\n$args</tool_call>", sep: "\n",
		form: form{body: paramsBody, param: "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"},
	},
	"glm47": {
		think: thinkTags, call: "<tool_call>$name$args</tool_call>",
		form: form{body: paramsBody, param: "<arg_key>$key</arg_key><arg_value>$value</arg_value>"},
	},
	"hy_v3": {
		think: thinkTags, lead: "\n", open: "<tool_calls>\n", call: "<tool_call>$name<tool_sep>\n$args</tool_call>\n", close: "</tool_calls>",
		form: form{body: paramsBody, param: "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"},
	},
	"minimax_m2": {
		think: thinkLines, lead: "\n", open: "<minimax:tool_call>\n", call: "<invoke name=\"$name\">\n$args</invoke>\n", close: "</minimax:tool_call>",
		form: form{body: paramsBody, param: "<parameter name=\"$key\">$value</parameter>\n"},
	},
	"minimax_m3": {
		think: [2]string{"<mm:think>", "</mm:think>"}, lead: "\n",
		open: ns + "<tool_call>\n", call: ns + "<invoke name=\"$name\">\n$args" + ns + "</invoke>\n", close: ns + "</tool_call>",
		form: form{body: paramsBody, param: ns + "<$key>$value" + ns + "</$key>\n", node: ns + "<$key>\n$value" + ns + "</$key>\n", item: "item"},
	},
	"deepseek_dsml_v32": dsml("function_calls"),
	"deepseek_dsml_v4":  dsml("tool_calls"),
	"deepseek_v3": {
		think: thinkLines, open: "<｜tool▁calls▁begin｜>",
		call: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$args\n```<｜tool▁call▁end｜>", sep: "\n", close: "<｜tool▁calls▁end｜>",
	},
	"deepseek_v31": {
		think: thinkTags, open: "<｜tool▁calls▁begin｜>", call: "<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$args<｜tool▁call▁end｜>", close: "<｜tool▁calls▁end｜>",
	},
	"kimi_k2": {
		think: thinkTags, id: nameIndex, open: "<|tool_calls_section_begin|>",
		call: "<|tool_call_begin|>$id<|tool_call_argument_begin|>$args<|tool_call_end|>", close: "<|tool_calls_section_end|>",
	},
	"kimi_k3": {
		think: [2]string{"<|open|>think<|sep|>", "<|close|>think<|sep|>"}, text: [2]string{"<|open|>response<|sep|>", "<|close|>response<|sep|>"},
		id: oneBased, open: "<|open|>tools<|sep|>", call: `<|open|>call tool="$name" index="$id"<|sep|>$args<|close|>call<|sep|>`,
		close: "<|close|>tools<|sep|>", end: "<|close|>message<|sep|>",
		form: form{body: paramsBody, param: `<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>`},
	},

	"mistral_json":    {think: thinkLines, id: alnum9, open: "[TOOL_CALLS] [", call: `{"name": "$name", "arguments": $args, "id": "$id"}`, sep: ", ", close: "]"},
	"mistral_v11":     {think: [2]string{"[THINK]", "[/THINK]"}, call: "[TOOL_CALLS]$name[ARGS]$args"},
	"mistral_call_id": {think: thinkLines, id: alnum9, call: "[TOOL_CALLS]$name[CALL_ID]$id[ARGS]$args"},
	"harmony": {
		think: [2]string{"<|channel|>analysis<|message|>", "<|end|>"}, text: [2]string{"<|channel|>final<|message|>", "<|end|>"},
		intro: [2]string{"<|channel|>commentary<|message|>", "<|end|>"}, next: "<|start|>assistant",
		call: "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$args<|call|>", sep: "<|start|>assistant",
	},
	"gemma4": {
		think: [2]string{"<|channel>thought\n", "<channel|>"}, call: "<|tool_call>call:$name$args<tool_call|>",
		form: form{body: bareBody, delim: `<|"|>`},
	},
	"functiongemma": {
		think: thinkTags, call: "<start_function_call>call:$name$args<end_function_call>",
		form: form{body: bareBody, delim: "<escape>"},
	},
	"gemma3_prompted": {think: thinkTags, lead: "\n", open: "```tool_code\n", call: pyCall, sep: "\n", close: "\n```", form: form{body: pythonBody}},
	"llama3_json":     {think: thinkTags, lead: "\n", call: paramsCall, sep: "; "},
	"llama3_builtin":  {think: thinkTags, call: "<|python_tag|>$name.call($args)<|eom_id|>", form: form{body: pythonBody}},
	"functionary_v31": {think: thinkTags, call: "<function=$name>$args</function>"},
	"functionary_v32": {think: thinkTags, text: [2]string{"all\n", ""}, next: ">>>", call: "$name\n$args", sep: ">>>"},
	"pythonic":        {think: thinkTags, lead: "\n", open: "[", call: pyCall, sep: ", ", close: "]", form: form{body: pythonBody}},
	"olmo3":           {think: thinkTags, open: "<function_calls>\n", call: pyCall, sep: "\n", close: "\n</function_calls>", form: form{body: pythonBody}},
	"lfm2":            {think: thinkTags, open: "<|tool_call_start|>[", call: pyCall, sep: ", ", close: "]<|tool_call_end|>", form: form{body: pythonBody}},
	"phi4_functools":  {think: thinkTags, lead: "\n", open: "functools[", call: jsonCall, sep: ", ", close: "]"},
	"command_r_plus": {
		think: thinkLines, lead: "\n", open: "Action: ```json\n[\n", sep: ",\n", close: "\n]\n```",
		call: "    {\n        \"tool_name\": \"$name\",\n        \"parameters\": $args\n    }",
	},
	"command_action": {
		think: [2]string{"<|START_THINKING|>", "<|END_THINKING|>"}, text: [2]string{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
		id: counter, open: "<|START_ACTION|>[\n", sep: ",\n", close: "\n]<|END_ACTION|>",
		call: `    {"tool_call_id": "$id", "tool_name": "$name", "parameters": $args}`,
	},
	"cohere_cofl": {
		think: [2]string{"<|START_THINKING|>", "<|END_THINKING|>"}, text: [2]string{"<|START_TEXT|>", "<|END_TEXT|>"},
		id: counter, open: "<cofl:tool_calls>", call: `<cofl:tool_call id="$id" name="$name">$args</cofl:tool_call>`, close: "</cofl:tool_calls>",
		form: form{
			body: paramsBody, types: []string{"raw", "json", "json", "json", "dict", "list"},
			param: `<cofl:value$attr type="$type">$value</cofl:value>`, node: `<cofl:value$attr type="$type">$value</cofl:value>`,
		},
	},
	"apertus":   {think: [2]string{"<|inner_prefix|>", "<|inner_suffix|>"}, open: "<|tools_prefix|>[", call: `{"$name": $args}`, sep: ", ", close: "]<|tools_suffix|>"},
	"internlm":  {think: thinkTags, call: "<|action_start|><|plugin|>\n" + paramsCall + "<|action_end|>", sep: "\n"},
	"gigachat3": {think: thinkTags, call: "<|function_call|>" + jsonCall},
	"step3": {
		think: thinkLines, open: "<｜tool_calls_begin｜>\n", close: "<｜tool_calls_end｜>",
		call: "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"$name\">\n$args</steptml:invoke><｜tool_call_end｜>\n",
		form: form{body: paramsBody, param: "<steptml:parameter name=\"$key\">$value</steptml:parameter>\n"},
	},
	"dots": {
		think: thinkLines, lead: "\n", open: "<dots_function_call>\n", call: "<invoke name=\"$name\">\n$args</invoke>\n", close: "</dots_function_call>",
		form: form{body: paramsBody, param: "<parameter name=\"$key\">$value</parameter>\n"},
	},
	"minicpm5": {
		think: thinkLines, call: `<function name="$name">$args</function>`, sep: "\n",
		form: form{body: paramsBody, param: `<param name="$key">$value</param>`, cdata: true},
	},
	"inkling": {
		think: [2]string{"<|content_thinking|>", "<|end_message|>"}, text: [2]string{"<|content_text|>", "<|end_message|>"}, next: "<|message_model|>",
		call: `$name<|content_invoke_tool_json|>{"name":"$name","args":$args}<|end_message|>`, sep: "<|message_model|>", form: form{tight: true},
	},
	"muse_glimmer": {
		think: [2]string{" to=self<|message|>", "<|eom|>"}, text: [2]string{" to=user<|message|>", "<|eom|>"}, next: "<|start|>assistant",
		call: " to=$name<|message|><atem:function_calls>\n<atem:invoke name=\"$name\">\n$args</atem:invoke>\n</atem:function_calls><|eom|>", sep: "<|start|>assistant",
		form: form{body: paramsBody, param: "<atem:parameter name=\"$key\">$value</atem:parameter>\n"},
	},
	"solar_open": {
		think: [2]string{"<|begin|>assistant<|think|>", "<|end|>"}, text: [2]string{"<|begin|>assistant<|content|>", "<|end|>"},
		id: alnum10, open: "<|begin|>assistant<|tool_calls|>", call: "<|tool_call:begin|>$id<|tool_call:name|>$name<|tool_call:args|>$args<|tool_call:end|>",
	},
	"hyperclova": {
		think: [2]string{"<|im_start|>assistant/think\n", ""}, next: "<|im_end|>\n",
		open: "<|im_start|>assistant -> tool/function_call\n[", call: jsonCall, sep: ", ", close: "]<|im_end|>",
	},

	"xlam":         {think: thinkLines, lead: "\n", open: "[", call: jsonCall, sep: ", ", close: "]"},
	"glm4_classic": {think: thinkLines, lead: "\n", call: "$name\n$args", sep: "\n"},
	"qwen_agent":   {think: thinkLines, lead: "\n", call: "✿FUNCTION✿: $name\n✿ARGS✿: $args\n", close: "✿RESULT✿:"},
	"react":        {think: [2]string{"Thought: ", "\n"}, lead: "\n", call: "Action: $name\nAction Input: $args", sep: "\n"},
	"claude_xml": {
		think: oldThink, lead: "\n", open: "<function_calls>\n", call: "<invoke name=\"$name\">\n$args</invoke>\n", close: "</function_calls>",
		form: form{body: paramsBody, param: "<parameter name=\"$key\">$value</parameter>\n"},
	},
	"xml_tagname": {
		think: oldThink, lead: "\n", call: "<$name>\n$args</$name>", sep: "\n",
		form: form{body: paramsBody, param: "<$key>$value</$key>\n", node: "<$key>\n$value</$key>\n", item: "="},
	},
	"json_fence": {think: thinkLines, lead: "\n", call: "```json\n{\"tool\": \"$name\", \"arguments\": $args}\n```", sep: "\n\n"},
	"envelope": {
		think: thinkLines, whole: true, text: [2]string{`{"type":"text","text":`, "}"},
		open: `{"type":"tool-calls","calls":[`, call: `{"toolName":"$name","input":$args}`, sep: ",", close: "]}", form: form{tight: true},
	},
}

// dsml is the markup of DeepSeek V3.2 and V4, which differ in one word.
func dsml(block string) script {
	return script{
		think: [2]string{"<think>", "</think>\n\n"}, lead: "\n\n", open: "<｜DSML｜" + block + ">\n", close: "</｜DSML｜" + block + ">",
		call: "<｜DSML｜invoke name=\"$name\">\n$args</｜DSML｜invoke>\n",
		form: form{body: paramsBody, param: "<｜DSML｜parameter name=\"$key\" string=\"$string\">$value</｜DSML｜parameter>\n"},
	}
}
