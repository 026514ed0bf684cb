package losses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// UnknownAnswer returns the objects of an answer in which an unknown member is lost silently when the answer is
// translated: the member neither reaches the client of format to, nor does a warning name it. An object does not count
// if a warning reports that it is omitted.
func UnknownAnswer(c wire.Codec, to string, body []byte) ([]string, error) {
	whole, err := parse(body)
	if err != nil {
		return nil, err
	}
	base, err := answered(c, to, whole)
	if err != nil {
		return nil, err
	}
	var silent []string
	walk(whole, place{set: func(any) {}}, func(v any, at place) bool {
		object, ok := v.(map[string]any)
		if !ok || err != nil {
			return true
		}
		path := append(slices.Clone(at.path), kinds(object)...)
		if free(path) || to != c.Format && slices.Contains(path, "reasoning_details") || // vendor state, which no other vendor receives
			slices.ContainsFunc(append(sorted(object), path...), base.omitted) {
			return false
		}
		object[marker] = marker
		defer delete(object, marker)
		var t Translation
		t, err = answered(c, to, whole)
		switch {
		case err != nil, bytes.Contains(t.Out, []byte(marker)), t.tells(marker):
		case !slices.Equal(t.Warnings, base.Warnings) && t.tells(holder(path)):
		default:
			silent = append(silent, strings.Join(path, "."))
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, body)
	}
	return silent, nil
}

// answerWords are the names of objects of answers in warnings.
var answerWords = map[string]string{
	"=server_tool_use": "hosted call", "=web_search_call": "hosted call", "=code_interpreter_call": "hosted call", "=image_generation_call": "hosted call", "=mcp_call": "hosted call",
	"executableCode": "hosted call", "codeExecutionResult": "hosted result", "=web_search_tool_result": "hosted result", "=bash_code_execution_tool_result": "hosted result",
	"logprobsResult": "logprobs", "reasoning_details": "thinking", "citationsContent": "citations", "=future_item": "opaque part", "=container_upload": "opaque part",
	"toolResult": "hosted result", "citation": "citations",
	"1": "n", // the second answer
}

// omitted reports whether a warning reports an object of an answer as omitted.
func (t Translation) omitted(member string) bool {
	word := answerWords[member]
	return t.speaks(member) || word != "" && slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool { return w.Feature == word })
}

// answered translates an answer to another format.
func answered(from wire.Codec, to string, whole any) (Translation, error) {
	body, err := json.Marshal(whole)
	if err != nil {
		return Translation{}, err
	}
	r, err := from.DecodeResponse(body)
	if err != nil {
		return Translation{}, err
	}
	out, warnings, err := wire.Codec{Format: to}.EncodeResponse(r)
	return Translation{From: from.Format, To: to, Body: body, Out: out, Warnings: append(slices.Clone[[]llm.Warning](r.Warnings), warnings...)}, err
}
