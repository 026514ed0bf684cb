package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/wire"
)

// moreAnswers use what each format has in answers.
var moreAnswers = map[string][]string{
	wire.Chat: {`{"id":"a","object":"chat.completion","created":1,"model":"m","system_fingerprint":"fp","service_tier":"default","choices":[{"index":0,"finish_reason":"tool_calls","logprobs":{"content":[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[{"token":"a","logprob":-1,"bytes":[97]}]}],"refusal":null},
		"message":{"role":"assistant","content":"hi","refusal":null,"reasoning_content":"t","annotations":[{"type":"url_citation","url_citation":{"url":"https://a.test","title":"t","start_index":0,"end_index":1}}],
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"custom","custom":{"name":"g","input":"x"}}]}},
		{"index":1,"finish_reason":"stop","message":{"role":"assistant","content":"ho","audio":{"id":"au","data":"YQ==","expires_at":1,"transcript":"a"}}}],
		"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":2,"audio_tokens":0}}}`,
		`{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi","reasoning":"t","reasoning_details":[{"type":"reasoning.text","text":"t","index":0}],"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}}]}`},
	wire.Responses: {`{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"t"}],"content":[{"type":"reasoning_text","text":"u"}]},
		{"type":"message","id":"msg","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[{"type":"url_citation","url":"https://a.test","title":"t","start_index":0,"end_index":1}],"logprobs":[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[{"token":"a","logprob":-1,"bytes":[97]}]}]},{"type":"refusal","refusal":"no"}]},
		{"type":"function_call","id":"fc","status":"completed","call_id":"c1","name":"f","arguments":"{}"},{"type":"custom_tool_call","id":"ct","status":"completed","call_id":"c2","name":"g","input":"x"},
		{"type":"web_search_call","id":"ws","status":"completed","action":{"type":"search","query":"q","sources":[{"type":"url","url":"https://a.test"}]}},{"type":"code_interpreter_call","id":"ci","status":"completed","code":"1","container_id":"c","outputs":[{"type":"logs","logs":"1"}]},
		{"type":"image_generation_call","id":"ig","status":"completed","result":"iVBORw0KGgo="},{"type":"mcp_call","id":"mc","server_label":"s","name":"n","arguments":"{}","output":"o"}],
		"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":1},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":11},"text":{"format":{"type":"text"}},"reasoning":{"effort":"low"},"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`,
		`{"id":"r","object":"response","created_at":1,"model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","id":"msg","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":6,"total_tokens":11}}`},
	wire.Messages: {`{"id":"a","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,"content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"d"},
		{"type":"text","text":"hi","citations":[{"type":"char_location","cited_text":"c","document_index":0,"document_title":"d","start_char_index":0,"end_char_index":1},{"type":"web_search_result_location","url":"https://a.test","title":"t","encrypted_index":"e","cited_text":"c"}]},
		{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"https://a.test","title":"t","encrypted_content":"e"}]},
		{"type":"tool_use","id":"c1","name":"f","input":{},"caller":{"type":"direct"}}],
		"usage":{"input_tokens":5,"output_tokens":6,"cache_creation_input_tokens":1,"cache_read_input_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":0},"server_tool_use":{"web_search_requests":1}},"container":{"id":"c","expires_at":"2026-01-01T00:00:00Z"}}`},
	wire.Gemini: {`{"responseId":"a","modelVersion":"m","promptFeedback":{"safetyRatings":[{"category":"C","probability":"LOW"}]},"candidates":[{"index":0,"finishReason":"STOP","avgLogprobs":-1,"content":{"role":"model","parts":[{"text":"t","thought":true},{"text":"hi","thoughtSignature":"cw=="},{"functionCall":{"id":"c1","name":"f","args":{}},"thoughtSignature":"cw=="},
		{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]},
		"safetyRatings":[{"category":"C","probability":"LOW"}],"citationMetadata":{"citationSources":[{"startIndex":0,"endIndex":1,"uri":"https://a.test","license":"l"}]},
		"groundingMetadata":{"webSearchQueries":["q"],"searchEntryPoint":{"renderedContent":"r"},"groundingChunks":[{"web":{"uri":"https://a.test","title":"t"}}],"groundingSupports":[{"segment":{"startIndex":0,"endIndex":1,"text":"h"},"groundingChunkIndices":[0]}]},
		"logprobsResult":{"topCandidates":[{"candidates":[{"token":"a","tokenId":1,"logProbability":-1}]}],"chosenCandidates":[{"token":"a","tokenId":1,"logProbability":-1}]}},
		{"index":1,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"ho"}]}}],
		"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":6,"totalTokenCount":11,"thoughtsTokenCount":1,"cachedContentTokenCount":1,"promptTokensDetails":[{"modality":"TEXT","tokenCount":5}]}}`},
	wire.Converse: {`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"reasoningContent":{"redactedContent":"ZA=="}},{"text":"hi"},{"citationsContent":{"content":[{"text":"c"}],"citations":[{"title":"t","location":{"web":{"url":"https://a.test"}},"sourceContent":[{"text":"s"}]}]}},
		{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]}},"stopReason":"tool_use","usage":{"inputTokens":5,"outputTokens":6,"totalTokens":11,"cacheReadInputTokens":1,"cacheWriteInputTokens":1},"metrics":{"latencyMs":5},"additionalModelResponseFields":{"a":1},"trace":{"guardrail":{"modelOutput":["o"]}},"performanceConfig":{"latency":"standard"}}`},
	wire.Ollama: {`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"hi","thinking":"t","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{}}}]},"done":true,"done_reason":"stop","total_duration":5,"load_duration":1,"prompt_eval_count":5,"prompt_eval_duration":1,"eval_count":6,"eval_duration":1,"logprobs":[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[{"token":"a","logprob":-1,"bytes":[97]}]}]}`},
}

