package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cell is a request of conformance/cells.json or of testdata/requests.jsonl.
type cell struct {
	Cell, Format, Model string
	StreamModel         string `json:"stream_model"`
	Request             map[string]any
	Extra               map[string]any
	Does                string
	Modes               []string
	Then                map[string]any
	Reply               *struct {
		Result string
		Forge  bool
	}
	Over []string // the upstreams it is sent to; all if empty

	agent bool // from requests.jsonl
}

// through reports whether a cell is sent over a kind of upstream.
func (c *cell) through(over string) bool { return len(c.Over) == 0 || slices.Contains(c.Over, over) }

func (c *cell) has(mode string) bool { return len(c.Modes) == 0 || slices.Contains(c.Modes, mode) }

// cells reads both tables.
func (o *options) cells() ([]*cell, error) {
	src, err := os.ReadFile(filepath.Join(o.root, "conformance/cells.json"))
	if err != nil {
		return nil, err
	}
	var table struct {
		Fixtures map[string]string
		Over     map[string]struct{ Cells []string }
		Cells    json.RawMessage
	}
	if err := json.Unmarshal(src, &table); err != nil {
		return nil, err
	}
	fill := func(text string) []byte {
		for name, data := range table.Fixtures {
			text = strings.ReplaceAll(text, "{"+name+"}", data)
		}
		return []byte(text)
	}
	var all []*cell
	if err := json.Unmarshal(fill(string(table.Cells)), &all); err != nil {
		return nil, err
	}
	for _, c := range all {
		for _, over := range upstreams {
			if only := table.Over[over].Cells; only == nil || slices.Contains(only, c.Cell) {
				c.Over = append(c.Over, over)
			}
		}
	}
	src, err = os.ReadFile(filepath.Join(o.root, "internal/differential/testdata/requests.jsonl"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(fill(string(src)))) {
		c := &cell{agent: true}
		if err := json.Unmarshal([]byte(line), c); err != nil {
			return nil, fmt.Errorf("requests.jsonl: %w: %s", err, line)
		}
		all = append(all, c)
	}
	return all, nil
}

// model is the name of the model of a cell. A model with {unique} counts its requests, so
// each input has its own, the same on both sides.
func (c *cell) model(stream bool, unique int) string {
	name := c.Model
	if stream && c.StreamModel != "" {
		name = c.StreamModel
	}
	if c.Format != "gemini" {
		name = "sim/" + name
	}
	return strings.ReplaceAll(name, "{unique}", fmt.Sprint(unique))
}

// request returns the HTTP request of a cell.
func (c *cell) request(body map[string]any, model string, stream bool) (request, error) {
	q := request{method: "POST", headers: map[string]string{}}
	b := merged(body, c.Extra)
	switch c.Format {
	case "chat":
		q.path = "/v1/chat/completions"
		b["model"] = model
		if stream {
			b["stream"], b["stream_options"] = true, map[string]any{"include_usage": true}
		}
	case "responses":
		q.path = "/v1/responses"
		b["model"] = model
		if stream {
			b["stream"] = true
		}
	case "messages":
		q.path = "/v1/messages"
		q.headers["anthropic-version"] = "2023-06-01"
		b["model"] = model
		if stream {
			b["stream"] = true
		}
	case "gemini":
		q.path = "/v1beta/models/" + url.PathEscape(model) + ":generateContent"
		if stream {
			q.path = "/v1beta/models/" + url.PathEscape(model) + ":streamGenerateContent?alt=sse"
		}
		b = geminiBody(b)
	case "ollama":
		q.path = "/api/chat"
		b["model"], b["stream"] = model, stream
	case "converse":
		q.path = "/model/" + url.PathEscape(model) + "/converse"
		if stream {
			q.path += "-stream"
		}
	default:
		return q, fmt.Errorf("unknown format %q", c.Format)
	}
	var err error
	q.body, err = json.Marshal(b)
	return q, err
}

// counted is the request that counts the tokens of a cell.
func (c *cell) counted(q request) (request, error) {
	switch c.Format {
	case "responses":
		q.path += "/input_tokens"
	case "messages":
		q.path += "/count_tokens"
	case "gemini":
		q.path = strings.Replace(q.path, ":generateContent", ":countTokens", 1)
	case "converse":
		q.path = strings.TrimSuffix(q.path, "/converse") + "/count-tokens"
		var err error
		q.body, err = json.Marshal(map[string]any{"input": map[string]any{"converse": json.RawMessage(q.body)}})
		return q, err
	}
	return q, nil
}

// asked is the request for the description of a model.
func (c *cell) asked(model string) request {
	q := request{method: "GET", path: "/v1/models/" + model, headers: map[string]string{}}
	switch c.Format {
	case "gemini":
		q.path = "/v1beta/models/" + url.PathEscape(model)
	case "messages":
		q.headers["anthropic-version"] = "2023-06-01"
	}
	return q
}

func merged(maps ...map[string]any) map[string]any {
	out := make(map[string]any)
	for _, m := range maps {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// geminiBody moves the config of Google's clients to where the API has it.
func geminiBody(b map[string]any) map[string]any {
	config, _ := b["config"].(map[string]any)
	delete(b, "config")
	generation := make(map[string]any)
	for k, v := range config {
		switch k {
		case "tools", "toolConfig", "systemInstruction", "safetySettings", "cachedContent":
			b[k] = v
		default:
			generation[k] = v
		}
	}
	if len(generation) > 0 {
		b["generationConfig"] = generation
	}
	return b
}

// following is the request after an answer: the history with the answer and a result for each
// tool call, or a new question about the stored answer. It is nil for cells of one request and
// for answers that are not JSON.
func (c *cell) following(answer []byte) map[string]any {
	var a map[string]any
	if c.Then == nil && c.Reply == nil || json.Unmarshal(answer, &a) != nil {
		return nil
	}
	if c.Then != nil {
		return merged(c.Then, map[string]any{"previous_response_id": a["id"]})
	}
	next := c.reply(a)
	if next != nil && c.Reply.Forge {
		forge(next)
	}
	return next
}

func (c *cell) reply(a map[string]any) map[string]any {
	result := c.Reply.Result
	var said, results []any
	key := "messages"
	switch c.Format {
	case "chat":
		m, _ := at(a, "choices", 0, "message").(map[string]any)
		said = []any{m}
		for _, call := range list(m["tool_calls"]) {
			results = append(results, map[string]any{"role": "tool", "tool_call_id": at(call, "id"), "content": result})
		}
	case "responses":
		key = "input"
		said = list(a["output"])
		for _, item := range said {
			if at(item, "type") == "function_call" {
				results = append(results, map[string]any{"type": "function_call_output", "call_id": at(item, "call_id"), "output": result})
			}
		}
	case "messages":
		said = []any{map[string]any{"role": "assistant", "content": a["content"]}}
		var blocks []any
		for _, b := range list(a["content"]) {
			if at(b, "type") == "tool_use" {
				blocks = append(blocks, map[string]any{"type": "tool_result", "tool_use_id": at(b, "id"), "content": result})
			}
		}
		results = []any{map[string]any{"role": "user", "content": blocks}}
	case "gemini":
		key = "contents"
		content := at(a, "candidates", 0, "content")
		said = []any{content}
		var parts []any
		for _, p := range list(at(content, "parts")) {
			if f, ok := at(p, "functionCall").(map[string]any); ok {
				r := map[string]any{"name": f["name"], "response": map[string]any{"output": result}}
				if f["id"] != nil {
					r["id"] = f["id"]
				}
				parts = append(parts, map[string]any{"functionResponse": r})
			}
		}
		results = []any{map[string]any{"role": "user", "parts": parts}}
	case "ollama":
		said = []any{a["message"]}
		for _, call := range list(at(a, "message", "tool_calls")) {
			results = append(results, map[string]any{"role": "tool", "tool_name": at(call, "function", "name"), "content": result})
		}
	case "converse":
		m := at(a, "output", "message")
		said = []any{m}
		var blocks []any
		for _, b := range list(at(m, "content")) {
			if id := at(b, "toolUse", "toolUseId"); id != nil {
				blocks = append(blocks, map[string]any{"toolResult": map[string]any{"toolUseId": id, "content": []any{map[string]any{"text": result}}}})
			}
		}
		results = []any{map[string]any{"role": "user", "content": blocks}}
	}
	if len(said) == 0 || said[0] == nil {
		return nil
	}
	history := list(c.Request[key])
	if text, ok := c.Request[key].(string); ok {
		history = []any{map[string]any{"role": "user", "content": text}}
	}
	return merged(c.Request, map[string]any{key: slices.Concat(history, said, results)})
}

// at follows keys and indexes into JSON.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l := list(v)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// forge changes everything that is signed.
func forge(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if _, ok := e.(string); ok && (k == "signature" || k == "thoughtSignature" || k == "encrypted_content") {
				v[k] = "Zm9yZ2Vk"
				continue
			}
			forge(e)
		}
	case []any:
		for _, e := range v {
			forge(e)
		}
	}
}
