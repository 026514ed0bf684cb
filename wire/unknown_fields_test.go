package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// TestUnknownMembersAreNotSilent adds a member that no format knows to each object of requests that use what each format
// knows: it is sent on, warned about or refused by its name.
func TestUnknownMembersAreNotSilent(t *testing.T) {
	for _, r := range goldenRequests(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, to := range wire.Formats() {
				silent, err := losses.Unknown(r.codec, to, r.body)
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

type goldenRequest struct {
	name  string
	codec wire.Codec
	body  []byte
}

// eachGolden calls f with every section of every golden file, with the name of its folder, which is a format or "agents", and its own.
func eachGolden(t *testing.T, f func(dir, name string, part txtar.File)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(file))
		for _, part := range ar.Files {
			f(dir, dir+"/"+filepath.Base(file), part)
		}
	}
}

// goldenRequests are the requests of all golden files and of coding agents, and [moreRequests].
func goldenRequests(t *testing.T) []goldenRequest {
	t.Helper()
	var list []goldenRequest
	eachGolden(t, func(dir, name string, part txtar.File) {
		format := part.Name
		if format == "request" {
			format = dir
		}
		if c, ok := wire.For(format); ok {
			list = append(list, goldenRequest{name, c, part.Data})
		}
	})
	for _, r := range moreRequests {
		list = append(list, goldenRequest{"more/" + r.codec.Format, r.codec, []byte(r.body)})
	}
	return list
}

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
			enc := c.NewStream(&stream, wireformat.Head{ID: "a", Model: "m"})
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

type goldenStream struct {
	name  string
	codec wire.Codec
	lines []byte
}

// goldenStreams are the streams of all golden files, and those that are made of [moreAnswers].
func goldenStreams(t *testing.T) []goldenStream {
	t.Helper()
	var list []goldenStream
	eachGolden(t, func(dir, name string, part txtar.File) {
		if part.Name == "stream" {
			list = append(list, goldenStream{name, wire.Codec{Format: dir}, part.Data})
		}
	})
	for format, bodies := range moreAnswers {
		for _, body := range bodies {
			list = append(list, goldenStream{"more/" + format, wire.Codec{Format: format}, streamLines(t, format, body)})
		}
	}
	return list
}

// streamLines returns an answer as the lines of a stream.
func streamLines(t *testing.T, format, body string) []byte {
	t.Helper()
	c := wire.Codec{Format: format}
	r, err := c.DecodeResponse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := c.NewStream(&out, wireformat.Head{})
	for _, ev := range r.Events() {
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if format != wire.Converse {
		return out.Bytes()
	}
	var lines bytes.Buffer
	frames := eventstream.NewReader(&out)
	for f, err := frames.Next(); err == nil; f, err = frames.Next() {
		fmt.Fprintf(&lines, "%s %s %s\n", f.Kind, f.Name, f.Payload)
	}
	return lines.Bytes()
}

// framed returns the stream that lines stand for.
func framed(t *testing.T, format string, lines []byte) []byte {
	if format != wire.Converse {
		return lines
	}
	var out []byte
	for line := range strings.Lines(string(lines)) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		var err error
		if out, err = eventstream.Append(out, eventstream.Frame{Kind: word[0], Name: word[1], Payload: []byte(word[2])}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestUnknownMembersOfStreamsAreNotSilent adds a member that no format knows to each object of the events of streams: clients of
// the same format get it, or a warning that names it, and those of others a warning. The same holds where the client
// asked for one document.
func TestUnknownMembersOfStreamsAreNotSilent(t *testing.T) {
	for _, s := range goldenStreams(t) {
		if failed(s.codec, framed(t, s.codec.Format, s.lines)) {
			continue // an error of the vendor's
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			events := losses.Events{Lines: s.lines, Bytes: func(lines []byte) []byte { return framed(t, s.codec.Format, lines) }}
			for _, to := range wire.Formats() {
				for _, events.Whole = range []bool{false, true} {
					silent, err := losses.UnknownStream(s.codec, to, events)
					if err != nil {
						t.Error(err)
					}
					for _, object := range silent {
						t.Errorf("→ %s (whole: %v): %s", to, events.Whole, object)
					}
				}
			}
		})
	}
}

// failed reports whether a stream ends with an error.
func failed(c wire.Codec, stream []byte) bool {
	for _, err := range c.DecodeStream(bytes.NewReader(stream)) {
		if err != nil {
			return true
		}
	}
	return false
}

// rewritten reads a stream and writes it anew in the same format.
func rewritten(t *testing.T, format, lines string) (out []byte, warnings []llm.Warning) {
	t.Helper()
	c := wire.Codec{Format: format}
	var b bytes.Buffer
	enc := c.NewStream(&b, wireformat.Head{ID: "a", Model: "m", Created: 1})
	for ev, err := range c.DecodeStream(bytes.NewReader(framed(t, format, []byte(lines)))) {
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := ev.(llm.Warning); ok {
			warnings = append(warnings, w)
		}
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes(), append(warnings, enc.Warnings()...)
}

// messagesStream is a stream with one block.
func messagesStream(block, deltas string) string {
	return `data: {"type":"message_start","message":{"id":"a","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":` + block + "}\n\n" + deltas +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
}

func messagesDelta(delta string) string {
	return `data: {"type":"content_block_delta","index":0,"delta":` + delta + "}\n\n"
}

// responsesStream is a stream of the events about an item, and of its end.
func responsesStream(item, end string) string {
	return `data: {"type":"response.created","response":{"id":"r","model":"m"}}` + "\n\n" + item +
		`data: {"type":"response.` + end + "}}\n\n"
}

// Members that nobody knows go back to their place in a stream that is written anew, without a warning.
func TestUnknownMembersOfStreamsKeepTheirPlace(t *testing.T) {
	said := `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":"Hi"}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","role":"assistant","status":"completed"%s,"content":[{"type":"output_text","text":"Hi","annotations":[]%s}]}}` + "\n\n"
	called := `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":""%[1]s}}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{}","status":"completed"%[1]s}}` + "\n\n"
	const zq = `,"zq":1`
	completed := `completed","response":{"id":"r","model":"m","status":"completed","output":[]`
	for _, tt := range []struct{ format, stream, want string }{
		{wire.Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"Hi","zq":1}],"role":"model"},"finishReason":"STOP"}]}`, `{"text":"Hi","zq":1}`},
		{wire.Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"Hm","thought":true,"zq":1},{"text":"Hi"}],"role":"model"},"finishReason":"STOP"}]}`, `{"text":"Hm","thought":true,"zq":1}`},
		{wire.Gemini, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{},"zq":1}}],"role":"model"},"finishReason":"STOP"}]}`, `"args":{},"zq":1}`},
		{wire.Messages, messagesStream(`{"type":"text","text":"","zq":1}`, messagesDelta(`{"type":"text_delta","text":"Hi"}`)), `"content_block":{"type":"text","text":"","zq":1}`},
		{wire.Messages, messagesStream(`{"type":"thinking","thinking":"","signature":"","zq":1}`, messagesDelta(`{"type":"thinking_delta","thinking":"Hm"}`)+messagesDelta(`{"type":"signature_delta","signature":"s"}`)),
			`"content_block":{"type":"thinking","thinking":"","signature":"","zq":1}`},
		{wire.Messages, messagesStream(`{"type":"redacted_thinking","data":"d","zq":1}`, ""), `"content_block":{"type":"redacted_thinking","data":"d","zq":1}`},
		{wire.Messages, strings.Replace(messagesStream(`{"type":"tool_use","id":"c","name":"f","input":{},"zq":1}`, messagesDelta(`{"type":"input_json_delta","partial_json":"{}"}`)), "end_turn", "tool_use", 1),
			`"content_block":{"type":"tool_use","id":"c","name":"f","input":{},"zq":1}`},
		{wire.Messages, strings.Replace(messagesStream(`{"type":"text","text":""}`, messagesDelta(`{"type":"text_delta","text":"Hi"}`)), `{"type":"message_stop"}`, `{"type":"message_stop","zq":1}`, 1), `{"type":"message_stop","zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(said, zq, ""), completed), `"status":"completed","zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(said, "", zq), completed), `{"type":"output_text","text":"Hi","annotations":[],"zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(called, zq), completed), `"arguments":"{}","id":"i","status":"completed","zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(said, "", ""), `incomplete","response":{"id":"r","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens","zq":1},"output":[]`), `"incomplete_details":{"reason":"max_output_tokens","zq":1}`},
		{wire.Converse, "event messageStart {\"role\":\"assistant\"}\n" + `event contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"c","name":"f","zq":1}}}` + "\nevent contentBlockStop {\"contentBlockIndex\":0}\nevent messageStop {\"stopReason\":\"tool_use\"}\nevent metadata {\"usage\":{\"inputTokens\":1,\"outputTokens\":1,\"totalTokens\":2}}\n",
			`"toolUse":{"toolUseId":"c","name":"f","zq":1}`},
	} {
		out, warnings := rewritten(t, tt.format, tt.stream)
		for _, w := range warnings {
			if strings.Contains(w.Feature, "zq") {
				t.Errorf("%s, %s: %v", tt.format, tt.want, w)
			}
		}
		if !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: no %s in %s", tt.format, tt.want, out)
		}
	}
}

// What many events say is told once, and texts are told once, too.
func TestUnknownStreamFieldsAreReportedOnce(t *testing.T) {
	for format, stream := range map[string]string{
		wire.Messages:  messagesStream(`{"type":"text","text":""}`, strings.Repeat(messagesDelta(`{"type":"text_delta","text":"Hi.","zq":1}`), 100)),
		wire.Responses: responsesStream(strings.Repeat(`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":"Hi.","zq":1}`+"\n\n", 100), `completed","response":{"id":"r","model":"m","status":"completed","output":[]`),
		wire.Converse: strings.Repeat(`event contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Hi.","zq":1}}`+"\n", 100) +
			"event messageStop {\"stopReason\":\"end_turn\"}\nevent metadata {\"usage\":{\"inputTokens\":1,\"outputTokens\":1,\"totalTokens\":2}}\n",
	} {
		out, warnings := rewritten(t, format, stream)
		told := 0
		for _, w := range warnings {
			if strings.HasSuffix(w.Feature, ".zq") {
				told++
			}
		}
		texts := 0
		for ev, err := range (wire.Codec{Format: format}).DecodeStream(bytes.NewReader(out)) {
			if d, ok := ev.(llm.TextDelta); ok && err == nil && d.Text == "Hi." {
				texts++
			}
		}
		if told != 1 || texts != 100 {
			t.Errorf("%s: told %d times, %d texts: %v", format, told, texts, warnings)
		}
	}
}

