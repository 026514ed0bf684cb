package dialect

import "strings"

// tell is a sign in a chat template that its model writes a dialect.
type tell struct {
	dialect string
	all     []string // each stands in the template
}

// tells are tried in order; the first that fits wins. What only one family
// uses comes first, then the markers that several share, told apart by what
// stands beside them, and the forms without markers last.
var tells = []tell{
	{dialect: "deepseek_dsml_v4", all: []string{"｜DSML｜", "tool_calls>"}},
	{dialect: "deepseek_dsml_v32", all: []string{"｜DSML｜"}},
	{dialect: "minimax_m3", all: []string{"]<]minimax[>["}},
	{dialect: "minimax_m3", all: []string{"<mm:think>"}},
	{dialect: "minimax_m2", all: []string{"<minimax:tool_call>"}},
	{dialect: "cohere_cofl", all: []string{"<cofl:tool_call"}},
	{dialect: "muse_glimmer", all: []string{"atem:"}},
	{dialect: "muse_glimmer", all: []string{"<tool_output name=", "to=self"}},
	{dialect: "inkling", all: []string{"<|content_invoke_tool_json|>"}},
	{dialect: "solar_open", all: []string{"<|tool_call:begin|>"}},
	{dialect: "kimi_k3", all: []string{"<|open|>", "<|sep|>"}},
	{dialect: "kimi_k2", all: []string{"<|tool_calls_section_begin|>"}},
	{dialect: "kimi_k2", all: []string{"<|tool_call_argument_begin|>"}},
	{dialect: "step3", all: []string{"<steptml:invoke"}},
	{dialect: "step3", all: []string{"<｜tool_calls_begin｜>"}},
	{dialect: "deepseek_v3", all: []string{"<｜tool▁sep｜>", "```json"}},
	{dialect: "deepseek_v31", all: []string{"<｜tool▁sep｜>"}},
	{dialect: "harmony", all: []string{"<|channel|>", "<|message|>"}},
	{dialect: "gemma4", all: []string{"<|tool_call>"}},
	{dialect: "gemma4", all: []string{`<|"|>`}},
	{dialect: "functiongemma", all: []string{"<start_function_call>"}},
	{dialect: "command_action", all: []string{"<|START_ACTION|>"}},
	{dialect: "command_r_plus", all: []string{"Action:", `"tool_name"`}},
	{dialect: "apertus", all: []string{"<|tools_prefix|>"}},
	{dialect: "apertus", all: []string{"<|inner_prefix|>"}},
	{dialect: "internlm", all: []string{"<|action_start|>"}},
	{dialect: "internlm", all: []string{"<|plugin|>"}},
	{dialect: "hyperclova", all: []string{"-> tool/function_call"}},
	{dialect: "gigachat3", all: []string{"<|role_sep|>"}},
	{dialect: "gigachat3", all: []string{"<|function_call|>"}},
	{dialect: "longcat", all: []string{"<longcat_tool_call>"}},
	{dialect: "seed_oss", all: []string{"<seed:tool_call>"}},
	{dialect: "dots", all: []string{"<dots_function_call>"}},
	{dialect: "nemotron_nano_v2", all: []string{"<TOOLCALL>"}},
	{dialect: "lfm2", all: []string{"<|tool_call_start|>"}},
	{dialect: "lfm2", all: []string{"<|tool_list_start|>"}},
	{dialect: "lfm2", all: []string{"List of tools: ["}},
	{dialect: "qwen_agent", all: []string{"✿FUNCTION✿"}},
	{dialect: "mistral_call_id", all: []string{"[TOOL_CALLS]", "[CALL_ID]"}},
	{dialect: "mistral_v11", all: []string{"[TOOL_CALLS]", "[ARGS]"}},
	{dialect: "mistral_json", all: []string{"[TOOL_CALLS]"}},

	{dialect: "minicpm5", all: []string{"<function name=", "<param name="}},
	{dialect: "hy_v3", all: []string{"<tool_sep"}},
	{dialect: "hy_v3", all: []string{"tool_sep", "arg_key", "tool_calls"}},
	{dialect: "glm47", all: []string{"</arg_key><arg_value>"}},
	{dialect: "glm45", all: []string{"</arg_key>\n"}},
	{dialect: "glm45", all: []string{"</arg_key>\r"}},
	{dialect: "glm45", all: []string{`</arg_key>\n`}},
	{dialect: "glm47", all: []string{"<arg_key>"}},
	{dialect: "qwen3_coder_xml", all: []string{"<function=", "<parameter="}},
	{dialect: "claude_xml", all: []string{"<function_calls>", "<invoke"}},
	{dialect: "olmo3", all: []string{"<function_calls>"}},
	{dialect: "functionary_v32", all: []string{">>>"}},
	{dialect: "functionary_v31", all: []string{"<function="}},
	{dialect: "granite20b_fc", all: []string{"<function_call>"}},
	{dialect: "phi4_functools", all: []string{"functools"}},
	{dialect: "granite3", all: []string{"<|tool_call|>"}},
	{dialect: "minimax_m1", all: []string{"<tool_calls>\n{"}},
	{dialect: "minimax_m1", all: []string{`<tool_calls>\n{`}},
	{dialect: "minimax_m1", all: []string{"<tool_calls>", "<beginning_of_sentence>"}},
	{dialect: "hermes_plural_array", all: []string{"<tool_calls>"}},
	{dialect: "granite3", all: []string{"<tool_call>["}},
	{dialect: "ernie45", all: []string{"<tool_call>", "<response>"}},
	{dialect: "hermes_json", all: []string{"<tool_call>"}},

	{dialect: "pythonic", all: []string{"[func_name1("}},
	{dialect: "pythonic", all: []string{"<|python_start|>"}},
	{dialect: "gemma3_prompted", all: []string{"```tool_code"}},
	{dialect: "llama3_json", all: []string{"<|python_tag|>"}},
	{dialect: "llama3_json", all: []string{"<|start_header_id|>", `"parameters"`}},
	{dialect: "llama3_json", all: []string{"<|header_start|>", `"parameters"`}},
	{dialect: "react", all: []string{"Action Input:"}},
	{dialect: "glm4_classic", all: []string{"<|observation|>"}},
	{dialect: "xlam", all: []string{`[{"name"`, `"arguments"`}},
	{dialect: "xlam", all: []string{`"tool_calls"`, `"func_name1"`}},
}

// FromTemplate finds the dialect of a model in its chat template (Jinja as in
// tokenizer_config.json, or Go's as in Ollama) by the markers that stand in
// it. The template is searched, not run. why names the markers; both are empty
// if the template shows no dialect, as those of models without tools do.
func FromTemplate(text string) (name, why string) {
	for _, t := range tells {
		if t.fits(text) {
			return t.dialect, "the template contains " + strings.Join(t.all, " and ")
		}
	}
	return "", ""
}

func (t tell) fits(text string) bool {
	for _, s := range t.all {
		if !strings.Contains(text, s) {
			return false
		}
	}
	return true
}
