package vendorapi

import (
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/wire"
)

// Action is what a path asks for.
type Action uint8

// The actions.
const (
	Nothing      Action = iota
	Answer              // an answer of a model
	Count               // how many tokens a request has
	ListModels          // which models there are
	GetModel            // one model
	ShowModel           // one model, as Ollama shows it
	ListTags            // which models there are, as Ollama lists them
	Version             // of the server, which Ollama's clients ask for
	GetAnswer           // an answer that is kept
	DeleteAnswer        // to forget one
	CancelAnswer        // to end one that runs in the background, which none does
)

// Endpoint is a question of a vendor's API.
type Endpoint struct {
	Action Action
	Codec  wire.Codec
}

// place says what a path asks for. A path that ends in "/" is a prefix, and "*"
// stands for anything. Without a format, the request's headers say it.
type place struct {
	method, path string
	action       Action
	format       string
	quirks       wire.Quirks
}

var places = []place{
	{"POST", "/v1/chat/completions", Answer, wire.Chat, wire.Quirks{}},
	{"POST", "/chat/completions", Answer, wire.Chat, wire.Quirks{}},
	{"POST", "/openai/v1/chat/completions", Answer, wire.Chat, wire.Quirks{}},
	{"POST", deployments + "*/chat/completions", Answer, wire.Chat, wire.Quirks{}},
	{"POST", "/openai/v1/responses", Answer, wire.Responses, wire.Quirks{}},
	{"POST", "/openai/responses", Answer, wire.Responses, wire.Quirks{}},
	{"GET", "/openai/v1/models", ListModels, wire.Chat, wire.Quirks{}},
	{"POST", "/v1/responses", Answer, wire.Responses, wire.Quirks{}},
	{"POST", "/responses", Answer, wire.Responses, wire.Quirks{}},
	{"POST", "/v1/messages", Answer, wire.Messages, wire.Quirks{}},
	{"POST", "/v1/messages/count_tokens", Count, wire.Messages, wire.Quirks{}},
	{"POST", "/v1/responses/input_tokens", Count, wire.Responses, wire.Quirks{}},
	{"POST", "/v1beta/models/*:countTokens", Count, wire.Gemini, wire.Quirks{}},
	{"POST", "/v1/models/*:countTokens", Count, wire.Gemini, wire.Quirks{}},
	{"POST", "/model/*/count-tokens", Count, wire.Converse, wire.Quirks{}},
	{"POST", "/v1/projects/*/publishers/anthropic/models/*", Answer, wire.Messages, wire.OnVertex()},
	{"POST", "/v1beta/models/", Answer, wire.Gemini, wire.Quirks{}},
	{"POST", "/v1/models/", Answer, wire.Gemini, wire.Quirks{}},
	{"POST", "/api/chat", Answer, wire.Ollama, wire.Quirks{}},
	{"POST", "/model/*/invoke", Answer, wire.Messages, wire.OnBedrock()},
	{"POST", "/model/*/invoke-with-response-stream", Answer, wire.Messages, wire.OnBedrock()},
	{"POST", "/model/", Answer, wire.Converse, wire.Quirks{}},
	{"POST", "/api/generate", Answer, wire.Ollama, wire.OnGenerate()},
	{"POST", "/api/show", ShowModel, wire.Ollama, wire.Quirks{}},
	{"GET", "/api/tags", ListTags, wire.Ollama, wire.Quirks{}},
	{"GET", "/api/version", Version, wire.Ollama, wire.Quirks{}},
	{"GET", "/v1/models", ListModels, "", wire.Quirks{}},
	{"GET", "/models", ListModels, "", wire.Quirks{}},
	{"GET", "/v1beta/models", ListModels, wire.Gemini, wire.Quirks{}},
	{"GET", "/v1/models/", GetModel, "", wire.Quirks{}},
	{"GET", "/models/", GetModel, "", wire.Quirks{}},
	{"GET", "/v1beta/models/", GetModel, wire.Gemini, wire.Quirks{}},
	{"GET", answerPath, GetAnswer, wire.Responses, wire.Quirks{}},
	{"POST", answerPath + "*/" + cancelAnswer, CancelAnswer, wire.Responses, wire.Quirks{}},
	{"DELETE", answerPath, DeleteAnswer, wire.Responses, wire.Quirks{}},
}

func (p place) matches(method, path string) bool {
	if p.method != method {
		return false
	}
	if strings.HasSuffix(p.path, "/") {
		return strings.HasPrefix(path, p.path)
	}
	rest, after := path, p.path
	for {
		var before string
		var more bool
		if before, after, more = strings.Cut(after, "*"); !more {
			return before == rest || before != p.path && strings.HasSuffix(rest, before)
		}
		i := strings.Index(rest, before)
		if i < 0 {
			return false
		}
		rest = rest[i+len(before):]
	}
}

// Find returns what a request asks for. What no vendor has is the action Nothing, in the
// format that the client seems to speak.
func Find(r *http.Request) Endpoint {
	for _, p := range places {
		if p.matches(r.Method, r.URL.Path) {
			format := p.format
			if format == "" {
				format = formatOf(r)
			}
			return Endpoint{p.action, wire.Codec{Format: format, Quirks: p.quirks}}
		}
	}
	return Endpoint{Nothing, wire.Codec{Format: formatOf(r)}}
}

// Route returns the path of a request with * in the place of names and ids, and "" for what no
// vendor has. There are only so many of them, whatever clients write.
func Route(r *http.Request) string {
	for _, p := range places {
		if !p.matches(r.Method, r.URL.Path) {
			continue
		}
		if !strings.HasSuffix(p.path, "/") {
			return p.path
		}
		model, _, ok := wire.Codec{Format: p.format}.SplitPath(r.URL.Path)
		if verb, found := strings.CutPrefix(r.URL.Path, p.path+model); p.action == Answer && ok && found {
			return p.path + "*" + verb
		}
		return p.path + "*"
	}
	return ""
}

// formatOf is the format of the client that sends a request, as far as its path and its
// headers tell.
func formatOf(r *http.Request) string {
	switch under := func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }; {
	case r.Header.Get("Anthropic-Version") != "" || under("/v1/messages"):
		return wire.Messages
	case r.Header.Get("X-Goog-Api-Key") != "" || under("/v1beta/"):
		return wire.Gemini
	case under("/api/"):
		return wire.Ollama
	case under("/model/"):
		return wire.Converse
	case under("/v1/responses"):
		return wire.Responses
	}
	return wire.Chat
}