// TestUnknownStreamFieldsAreLimited: a stream whose events each have another member is not kept whole.
func TestUnknownStreamFieldsAreLimited(t *testing.T) {
	var deltas strings.Builder
	for i := range 5000 {
		deltas.WriteString(messagesDelta(fmt.Sprintf(`{"type":"text_delta","text":"a","m%d":1}`, i)))
	}
	_, warnings := rewritten(t, wire.Messages, messagesStream(`{"type":"text","text":""}`, deltas.String()))
	if n := len(warnings); n != 65 || !strings.Contains(fmt.Sprint(warnings), "more members") {
		t.Errorf("%d warnings: %v", n, warnings)
	}
}

// The vendor's own word for the end stays in a stream that is written anew, and goes to nobody else.
func TestOwnFinishReasonsStayInStreams(t *testing.T) {
	stream := `data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: f(","index":0}]}` + "\n\n"
	if out, _ := rewritten(t, wire.Gemini, stream); !strings.Contains(string(out), `"finishReason":"MALFORMED_FUNCTION_CALL"`) {
		t.Errorf("%s", out)
	}
	var b bytes.Buffer
	enc := wire.Codec{Format: wire.Chat}.NewStream(&b, wireformat.Head{})
	for ev, err := range (wire.Codec{Format: wire.Gemini}).DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), "MALFORMED_FUNCTION_CALL") {
		t.Errorf("%s", b.String())
	}
}

