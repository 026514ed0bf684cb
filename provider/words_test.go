package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// wordCase is a request of a client and what a model is sent of it.
type wordCase struct {
	format, id, body string
	has, lacks       []string // in what is sent
	warned           []string // "code feature", all that is said about them
}

// sends checks what is sent for the request of a client.
func (c wordCase) sends(t *testing.T, features ...string) {
	t.Helper()
	codec, _ := wire.For(c.format)
	req, _, err := codec.DecodeRequest([]byte(c.body))
	if err != nil {
		t.Fatalf("%s → %s: %v", c.format, c.id, err)
	}
	text, warnings := planned(t, opened(t, &Client{}, c.id), req)
	for _, s := range c.has {
		if !strings.Contains(text, s) {
			t.Errorf("%s → %s: %s lacks %s", c.format, c.id, text, s)
		}
	}
	for _, s := range c.lacks {
		if strings.Contains(text, s) {
			t.Errorf("%s → %s: %s has %s", c.format, c.id, text, s)
		}
	}
	var said []string
	for _, w := range warnings {
		for _, f := range features {
			if w.Feature == f {
				said = append(said, string(w.Code)+" "+f)
			}
		}
	}
	if strings.Join(said, ",") != strings.Join(c.warned, ",") {
		t.Errorf("%s → %s: %s: warned of %q, not %q", c.format, c.id, c.body, said, c.warned)
	}
}

