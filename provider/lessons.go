package provider

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/catalog"
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

// facts are what a server says about a model without being asked a question: no
// token is spent on them. Zero values are unknown.
type facts struct {
	server    string // "llama.cpp", "ollama", "vllm"
	name      string // of the model, where the id does not say it
	tools     catalog.Support
	reasoning catalog.Support
	params    int64
	context   int
	dialect   string // that its chat template shows
	why       []string
}

// known keeps facts for the process. It is cleared when it is full, so a program that
// opens ever new addresses does not need more memory.
type known struct {
	mu    sync.Mutex
	facts map[string]*facts
}

const maxFacts = 256

func (k *known) get(key string) *facts {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.facts[key]
}

func (k *known) put(key string, f *facts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.facts == nil || len(k.facts) >= maxFacts {
		k.facts = map[string]*facts{}
	}
	k.facts[key] = f
}

// drop forgets the facts of a server. A server that could not be reached may be
// another server when it is back.
func (k *known) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.facts, key)
}

func (f *facts) because(format string, args ...any) {
	f.why = append(f.why, fmt.Sprintf(format, args...))
}