// TestRelayCopiesUnknownFields: what passes as it came is not warned about.
func TestRelayCopiesUnknownFields(t *testing.T) {
	stream := messagesStream(`{"type":"text","text":"","zq":1}`, messagesDelta(`{"type":"text_delta","text":"Hi","zq":1}`))
	var out bytes.Buffer
	c := wire.Codec{Format: wire.Messages}
	err := c.Relay(&out, strings.NewReader(stream), func(ev llm.Event) wireformat.RelayDecision {
		if w, ok := ev.(llm.Warning); ok {
			t.Error(w)
		}
		return wireformat.Pass
	})
	if err != nil || out.String() != stream {
		t.Errorf("%v, %s", err, out.String())
	}
}

// Some servers tell the citations of a text with the complete item alone.
func TestCitationsOfCompleteItems(t *testing.T) {
	const cited = `{"type":"url_citation","start_index":0,"end_index":2,"url":"https://e.org","title":"E"}`
	added := `data: {"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation_index":0,"item_id":"i","annotation":` + cited + "}\n\n"
	for _, event := range []string{"", added} {
		out, warnings := rewritten(t, wire.Responses, responsesStream(
			`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}`+"\n\n"+
				`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":"Hi"}`+"\n\n"+event+
				`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[`+cited+`]}]}}`+"\n\n",
			`completed","response":{"id":"r","model":"m","status":"completed","output":[]`))
		if n := bytes.Count(out, []byte(`"response.output_text.annotation.added"`)); n != 1 || len(warnings) > 0 {
			t.Errorf("%d citations, %v: %s", n, warnings, out)
		}
	}
}

