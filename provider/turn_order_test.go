package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// Turns fit the chat template of the model: they are joined, divided and added for servers that pass on the template's
// refusals. Models that take any order, and the makers of formats, get them as they are.
func TestOrderOfTurns(t *testing.T) {
	const (
		user   = `{"role":"user","content":"u"}`
		said   = `{"role":"assistant","content":"a"}`
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		calls  = `{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"abcdefgh2","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		result = `{"role":"tool","tool_call_id":"abcdefgh1","content":"r"}`
		second = `{"role":"tool","tool_call_id":"abcdefgh2","content":"s"}`
		image  = `{"role":"tool","tool_call_id":"abcdefgh1","content":[{"type":"text","text":"r"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}`
		noted  = `{"role":"assistant","content":"(The results are noted.)"}`
		first  = `{"role":"user","content":"(The conversation begins with your words.)"}`
		empty  = `{"role":"assistant","content":""`
	)
	corrected, told := []string{"corrected history"}, []string{"compatibility history"}
	for _, c := range []struct {
		id, messages, has, lacks string
		warned                   []string
	}{
		{"vllm/google/gemma-3-12b-it", user + "," + user, `[{"role":"user","content":"u\n\nu"}]`, `"u"`, told},
		{"vllm/google/gemma-3-12b-it", said + "," + user, first + "," + said + "," + user, "", corrected},
		{"mistral/mistral-large-latest", user + "," + call + "," + result + "," + user, result + "," + noted + "," + user, "", corrected},
		{"openrouter/mistralai/mistral-large", user + "," + call + "," + result + "," + user, result + "," + noted + "," + user, "", corrected},
		{"mistral/mistral-small-latest", user + "," + call + "," + image, result + "," + noted + `,{"role":"user","content":[{"type":"text","text":"From the result of f abcdefgh1:"}`, "", corrected},
		{"mistral/mistral-large-latest", user + "," + call + "," + result, result + "]", "noted", nil},
		{"mistral/mistral-large-latest", user + "," + said, `{"role":"assistant","content":"a","prefix":true}`, "", nil},
		{"vllm/llama-3.1-8b-instruct", user + "," + calls + "," + result + "," + second, `"id":"abcdefgh1","type":"function","function":{"name":"f","arguments":"{}"}}]},` + result + `,{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefgh2"`, "", told},
		{"vllm/llama-4-scout", user + "," + calls + "," + result + "," + second, result + "," + second, "", nil},
		{"vllm/Qwen/Qwen3.5-9B", `{"role":"system","content":"s"},` + said, first + "," + said, "", corrected},
		{"vllm/Qwen/Qwen3.5-9B", user + "," + user, user + "," + user, "", nil},
		{"deepseek/deepseek-chat", user + "," + user, user + "," + user, "", nil},
		{"vllm/a-new-model", user + "," + user, `{"role":"user","content":"u\n\nu"}`, `"u"`, told},
		{"openai+chat:gpt-4.1", said + "," + user + "," + user, said + "," + user + "," + user, "", nil},
		{"xai/grok-4", user + "," + call + "," + result, empty, `"content":null`, nil},
		{"groq/llama-3.3-70b-versatile", user + "," + call + "," + result, `"content":null`, empty, nil},
	} {
		body := `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],"messages":[` + c.messages + `]}`
		if strings.Contains(c.id, "new-model") || strings.Contains(c.id, "gemma") {
			body = `{"model":"m","messages":[` + c.messages + `]}`
		}
		wordCase{wire.Chat, c.id, body, []string{c.has}, lacking(c.lacks), c.warned}.sends(t, "history")
	}
}

func lacking(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// Members that a host is known to refuse are left out, with a warning. Others are sent as they are.
func TestRefusedMembers(t *testing.T) {
	const body = `{"model":"m","store":false,"user":"u","x_new":1,"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a","reasoning_content":"t","annotations":[]},{"role":"user","content":"v","name":"n"}]}`
	for id, c := range map[string]struct{ has, lacks []string }{
		"mistral/mistral-large-latest": {[]string{`"x_new":1`}, []string{"store", `"user":"u"`, "reasoning_content", "annotations", `"name"`}},
		"groq/openai/gpt-oss-120b":     {[]string{`"x_new":1`, `"store":false`, `"name":"n"`}, []string{"reasoning_content", "annotations"}},
		"cerebras/gpt-oss-120b":        {[]string{`"x_new":1`}, []string{"reasoning_content", "annotations"}},
		"together/some/model":          {[]string{`"x_new":1`, `"store":false`}, nil},
	} {
		wordCase{wire.Chat, id, body, c.has, c.lacks, nil}.sends(t, "nothing")
	}
}
