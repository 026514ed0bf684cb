package provider

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// Record is a set of facts about a model, with the keys of the user's models.yaml.
type Record struct {
	ID     string            `json:"id"`
	Values map[string]string `json:"values"`
	Why    string            `json:"why"` // what the values rest on
}

// lessons are what vendors said about models, kept for the process.
type lessons struct{ said sync.Map } // Model.key → Record

func (l *lessons) about(key string) (string, bool) {
	v, ok := l.said.Load(key)
	if !ok {
		return "", false
	}
	return v.(Record).Why, true
}

// Lessons returns what vendors said about models since the client was made,
// for the user's model file: until it is there, every process has to learn it
// again. The order is that of the ids.
func (c *Client) Lessons() []Record {
	var all []Record
	for _, v := range c.learned.said.Range {
		all = append(all, v.(Record))
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// noTools are the phrases, in lower case, in errors of vendors about missing tool
// calling.
var noTools = []string{
	"does not support tools",                         // Ollama
	"does not support tool",                          // OpenRouter and others: "tool use", "tool calling"
	"doesn't support tool use",                       // Bedrock
	"tool choice requires --enable-auto-tool-choice", // vLLM
	"--enable-auto-tool-choice",                      // vLLM, newer wording
	"tools param requires --jinja",                   // llama.cpp
	"does not support function calling",
	"function calling is not enabled", // Gemini
	"function calling is not supported",
	"tool use is not supported",
	"tool calling is not supported",
	"tools are not supported",
	"no endpoints found that support tool use",        // OpenRouter
	"`tool calling` is not supported with this model", // Groq
}

// saysNoTools reports whether an error is about missing tool calling.
func saysNoTools(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind == llm.Auth || e.Kind.Transient() && e.Kind != llm.Server {
		return false
	}
	text := strings.ToLower(e.Error())
	for _, phrase := range noTools {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// learn remembers an error about missing tool calling. It reports whether err is such
// an error and the request has tools.
func (m *Model) learn(j *job, err error) bool {
	if len(j.req.Tools) == 0 || m.client.Route != "" || !saysNoTools(err) {
		return false
	}
	var e *llm.Error
	errors.As(err, &e)
	text := e.Error()
	record := Record{ID: m.catalogID(m.id), Values: map[string]string{"native_tools": "false"}, Why: text[:min(len(text), 300)]}
	m.client.learned.said.Store(m.key(), record)
	return true
}