// built is what a stream says: its parts, without the state that only the vendor reads.
func built(t *testing.T, c wire.Codec, stream []byte) string {
	t.Helper()
	var b llm.Builder
	for ev, err := range c.DecodeStream(bytes.NewReader(stream)) {
		if err != nil {
			t.Fatalf("%v: %s", err, stream)
		}
		b.Add(ev)
	}
	var out strings.Builder
	for _, p := range b.Response().Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(&out, "text %q\n", p.Text)
		case llm.Thinking:
			fmt.Fprintf(&out, "thinking %q\n", p.Text)
		case llm.Call:
			fmt.Fprintf(&out, "call %s %s\n", p.Name, p.Args)
		}
	}
	return out.String()
}

// A relay of a stream with members that nobody knows can become a translation at any event: the client has every text and
// every call once, and the stream is well formed.
func TestUnknownFieldsInTranslatedRelays(t *testing.T) {
	checked := map[string]int{}
	for _, s := range goldenStreams(t) {
		stream := framed(t, s.codec.Format, marked(s.lines))
		if failed(s.codec, stream) {
			continue
		}
		plain := framed(t, s.codec.Format, s.lines)
		if again, _ := rewritten(t, s.codec.Format, string(s.lines)); built(t, s.codec, again) != built(t, s.codec, plain) {
			continue // calls that are shown as text, and thinking that chat tells in two ways
		}
		checked[s.codec.Format]++
		want := built(t, s.codec, stream)
		for at, more := 0, true; more; at++ {
			var out bytes.Buffer
			n := 0
			err := s.codec.Relay(&out, bytes.NewReader(stream), func(ev llm.Event) wireformat.RelayDecision {
				if n++; n <= at {
					return wireformat.Pass
				}
				return wireformat.Replace(ev)
			})
			if more = n > at; err != nil {
				t.Fatalf("%s, event %d: %v", s.name, at, err)
			}
			if got := built(t, s.codec, out.Bytes()); got != want {
				t.Errorf("%s, event %d:\n%s\nwant\n%s\nin %s", s.name, at, got, want, out.Bytes())
				break
			}
		}
	}
	for _, format := range wire.Formats() {
		if checked[format] == 0 {
			t.Errorf("no stream of %s is looked at", format)
		}
	}
}

// marked adds a member to the beginning of every object of lines.
func marked(lines []byte) []byte {
	var out bytes.Buffer
	quoted := false
	for i, c := range lines {
		if c == '"' && (i == 0 || lines[i-1] != '\\') {
			quoted = !quoted
		}
		out.WriteByte(c)
		if c != '{' || quoted {
			continue
		}
		out.WriteString(`"zq":1`)
		if lines[i+1] != '}' {
			out.WriteByte(',')
		}
	}
	return out.Bytes()
}
