package catalog

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

// fieldMeanings explains the keys of "set" and of single models.
var fieldMeanings = map[string]string{
	"kind":                        "what the model is for",
	"native_tools":                "the API takes tools",
	"parallel_tools":              "several calls in one answer",
	"tool_streaming":              "arguments of calls are streamed",
	"tool_choice_required":        "a call can be required",
	"json_mode":                   "an answer can be held to JSON",
	"json_schema":                 "an answer can be held to a schema",
	"reasoning":                   "the model can think",
	"needs_tool_schema_strict":    "the host requires strict schemas",
	"tool_result_in_user_message": "the host takes results only in user messages",
	"context_window":              "tokens of the context",
	"max_output_tokens":           "tokens of an answer",
	"wire":                        "the format: `chat`, `responses`, `messages`, `gemini`, `ollama`, `converse`; removes `thinking_wire` of earlier rules",
	"thinking_wire":               "the format that takes thinking back, at the vendor's address",
	"dialect":                     "the [text form](../dialects.md) of calls",
	"text_calls":                  "text that may become a call ([promotion](../text-calls.md#promotion))",
	"thinking":                    "the text form of thinking",
	"thinking_open":               "the answer starts inside thinking",
	"sampling":                    "temperature, top_p and penalties: any of them, one of the first two, or none",
	"emulation_style":             "the style of prompts: json, xml, markdown, pythonic, react, hermes or a dialect",
	"constrained_output":          "the field of a request that enforces a schema",
	"tool_search":                 "the vendor searches deferred tools ([many tools](../many-tools.md))",
	"tool_name":                   "allowed tool names, as a pattern such as `[a-zA-Z0-9_-]{1,64}`",
	"call_id":                     "allowed call ids, as a pattern",
	"call_id_form":                "the form of counted ids",
	"system_turns":                "instructions may be among the messages, and in the Chat format several and from a developer; otherwise the Chat format gets one system message, and in the Messages format they become a user message, with a warning",
	"turns":                       "what the chat template demands in the Chat format: `any`; `user`, a turn of the user; `alternate`, user and model in turn; `answered`, the same with an answer after results; `single`, one call in each turn. Turns are merged, divided and added, with a warning; unknown models get `alternate`",
	"efforts":                     "words for the amount of thinking (`none low medium high`); the nearest one is sent, and `none` switches thinking off",
	"min_thinking_tokens":         "least tokens of thinking; with it, thinking cannot be switched off unless `efforts` contains `none`",
	"max_thinking_tokens":         "most tokens of thinking",
	"stop_sequences":              "the model takes stop texts; otherwise they are dropped, with a warning",
	"hosted_beside_functions":     "hosted tools and functions in one request",
	"price":                       "see [prices](../models.md#what-it-costs)",
}

// matchMeanings explains the keys of "match".
var matchMeanings = map[string]string{
	"family":   "the family or its root",
	"version":  "`\">=3 <4\"`, `none`",
	"revision": "like `version`",
	"size":     "`\"<10b\"`, `none`",
	"variant":  "one of these words is in the id",
	"without":  "none of these words is in the id",
	"provider": "the host",
	"org":      "the organisation",
	"custom":   "a custom model",
	"id":       "a pattern with `*`",
}

// TestModelsFileReference: the page of the keys of models.yaml is generated from the table of fields.
func TestModelsFileReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Keys of models.yaml\n\nLook up the keys of the file that corrects [model data](../models.md#correct-them). This page is generated.\n\n" +
		"## Values\n\nKeys of `set` and of single models. A condition is `true unless thinking` (or `tools`, `streaming`). A single model also takes `base`, the id of a similar model.\n\n| key | value | meaning |\n|---|---|---|\n")
	for _, f := range fields {
		if fieldMeanings[f.key] == "" {
			t.Errorf("the key %s has no explanation", f.key)
		}
		value := "text"
		switch {
		case f.answer != nil:
			value = "`true`, `false`, `null` or a condition"
		case f.number != nil:
			value = "number"
		case f.limit != nil:
			value = "pattern"
		case f.price != nil:
			value = "dollars per million tokens"
		case f.values != nil:
			value = "`" + strings.Join(f.values, "`, `") + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", f.key, value, fieldMeanings[f.key])
	}
	page.WriteString("\n## Conditions\n\nKeys of `match`; all must hold.\n\n| key | matches |\n|---|---|\n")
	source, err := os.ReadFile("file.go")
	if err != nil {
		t.Fatal(err)
	}
	_, conditions, _ := strings.Cut(string(source), "\nfunc (m *match) read(")
	conditions, _, _ = strings.Cut(conditions, "\n}\n")
	seen := 0
	for _, found := range regexp.MustCompile(`(?m)^\t\t"(\w+)": `).FindAllStringSubmatch(conditions, -1) {
		if matchMeanings[found[1]] == "" {
			t.Errorf("the condition %s has no explanation", found[1])
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", found[1], matchMeanings[found[1]])
		seen++
	}
	if seen != len(matchMeanings) || len(fields) != len(fieldMeanings) {
		t.Errorf("%d conditions and %d values are explained, and there are %d and %d", len(matchMeanings), len(fieldMeanings), seen, len(fields))
	}
	testkit.Page(t, "../docs/reference/models-file.md", page.String())
}
