package wire_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/internal/ollama"
)

// TestWrongKindsAreErrors puts values of other kinds in the place of each member of requests that use what each
// format knows: each is refused by its name, passed on or warned about.
func TestWrongKindsAreErrors(t *testing.T) {
	for _, format := range wire.Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", format, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		more, err := filepath.Glob("testdata/agents/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			for _, file := range append(files, more...) {
				ar, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range ar.Files {
					if part.Name == "request" || part.Name == format {
						notSilent(t, file, wire.Codec{Format: format}, part.Data)
					}
				}
			}
		})
	}
}

func notSilent(t *testing.T, file string, c wire.Codec, body []byte) {
	t.Helper()
	for _, to := range wire.Formats() {
		silent, err := losses.Mistyped(c, to, body)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, member := range silent {
			t.Errorf("%s → %s: %s", file, to, member)
		}
	}
}

// moreRequests use members that the golden requests do not. The last is asked of Ollama's other endpoint.
var moreRequests = []struct {
	codec wire.Codec
	body  string
}{
	{wire.Codec{Format: wire.Chat}, `{"model":"m","n":1,"frequency_penalty":0.5,"presence_penalty":0.5,"stream_options":{"include_usage":true},"parallel_tool_calls":false,
		"response_format":{"type":"json_schema","json_schema":{"name":"a","description":"b","schema":{"type":"object"},"strict":true}},
		"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"},"strict":true}},{"type":"custom","custom":{"name":"g","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"x"}}}}],
		"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}},
		"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://a.test/v.mp4"}},{"type":"input_text","text":"a"}]},
		{"role":"assistant","content":"b","reasoning":"c","reasoning_details":[{"type":"reasoning.text","text":"c","index":0}],"annotations":[{"type":"url_citation","url_citation":{"url":"https://a.test","title":"t","start_index":0,"end_index":1}}]},
		{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},
		{"role":"assistant","audio":{"id":"audio_1","data":"YQ==","transcript":"a"},"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}],
		"tool_calls":[{"id":"c1","index":0,"type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]},
		{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]}]}`},
	{wire.Codec{Format: wire.Responses}, `{"model":"m","temperature":1,"top_p":0.5,"parallel_tool_calls":false,"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}},"verbosity":"low"},
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"f"},
		"input":[{"role":"user","content":"a"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","logprobs":[{"token":"b"}],"annotations":[{"type":"url_citation","url":"https://a.test","title":"t","start_index":0,"end_index":1}]}]}]}`},
	{wire.Codec{Format: wire.Messages}, `{"model":"m","max_tokens":2000,"top_p":0.5,"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},
		"tools":[{"name":"f","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search","blocked_domains":["a.test"]}],
		"messages":[{"role":"user","content":"a"},
		{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"bash_code_execution","input":{"command":"ls"}},{"type":"bash_code_execution_tool_result","tool_use_id":"s1","content":{"type":"bash_code_execution_result","stdout":"o","stderr":"e"}},
		{"type":"tool_use","id":"c1","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r","is_error":true},{"type":"text","text":"z"}]}]}`},
	{wire.Codec{Format: wire.Gemini}, `{"model":"m","systemInstruction":{"role":"user","parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://a.test/a.png","displayName":"a"}}]}],
		"generationConfig":{"candidateCount":2,"frequencyPenalty":0.5,"presencePenalty":0.5,"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true}},
		"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}`},
	{wire.Codec{Format: wire.Chat}, `{"model":"m","messages":[{"role":"user","content":"a"}],"web_search_options":{"search_context_size":"low","user_location":{"type":"approximate","approximate":{"city":"Paris"}}}}`},
	{wire.Codec{Format: wire.Gemini}, `{"model":"m","contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"google_search":{}},{"functionDeclarations":[{"name":"f"}],"code_execution":{}},{"urlContext":{},"retrieval":{"vertexRagStore":{"ragCorpora":["c"]}}},
		{"newTool":{"depth":{"limit":1}}}]}`},
	{wire.Codec{Format: wire.Converse}, `{"modelId":"m","messages":[{"role":"user","content":[{"text":"a"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{}}}}`},
	{wire.Codec{Format: wire.Ollama}, `{"model":"m","stream":false,"format":{"type":"object"},"messages":[{"role":"user","content":"a"}],"options":{"num_predict":5,"stop":["a"]}}`},
	{wire.Codec{Format: wire.Ollama, Quirks: ollama.OnGenerate()}, `{"model":"m","stream":false,"system":"s","prompt":"p","images":["iVBORw0KGgo="],"format":"json","options":{"num_predict":5}}`},
}

func TestWrongKindsOfMoreFieldsAreErrors(t *testing.T) {
	for _, r := range moreRequests {
		notSilent(t, "more", r.codec, []byte(r.body))
	}
}

// Bytes that are not UTF-8 are not replaced in silence, and null stands for an absent member, not for an element.
func TestBodiesThatNoVendorTakes(t *testing.T) {
	for _, r := range moreRequests {
		for _, body := range []string{strings.Replace(r.body, `"m"`, "\"m\xff\xfe\"", 1), strings.NewReplacer(`"messages":[`, `"messages":[null,`, `"input":[`, `"input":[null,`, `"contents":[`, `"contents":[null,`, `"images":[`, `"images":[null,`).Replace(r.body)} {
			if _, _, err := r.codec.DecodeRequest([]byte(body)); llm.KindOf(err) != llm.Invalid {
				t.Errorf("%s: %v of %q", r.codec.Format, err, body)
			}
		}
	}
}

// A count below 0 reaches nobody.
func TestNegativeUsageIsNotTold(t *testing.T) {
	f := llm.Finish{Reason: llm.Stop, Model: "m", Usage: llm.Usage{Input: -5, Output: -6, CacheRead: -7, CacheWrite: -8, Reasoning: -9}}
	for _, format := range wire.Formats() {
		body, _, err := wire.Codec{Format: format}.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "a"}), Finish: f})
		if err != nil || strings.Contains(string(body), ":-") {
			t.Errorf("%s: %s, %v", format, body, err)
		}
	}
}

// Nobody can interrupt the reading of one event, so what it holds is bounded by
// number, too: ten million empty parts fit in 30 MB.
func TestAnswersWithTooManyValues(t *testing.T) {
	many := func(n int) string { return `{"x":[0` + strings.Repeat(",{}", n) + `]}` }
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Ollama} {
		codec := wire.Codec{Format: format}
		event := "data: " + many(300_000) + "\n\n"
		if format == wire.Ollama {
			event = many(300_000) + "\n"
		}
		var err error
		for _, e := range codec.DecodeStream(strings.NewReader(event)) {
			err = e
		}
		crowded(t, format+", an event", err)
		_, err = codec.DecodeResponse([]byte(many(1_100_000)))
		crowded(t, format+", a whole answer", err)
	}
}

func crowded(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || llm.KindOf(err) != llm.Malformed || !strings.Contains(err.Error(), "values") {
		t.Errorf("%s: %v", what, err)
	}
}
