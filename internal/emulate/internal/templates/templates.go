// Package templates lists the control tokens of chat templates.
package templates

import "github.com/toolpost/toolpost/dialect/spec"

// Template is a form of chat template: how a server makes one text of a
// conversation, with control tokens that say who speaks and where a turn ends. A
// model obeys such a token even if it comes from a user or a tool result.
type Template struct {
	Name string
	// Families are the model families that use it, by their names in the
	// catalogue; none means any family.
	Families []string
	Tokens   []string
}

// Shapes are the delimiters of control tokens in the vocabularies of most
// models. Any word between them, without white space, may be a control token of
// some model, even if no template here lists it.
var Shapes = []spec.Pair{{Open: "<|", Close: "|>"}, {Open: "<｜", Close: "｜>"}}

// plain are the tokens of older vocabularies.
var plain = []string{"<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>"}

// All are the known chat templates, with all their tokens.
var All = []Template{
	{Name: "chatml", Tokens: []string{"<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>"}},
	{
		Name: "qwen", Families: []string{"qwen", "hermes", "smollm", "exaone", "mimo", "trinity", "granite", "nemotron", "step", "kat", "holo", "athene", "openthinker", "marco", "tpro", "intellect", "k2-think", "rnj"},
		Tokens: []string{
			"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<|vision_start|>", "<|vision_end|>",
			"<|image_pad|>", "<|video_pad|>", "<|box_start|>", "<|object_ref_start|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|repo_name|>", "<|file_sep|>",
		},
	},
	{
		Name: "llama2", Families: []string{"llama", "tinyllama", "goliath", "medllama", "meditron", "codebooga"},
		Tokens: append([]string{"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"}, plain...),
	},
	{
		Name: "llama3", Families: []string{"llama", "hermes", "functionary", "firefunction", "nemotron", "tulu", "cogito", "reflection", "toolace", "xlam"},
		Tokens: []string{
			"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>",
			"<|finetune_right_pad_id|>", "<|reserved_special_token_0|>",
		},
	},
	{
		Name: "llama4", Families: []string{"llama"},
		Tokens: []string{"<|header_start|>", "<|header_end|>", "<|eot|>", "<|eom|>", "<|python_start|>", "<|python_end|>", "<|image_start|>", "<|image_end|>"},
	},
	{
		Name: "mistral", Families: []string{"mistral", "llava", "bakllava", "zephyr", "dolphin", "capybara", "notus", "notux", "apriel", "sarvam"},
		Tokens: append([]string{
			"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[/TOOL_CALLS]",
			"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]",
			"[IMG]", "[IMG_BREAK]", "[IMG_END]", "[AUDIO]", "[BEGIN_AUDIO]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
		}, plain...),
	},
	{
		Name: "gemma", Families: []string{"gemma"},
		Tokens: append([]string{
			"<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<image_soft_token>", "<start_function_declaration>", "<end_function_declaration>",
			"<start_function_call>", "<end_function_call>", "<start_function_response>", "<end_function_response>", "<escape>", "[multimodal]",
		}, plain...),
	},
	{
		Name: "gemma4", Families: []string{"gemma"},
		Tokens: []string{
			"<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>",
			`<|"|>`, "<|think|>", "<|image|>", "<|audio|>", "<|video|>", "<|image>", "<image|>", "<|audio>", "<audio|>",
		},
	},
	{
		Name: "harmony", Families: []string{"gpt-oss", "gpt", "o-series"},
		Tokens: []string{
			"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>", "<|startoftext|>", "<|endofprompt|>",
		},
	},
	{
		Name: "deepseek", Families: []string{"deepseek", "deepscaler"},
		Tokens: []string{
			"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜▁pad▁｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
			"<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>",
			"<｜tool▁output▁end｜>", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "<｜DSML｜", "</｜DSML｜", "<think>", "</think>", "<|EOT|>", "### Instruction:", "### Response:",
		},
	},
	{
		Name: "kimi", Families: []string{"kimi"},
		Tokens: []string{
			"<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>", "<|im_end|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
			"<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|media_start|>", "<|media_content|>", "<|media_pad|>", "<|media_end|>",
			"[BOS]", "[EOS]", "[PAD]", "[EOT]", "◁think▷", "◁/think▷", "<think>", "</think>",
		},
	},
	{
		Name: "kimi3", Families: []string{"kimi"},
		Tokens: []string{"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>", "<|kimi_image_placeholder|>"},
	},
	{
		Name: "glm", Families: []string{"glm", "ling", "ring", "intellect"},
		Tokens: []string{
			"[gMASK]", "[MASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", "<|begin_of_image|>", "<|end_of_image|>",
			"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<think>", "</think>",
		},
	},
	{Name: "ling", Families: []string{"ling", "ring"}, Tokens: []string{"<role>", "</role>", "<|role_end|>", "<|startoftext|>"}},
	{
		Name: "minimax", Families: []string{"minimax"},
		Tokens: []string{
			"]~!b[", "]~b]", "[e~[", "]<]minimax[>[", "<beginning_of_sentence>", "<end_of_sentence>", "<minimax:tool_call>", "</minimax:tool_call>", "<mm:think>", "</mm:think>",
			"<think>", "</think>",
		},
	},
	{Name: "seed", Families: []string{"seed"}, Tokens: []string{
		"<seed:bos>", "<seed:eos>", "<seed:pad>", "<seed:think>", "</seed:think>", "<seed:tool_call>", "</seed:tool_call>", "<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>",
	}},
	{
		Name: "hunyuan", Families: []string{"hunyuan"},
		Tokens: []string{
			"<｜hy_begin▁of▁sentence｜>", "<｜hy_User｜>", "<｜hy_Assistant｜>", "<｜hy_eos｜>", "<｜hy_pad｜>", "<｜hy_place▁holder▁no▁2｜>", "<｜hy_place▁holder▁no▁3｜>",
			"<|startoftext|>", "<|extra_0|>", "<|extra_4|>", "<|eos|>", "<tool_sep>", "<tool_calls>", "</tool_calls>", "<tool_responses>", "</tool_responses>", "<answer>", "</answer>",
		},
	},
	{
		Name: "granite", Families: []string{"granite"},
		Tokens: []string{
			"<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<|tool_call|>", "<|start_of_cite|>", "<|end_of_cite|>", "<|start_of_plugin|>", "<|end_of_plugin|>",
			"<function_call>", "<function_response>",
		},
	},
	{Name: "phi", Families: []string{"phi"}, Tokens: []string{"<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|tool|>", "<|/tool|>", "<|tool_call|>", "<|/tool_call|>", "<|tool_response|>"}},
	{
		Name: "command", Families: []string{"command", "aya", "north"},
		Tokens: []string{
			"<BOS_TOKEN>", "<EOS_TOKEN>", "<PAD>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|SYSTEM_TOKEN|>",
			"<|START_THINKING|>", "<|END_THINKING|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>", "<|START_RESPONSE|>",
			"<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|IMG_PATCH|>", "<cofl:tool_calls>", "</cofl:tool_calls>",
		},
	},
	{
		Name: "nemotron", Families: []string{"nemotron"},
		Tokens: append([]string{"<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<extra_id_0>", "<extra_id_1>", "<TOOLCALL>", "</TOOLCALL>", "<TOOL_RESPONSE>", "</TOOL_RESPONSE>",
			"<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>", "<toolcall>", "</toolcall>"}, plain...),
	},
	{Name: "apertus", Families: []string{"apertus"}, Tokens: []string{
		"<|system_start|>", "<|system_end|>", "<|developer_start|>", "<|developer_end|>", "<|user_start|>", "<|user_end|>", "<|assistant_start|>", "<|assistant_end|>",
		"<|inner_prefix|>", "<|inner_suffix|>", "<|tools_prefix|>", "<|tools_suffix|>", "<s>", "</s>",
	}},
	{
		Name: "apriel", Families: []string{"apriel"},
		Tokens: []string{
			"<|begin_system|>", "<|begin_user|>", "<|begin_assistant|>", "<|begin_content|>", "<|begin_tool_result|>", "<|content|>", "<|tool_result|>", "<|end|>",
			"[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<tool_calls>", "</tool_calls>", "<available_tools>", "</available_tools>",
		},
	},
	{Name: "jamba", Families: []string{"jamba"}, Tokens: []string{"<|startoftext|>", "<|bom|>", "<|eom|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_calls>", "</tool_calls>"}},
	{Name: "lfm", Families: []string{"lfm"}, Tokens: []string{
		"<|startoftext|>", "<|tool_list_start|>", "<|tool_list_end|>", "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_response_start|>", "<|tool_response_end|>",
	}},
	{Name: "internlm", Families: []string{"internlm", "internvl"}, Tokens: []string{"<|action_start|>", "<|action_end|>", "<|plugin|>", "<|interpreter|>", "<s>", "</s>"}},
	{Name: "gigachat", Families: []string{"gigachat"}, Tokens: []string{"<|role_sep|>", "<|message_sep|>", "<|function_call|>", "<s>", "</s>"}},
	{Name: "bielik", Families: []string{"bielik"}, Tokens: []string{"<|function_list|>", "<|function_output|>", "<|function_call|>", "<s>", "</s>"}},
	{
		Name: "solar", Families: []string{"solar"},
		Tokens: []string{
			"<|begin|>", "<|end|>", "<|content|>", "<|think|>", "<|flush|>", "<|calls|>", "<|tool_calls|>", "<|tool:begin|>", "<|tool:end|>", "<|tools:begin|>", "<|tools:end|>",
			"<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>", "<|tool_call:end|>", "<|tool_response|>", "<|tool_response:begin|>", "<|tool_response:id|>",
			"<|tool_response:name|>", "<|tool_response:result|>", "<|tool_response:end|>", "### User:", "### Assistant:", "### System:",
		},
	},
	{Name: "exaone", Families: []string{"exaone"}, Tokens: []string{"[|system|]", "[|user|]", "[|assistant|]", "[|tool|]", "[|endofturn|]", "<tool_result>", "</tool_result>"}},
	{Name: "hyperclova", Families: []string{"hyperclova"}, Tokens: []string{"<|stop|>", "<|endofturn|>", "<|tool|>", "<|user|>", "<|assistant|>"}},
	{Name: "functionary", Families: []string{"functionary"}, Tokens: []string{"<|from|>", "<|recipient|>", "<|content|>", "<|stop|>"}},
	{Name: "laguna", Families: []string{"laguna"}, Tokens: []string{"<system>", "</system>", "<user>", "</user>", "<assistant>", "</assistant>"}},
	{Name: "longcat", Families: []string{"longcat"}, Tokens: []string{"<longcat_s>", "</longcat_s>", "<longcat_think>", "</longcat_think>", "<longcat_tool_call>", "</longcat_tool_call>"}},
	{Name: "step", Families: []string{"step"}, Tokens: []string{
		"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", "<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>",
		"<|BOT|>", "<|EOT|>", "<think>", "</think>",
	}},
	{Name: "dots", Families: []string{"dots"}, Tokens: []string{
		"<|system|>", "<|endofsystem|>", "<|userprompt|>", "<|endofuserprompt|>", "<|response|>", "<|endofresponse|>", "<dots_function_call>", "</dots_function_call>",
	}},
	{Name: "minicpm", Families: []string{"minicpm"}, Tokens: []string{"<tool_def_sep>", "<tool_sep>", "<用户>", "<AI>", "<s>", "</s>"}},
	{Name: "ernie", Families: []string{"ernie"}, Tokens: []string{"<|begin_of_sentence|>", "<|end_of_sentence|>", "<response>", "</response>", "<think>", "</think>", "<tool_call>", "</tool_call>"}},
	{Name: "inkling", Families: []string{"inkling"}, Tokens: []string{
		"<|message_model|>", "<|message_user|>", "<|message_system|>", "<|message_tool|>", "<|end_message|>", "<|content_text|>", "<|content_thinking|>",
		"<|content_invoke_tool_json|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>", "<|content_model_end_sampling|>",
	}},
	{Name: "muse", Families: []string{"muse"}, Tokens: []string{"<|start|>", "<|message|>", "<|eom|>", "<|eot|>", "<|patch|>", "<atem:function_calls>", "</atem:function_calls>"}},
	{Name: "olmo", Families: []string{"olmo", "tulu"}, Tokens: []string{"<|system|>", "<|user|>", "<|assistant|>", "<function_calls>", "</function_calls>", "<functions>", "</functions>"}},
	{Name: "falcon", Families: []string{"falcon"}, Tokens: []string{"<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>"}},
	{Name: "reka", Families: []string{"reka"}, Tokens: []string{"<sep>", "<|endoftext|>"}},
	{Name: "grok", Families: []string{"grok"}, Tokens: []string{"<|separator|>", "<|eos|>"}},
	{Name: "openchat", Families: []string{"openchat", "starling"}, Tokens: []string{"<|end_of_turn|>", "GPT4 Correct User:", "GPT4 Correct Assistant:"}},
	{Name: "megrez", Families: []string{"megrez"}, Tokens: []string{"<|role_start|>", "<|role_end|>", "<|turn_end|>"}},
	{Name: "vicuna", Families: []string{"vicuna", "wizardlm", "orca", "samantha", "xwinlm", "llava"}, Tokens: []string{"\nUSER:", "\nASSISTANT:", "</s>"}},
	{
		Name: "alpaca", Families: []string{"alpaca", "wizardlm", "orca", "magicoder", "codeup", "everythinglm", "neural-chat", "guanaco", "nexusraven", "sqlcoder"},
		Tokens: []string{"### Instruction:", "### Response:", "### Input:", "### Human:", "### Assistant:", "### System:", "### User:"},
	},
	{Name: "claude", Families: []string{"claude"}, Tokens: []string{"\n\nHuman:", "\n\nAssistant:", "\n\nSystem:"}},
	{Name: "qwen_agent", Families: []string{"qwen"}, Tokens: []string{"✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", "✿RETURN✿"}},
}