// Each vendor has words of its own for how thinking is shown, and refuses those of others.
func TestSummariesOfThinking(t *testing.T) {
	const responses = `{"model":"m","input":"hi","reasoning":{"effort":"high","summary":"WORD"}}`
	const messages = `{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"adaptive","display":"WORD"}}`
	degraded := []string{"degraded reasoning.summary"}
	for _, c := range []struct {
		body, word, id, has, lacks string
		warned                     []string
	}{
		{responses, "auto", "anthropic/claude-opus-4-7", `"display":"summarized"`, "auto", nil},
		{responses, "detailed", "anthropic/claude-opus-4-7", `"display":"summarized"`, "detailed", degraded},
		{responses, "concise", "anthropic/claude-sonnet-4-5", `"display":"summarized"`, "concise", degraded},
		{responses, "auto", "bedrock/anthropic.claude-opus-4-7-v1:0", `"display":"summarized"`, "auto", nil},
		{responses, "detailed", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", `"display":"summarized"`, "detailed", degraded},
		{responses, "auto", "vertex/claude-opus-4-7", `"display":"summarized"`, "auto", nil},
		{responses, "loud", "anthropic/claude-opus-4-7", `"thinking":{"type":"adaptive"}`, "loud", []string{"ignored reasoning.summary"}},
		{responses, "detailed", "openai/gpt-5", `"summary":"detailed"`, "display", nil},
		{messages, "summarized", "anthropic/claude-opus-4-7", `"display":"summarized"`, "auto", nil},
		{messages, "omitted", "anthropic/claude-opus-4-7", `"display":"omitted"`, "auto", nil},
		{messages, "summarized", "openai/gpt-5", `"summary":"auto"`, "summarized", nil},
		{messages, "omitted", "openai/gpt-5", `"reasoning":{`, `"summary"`, nil},
		{messages, "omitted", "gemini/gemini-3-pro-preview", `"contents"`, "includeThoughts", nil},
		{messages, "summarized", "gemini/gemini-3-pro-preview", `"includeThoughts":true`, "summarized", nil},
	} {
		format := map[string]string{responses: wire.Responses, messages: wire.Messages}[c.body]
		wordCase{format, c.id, strings.Replace(c.body, "WORD", c.word, 1), []string{c.has}, []string{c.lacks}, c.warned}.sends(t, "reasoning.summary")
	}
	const gemini = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}}`
	wordCase{wire.Gemini, "anthropic/claude-opus-4-7", gemini, []string{`"display":"omitted"`}, []string{`"none"`}, nil}.sends(t, "reasoning.summary")
}

// Instructions among the messages are said by the user where a model takes none there.
func TestSystemTurns(t *testing.T) {
	const chat = `{"model":"m","messages":[{"role":"system","content":"sys"},{"role":"user","content":"hi"},{"role":"assistant","content":"a"},LIST]}`
	degraded := []string{"degraded system"}
	for _, c := range []struct {
		id, list, has, lacks string
		warned               []string
	}{
		{"anthropic/claude-sonnet-4-5", `{"role":"system","content":"mid"},{"role":"user","content":"u"}`, `{"role":"user","content":"mid"}`, `"role":"system"`, degraded},
		{"anthropic/claude-opus-4-7", `{"role":"user","content":"u"},{"role":"developer","content":"mid"}`, `{"role":"user","content":"mid"}`, `"role":"system"`, degraded},
		{"anthropic/claude-opus-4-8", `{"role":"user","content":"u"},{"role":"developer","content":"mid"}`, `{"role":"system","content":"mid"}`, `{"role":"user","content":"mid"}`, nil},
		{"anthropic/claude-opus-4-8", `{"role":"user","content":"u"},{"role":"system","content":"mid"},{"role":"assistant","content":"b"},{"role":"user","content":"v"}`, `{"role":"system","content":"mid"}`, `{"role":"user","content":"mid"}`, nil},
		{"anthropic/claude-opus-4-8", `{"role":"system","content":"mid"},{"role":"user","content":"u"}`, `{"role":"user","content":"mid"}`, `"role":"system"`, degraded},
		{"anthropic/claude-opus-4-8", `{"role":"user","content":"u"},{"role":"system","content":"mid"},{"role":"user","content":"v"}`, `{"role":"user","content":"mid"}`, `"role":"system"`, degraded},
		{"vertex/claude-opus-4-8", `{"role":"user","content":"u"},{"role":"system","content":"mid"}`, `{"role":"user","content":"mid"}`, `"role":"system"`, degraded},
		{"bedrock-claude/us.anthropic.claude-opus-4-8-v1:0", `{"role":"user","content":"u"},{"role":"system","content":"mid"}`, `{"role":"user","content":"mid"}`, `"role":"system"`, degraded},
		{"bedrock/us.anthropic.claude-opus-4-8-v1:0", `{"role":"user","content":"u"},{"role":"system","content":"mid"}`, `{"role":"user","content":[{"text":"u"},{"text":"mid"}]}`, `"role":"system"`, degraded},
		{"bedrock/amazon.nova-pro-v1:0", `{"role":"developer","content":"mid"},{"role":"user","content":"u"}`, `{"role":"user","content":[{"text":"mid"},{"text":"u"}]}`, `"role":"system"`, degraded},
		{"openai/gpt-5", `{"role":"system","content":"mid"},{"role":"user","content":"u"}`, `"system"`, `"role":"user","content":"mid"`, nil},
	} {
		wordCase{wire.Chat, c.id, strings.Replace(chat, "LIST", c.list, 1), []string{c.has}, []string{c.lacks}, c.warned}.sends(t, "system")
	}
}

// Servers that imitate Chat Completions get one system message, before all others, whatever the client wrote. OpenAI's own
// models take the messages as they are.
func TestOneSystemMessage(t *testing.T) {
	const (
		user = `{"role":"user","content":"u"}`
		one  = `"messages":[{"role":"system","content":"one\n\ntwo"},` + user
	)
	for _, c := range []struct {
		format, body, has, lacks string
		warned                   []string
	}{
		{wire.Chat, `{"model":"m","messages":[{"role":"system","content":"one"},{"role":"developer","content":"two"},` + user + `]}`, one, "developer", nil},
		{wire.Chat, `{"model":"m","messages":[{"role":"system","content":"one"},{"role":"system","content":"two"},` + user + `]}`, one, `"content":"two"`, nil},
		{wire.Chat, `{"model":"m","messages":[{"role":"developer","content":"one\n\ntwo"},` + user + `]}`, one, "developer", nil},
		{wire.Chat, `{"model":"m","messages":[{"role":"system","content":"one"},` + user + `,{"role":"system","content":"two"}]}`, one, `"content":"two"`, []string{"degraded system"}},
		{wire.Chat, `{"model":"m","messages":[` + user + `,{"role":"system","content":"one\n\ntwo"}]}`, one, "developer", []string{"degraded system"}},
		{wire.Chat, `{"model":"m","messages":[{"role":"system","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]},{"role":"developer","content":"two"},` + user + `]}`, one, "cache_control", []string{"ignored system"}},
		{wire.Responses, `{"model":"m","instructions":"one","input":[{"role":"developer","content":"two"},` + user + `]}`, one, "developer", nil},
		{wire.Messages, `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"one"}],"messages":[` + user + `,{"role":"system","content":"two"}]}`, one, `"content":"two"`, []string{"degraded system"}},
	} {
		for _, id := range []string{"deepseek/deepseek-chat", "vllm+http://127.0.0.1:1/v1#Qwen/Qwen3-8B", "groq/openai/gpt-oss-120b", "openrouter/openai/gpt-5"} {
			wordCase{c.format, id, c.body, []string{c.has}, []string{c.lacks}, c.warned}.sends(t, "system")
		}
	}
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"system","content":"one"},{"role":"developer","content":"two"},` + user + `]}`,
		`{"model":"m","messages":[` + user + `,{"role":"developer","content":"two"},` + user + `]}`,
	} {
		wordCase{wire.Chat, "openai+chat:gpt-4.1", body, []string{`"role":"developer","content":"two"`}, nil, nil}.sends(t, "system")
	}
}

// Instructions between a call and its result come after the result, and leave the two together.
func TestSystemTurnBesideResults(t *testing.T) {
	const chat = `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"system","content":"mid"},{"role":"tool","tool_call_id":"c1","content":"r"}]}`
	wordCase{wire.Chat, "anthropic/claude-sonnet-4-5", chat, []string{`{"type":"tool_result","tool_use_id":"c1","content":"r"},{"type":"text","text":"mid"}`}, []string{`"role":"system"`}, []string{"degraded system"}}.sends(t, "system")
	wordCase{wire.Chat, "anthropic/claude-opus-4-8", chat, []string{`"content":"r"}]},{"role":"system","content":"mid"}`}, nil, nil}.sends(t, "system")
}

// A word for how much to think that a vendor or a model lacks becomes the nearest that it has; what cannot be switched off thinks as little as it can.
func TestEfforts(t *testing.T) {
	const responses = `{"model":"m","input":"hi","reasoning":{"effort":"WORD"}}`
	effort, off := []string{"degraded reasoning.effort"}, []string{"degraded reasoning.off"}
	for _, c := range []struct {
		word, id, has string
		warned        []string
	}{
		{"minimal", "anthropic/claude-opus-4-7", `"effort":"low"`, effort},
		{"xhigh", "anthropic/claude-opus-4-7", `"effort":"xhigh"`, nil},
		{"xhigh", "anthropic/claude-opus-4-6", `"effort":"high"`, effort},
		{"minimal", "bedrock/anthropic.claude-opus-4-7-v1:0", `"effort":"low"`, effort},
		{"max", "gemini/gemini-3-flash-preview", `"thinkingLevel":"HIGH"`, effort},
		{"minimal", "ollama/gpt-oss:20b", `"think":"low"`, effort},
		{"max", "openai/gpt-5", `"effort":"high"`, effort},
		{"high", "openai/gpt-5", `"effort":"high"`, nil},
		{"minimal", "openai/gpt-5.1", `"effort":"low"`, effort},
		{"none", "openai/gpt-5", `"effort":"minimal"`, off},
		{"none", "openai/gpt-5.1", `"effort":"none"`, nil},
		{"none", "gemini/gemini-2.5-pro", `"thinkingBudget":128`, off},
		{"none", "gemini/gemini-2.5-flash", `"thinkingBudget":0`, nil},
		{"max", "anthropic/claude-sonnet-4-5", `"budget_tokens":49152`, effort},
	} {
		wordCase{wire.Responses, c.id, strings.Replace(responses, "WORD", c.word, 1), []string{c.has}, nil, c.warned}.sends(t, "reasoning.effort", "reasoning.off")
	}
}