// goldenAnswers are the whole answers of all golden files, and [moreAnswers].
func goldenAnswers(t *testing.T) []goldenRequest {
	t.Helper()
	var list []goldenRequest
	eachGolden(t, func(dir, name string, part txtar.File) {
		if part.Name == "answer" {
			list = append(list, goldenRequest{name, wire.Codec{Format: dir}, part.Data})
		}
	})
	for format, bodies := range moreAnswers {
		for _, body := range bodies {
			list = append(list, goldenRequest{"more/" + format, wire.Codec{Format: format}, []byte(body)})
		}
	}
	return list
}

// TestUnknownMembersOfAnswersAreNotSilent adds a member that no format knows to each object of answers: who asked in the same
// format gets it, and clients of others a warning that names it.
func TestUnknownMembersOfAnswersAreNotSilent(t *testing.T) {
	for _, r := range goldenAnswers(t) {
		if _, err := r.codec.DecodeResponse(r.body); err != nil {
			continue // an error of the vendor's
		}
		t.Run(r.name, func(t *testing.T) {
			for _, to := range wire.Formats() {
				silent, err := losses.UnknownAnswer(r.codec, to, r.body)
				if err != nil {
					t.Error(err)
				}
				for _, object := range silent {
					t.Errorf("→ %s: %s", to, object)
				}
			}
		})
	}
}

// Members of answers that nobody knows go back to their place.
func TestUnknownMembersOfAnswersKeepTheirPlace(t *testing.T) {
	for format, tests := range map[string][][2]string{
		wire.Chat:      {{`"logprobs":{`, `"logprobs":{"zq":1,`}, {`"type":"url_citation","url_citation"`, `"type":"url_citation","zq":1,"url_citation"`}, {`"custom":{`, `"custom":{"zq":1,`}},
		wire.Responses: {{`"type":"output_text"`, `"type":"output_text","zq":1`}, {`"type":"refusal"`, `"type":"refusal","zq":1`}, {`"incomplete_details":{`, `"incomplete_details":{"zq":1,`}},
		wire.Messages:  {{`"type":"thinking"`, `"type":"thinking","zq":1`}, {`"type":"redacted_thinking"`, `"type":"redacted_thinking","zq":1`}, {`"type":"text"`, `"type":"text","zq":1`}, {`"server_tool_use":{`, `"server_tool_use":{"zq":1,`}},
		wire.Gemini:    {{`"role":"model"`, `"role":"model","zq":1`}, {`"thought":true`, `"thought":true,"zq":1`}, {`"text":"ho"`, `"text":"ho","zq":1`}, {`"inlineData":{`, `"inlineData":{"zq":1,`}},
		wire.Converse:  {{`"output":{`, `"output":{"zq":1,`}, {`"reasoningText":{`, `"reasoningText":{"zq":1,`}, {`{"text":"hi"`, `{"text":"hi","zq":1`}, {`"citationsContent":{`, `"citationsContent":{"zq":1,`}},
		wire.Ollama:    {{`"top_logprobs":[{`, `"top_logprobs":[{"zq":1,`}},
	} {
		for _, tt := range tests {
			i := slices.IndexFunc(moreAnswers[format], func(body string) bool { return strings.Contains(body, tt[0]) })
			body := strings.Replace(moreAnswers[format][i], tt[0], tt[1], 1)
			c := wire.Codec{Format: format}
			r, err := c.DecodeResponse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			out, warnings, err := c.EncodeResponse(r)
			if err != nil || len(warnings) > 0 || placeOf(t, out) != placeOf(t, []byte(body)) {
				t.Errorf("%s, %s: %q became %q, %v, %v: %s", format, tt[1], placeOf(t, []byte(body)), placeOf(t, out), warnings, err, out)
			}
			var stream bytes.Buffer
			enc := c.NewStream(&stream, wire.Head{ID: "a", Model: "m"})
			for _, ev := range r.Events() {
				if err := enc.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			if !strings.Contains(stream.String(), "zq") && !strings.Contains(fmt.Sprint(enc.Warnings()), "zq") {
				t.Errorf("%s, %s: streamed in silence: %v, %s", format, tt[1], enc.Warnings(), stream.String())
			}
		}
	}
}

// placeOf returns the names of the members in which "zq" stands.
func placeOf(t *testing.T, body []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	var find func(v any, path string) string
	find = func(v any, path string) string {
		switch v := v.(type) {
		case map[string]any:
			if v["zq"] != nil {
				return path
			}
			for key, val := range v {
				if at := find(val, path+"."+key); at != "" {
					return at
				}
			}
		case []any:
			for _, val := range v {
				if at := find(val, path+"[]"); at != "" {
					return at
				}
			}
		}
		return ""
	}
	return find(v, "$")
}
