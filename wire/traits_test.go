package wire

import (
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

func usageWithCache(g *gen) llm.Usage {
	return llm.Usage{Input: 100 + g.IntN(99), Output: 50, CacheRead: g.IntN(50), CacheWrite: g.IntN(50), Reasoning: g.IntN(9)}
}

func state(format, data string) llm.State {
	return llm.State{Vendor: format, Data: json.RawMessage(data)}
}

// formatTraits is what each format carries.
var formatTraits = map[string]traits{
	Chat: {
		texts: true, oneText: true, developer: true, systemMid: true, document: true, docName: "a.pdf", mediaURL: true, audio: true,
		free: true, refusal: true, strict: true, allowed: true, choice: true, oneCall: true, penalties: true, seed: true,
		outputName: true, plainJSON: true, noThinking: true, cutCalls: true,
		search:    &llm.HostedConfig{ContextSize: "low", Location: &llm.Location{City: "Paris", Country: "FR"}},
		thinking:  func(g *gen) llm.Thinking { return llm.Thinking{Text: g.sentence()} },
		citation:  func(g *gen) llm.Citation { return llm.Citation{URL: "https://a.b", Title: g.word(), Start: 1, End: 2} },
		reasoning: []llm.Reasoning{{Effort: "low"}, {Off: true}},
		extras:    []string{"logit_bias", "prompt_cache_key"}, partExtra: "cache_control",
		usage: usageWithCache,
		raws: map[llm.Reason][]string{
			llm.Stop: {"stop"}, llm.ToolCalls: {"tool_calls"}, llm.Length: {"length"}, llm.ContentFilter: {"content_filter"},
		},
	},
	Responses: {
		interleave: true, signedText: true, developer: true, systemMid: true, richResult: true, document: true, docName: "a.pdf", mediaURL: true,
		free: true, refusal: true, strict: true, allowed: true, choice: true, oneCall: true, schema: true, strictAlways: true,
		outputName: true, plainJSON: true, cutCalls: true, noStop: true,
		search: &llm.HostedConfig{
			Type: "web_search", AllowedDomains: []string{"a.b"}, ContextSize: "low", Location: &llm.Location{City: "Paris"},
			Options: map[string]json.RawMessage{"external_web_access": json.RawMessage(`true`)},
		},
		thinking: func(g *gen) llm.Thinking {
			return llm.Thinking{Text: "a\n\nb", State: state(Responses,
				`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gAAA"}`)}
		},
		citation:  func(g *gen) llm.Citation { return llm.Citation{URL: "https://a.b", Title: g.word(), Start: 1, End: 2} },
		reasoning: []llm.Reasoning{{Effort: "low", Summary: "auto"}, {Off: true}},
		extras:    []string{"previous_response_id", "include", "metadata"}, partExtra: "prompt_cache_breakpoint",
		usage: usageWithCache,
		hostedPart: func(g *gen) []llm.Part {
			return []llm.Part{
				llm.Call{
					ID: "ws_1", Name: llm.WebSearch, Hosted: true, Args: json.RawMessage(`{"type":"search","query":"x"}`),
					State: state(Responses, `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}`),
				},
				llm.Call{
					ID: "ci_1", Name: "code_execution", Hosted: true, Args: json.RawMessage(`{"code":"1+1"}`),
					State: state(Responses, `{"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"1+1","container_id":"c","outputs":[{"type":"logs","logs":"2"}]}`),
				},
				llm.Result{CallID: "ci_1", Name: "code_execution", Hosted: true, Parts: []llm.Part{llm.Text{Text: "2"}}},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"completed"}, llm.ToolCalls: {"completed"}, llm.Length: {"max_output_tokens"}, llm.ContentFilter: {"content_filter"},
		},
	},
	Messages: {
		interleave: true, texts: true, systemMid: true, failed: true, richResult: true, document: true, docName: "a.pdf", mediaURL: true,
		strict: true, examples: true, choice: true, oneCall: true, topK: true, maxTokens: true, schema: true,
		search: &llm.HostedConfig{
			Type: "web_search_20250305", MaxUses: 3, AllowedDomains: []string{"a.b"}, BlockedDomains: []string{"c.d"},
			Location: &llm.Location{City: "Paris", Region: "IDF", Country: "FR", Timezone: "Europe/Paris"},
			Options:  map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)},
		},
		thinking: func(g *gen) llm.Thinking {
			if g.maybe() {
				return llm.Thinking{Redacted: true, State: state(Messages, `{"data":"opaque"}`)}
			}
			return llm.Thinking{Text: g.sentence(), State: state(Messages, `{"signature":"EqQBCg=="}`)}
		},
		citation: func(g *gen) llm.Citation {
			return llm.Citation{URL: "https://a.b", Title: "T", Quote: "q", Raw: state(Messages,
				`{"type":"web_search_result_location","url":"https://a.b","title":"T","encrypted_index":"x","cited_text":"q"}`)}
		},
		reasoning: []llm.Reasoning{{Budget: 1024}, {Effort: "high", Summary: "summarized"}, {Off: true}, {Budget: 99, Effort: "low"}},
		extras:    []string{"metadata", "container"}, partExtra: "cache_control",
		usage: func(g *gen) llm.Usage {
			u := usageWithCache(g)
			u.Hosted = map[string]int{"web_search": 2}
			return u
		},
		hostedPart: func(g *gen) []llm.Part {
			return []llm.Part{
				llm.Call{
					ID: "srvtoolu_1", Name: "web_search", Hosted: true, Args: json.RawMessage(`{"query":"x"}`),
					State: state(Messages, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`),
				},
				llm.Result{
					CallID: "srvtoolu_1", Name: "web_search", Hosted: true, Parts: []llm.Part{llm.Text{Text: "T\nhttps://a.b"}},
					State: state(Messages, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://a.b","title":"T","encrypted_content":"E"}]}`),
				},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"end_turn"}, llm.ToolCalls: {"tool_use"}, llm.Length: {"max_tokens"}, llm.ContentFilter: {"refusal"},
		},
	},
	Gemini: {
		interleave: true, texts: true, oneText: true, failed: true, richResult: true, document: true, audio: true,
		choice: true, allowed: true, allowedMay: true, penalties: true, seed: true, topK: true, plainJSON: true,
		search: &llm.HostedConfig{Type: "googleSearch", BlockedDomains: []string{"c.d"}},
		thinking: func(g *gen) llm.Thinking {
			return llm.Thinking{Text: g.sentence(), State: state(Gemini, `{"thoughtSignature":"c2ln"}`)}
		},
		reasoning: []llm.Reasoning{{Effort: "low"}, {Off: true}, {Budget: 100}, {Budget: 5, Summary: "none"}},
		extras:    []string{"safetySettings", "cachedContent"}, partExtra: "partMetadata",
		usage: func(g *gen) llm.Usage {
			return llm.Usage{Input: 100 + g.IntN(99), Output: 50, CacheRead: g.IntN(50), Reasoning: g.IntN(9)}
		},
		hostedPart: func(g *gen) []llm.Part {
			g.hostedCalls++
			id := fmt.Sprintf("hosted_%d", g.hostedCalls)
			return []llm.Part{
				llm.Call{
					ID: id, Name: "code_execution", Hosted: true, Args: json.RawMessage(`{"language":"PYTHON","code":"1+1"}`),
					State: state(Gemini, `{"executableCode":{"language":"PYTHON","code":"1+1"}}`),
				},
				llm.Result{
					CallID: id, Name: "code_execution", Hosted: true, Parts: []llm.Part{llm.Text{Text: "2"}},
					State: state(Gemini, `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}`),
				},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"STOP"}, llm.ToolCalls: {"STOP"}, llm.Length: {"MAX_TOKENS"}, llm.ContentFilter: {"SAFETY"},
		},
	},
	Converse: {
		interleave: true, texts: true, systemMid: true, failed: true, richResult: true, document: true, audio: true, docName: "report (2) [a-b]",
		strict: true, choice: true, noNone: true, schema: true, noID: true, noModel: true,
		search: &llm.HostedConfig{Type: "systemTool"},
		thinking: func(g *gen) llm.Thinking {
			if g.maybe() {
				return llm.Thinking{Redacted: true, State: state(Converse, `{"redactedContent":"b3BhcXVl"}`)}
			}
			return llm.Thinking{Text: g.sentence(), State: state(Converse, `{"signature":"EqQBCg=="}`)}
		},
		citation: func(g *gen) llm.Citation {
			return llm.Citation{URL: "https://a.b", Title: "T", Quote: "q", Raw: state(Converse,
				`{"title":"T","sourceContent":[{"text":"q"}],"location":{"web":{"url":"https://a.b","domain":"a.b"}}}`)}
		},
		reasoning: []llm.Reasoning{{Effort: "high"}, {Effort: "low"}},
		extras: []string{
			"guardrailConfig", "requestMetadata", "performanceConfig", "serviceTier", "inferenceConfig", "outputConfig", "additionalModelRequestFields",
		},
		partExtra: "cachePoint",
		usage: func(g *gen) llm.Usage {
			return llm.Usage{Input: 100 + g.IntN(99), Output: 50, CacheRead: g.IntN(50), CacheWrite: g.IntN(50)}
		},
		hostedPart: func(g *gen) []llm.Part {
			return []llm.Part{
				llm.Call{
					ID: "tooluse_h", Name: "code_execution", Hosted: true, Args: json.RawMessage(`{"snippet":"1+1"}`),
					State: state(Converse, `{"toolUse":{"toolUseId":"tooluse_h","name":"nova_code_interpreter","type":"server_tool_use","input":{"snippet":"1+1"}}}`),
				},
				llm.Result{
					CallID: "tooluse_h", Name: "code_execution", Hosted: true, Parts: []llm.Part{llm.Text{Text: `{"stdOut":"2"}`}},
					State: state(Converse, `{"toolResult":{"toolUseId":"tooluse_h","type":"nova_code_interpreter_result","status":"success","content":[{"json":{"stdOut":"2"}}]}}`),
				},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"end_turn"}, llm.ToolCalls: {"tool_use"}, llm.Length: {"max_tokens"}, llm.ContentFilter: {"content_filtered"},
		},
	},
	Ollama: {
		systemMid: true, oneText: true, schema: true, penalties: true, seed: true, topK: true, plainJSON: true, noID: true,
		thinking:  func(g *gen) llm.Thinking { return llm.Thinking{Text: g.sentence()} },
		reasoning: []llm.Reasoning{{Effort: "low"}, {Off: true}, {}},
		extras:    []string{"keep_alive"},
		raws: map[llm.Reason][]string{
			llm.Stop: {"stop"}, llm.ToolCalls: {"stop"}, llm.Length: {"length"}, llm.ContentFilter: {"content_filter"},
		},
	},
}
