package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// maxBody bounds a request.
const maxBody = 64 << 20

// Server answers as the servers of all vendors do. Which model is asked for
// decides how it behaves: see [Behaviour]. It is an [http.Handler], safe for
// concurrent use, and holds no key: any is accepted.
type Server struct {
	// Model decides what to say; nil means Offline.
	Model llm.Model

	mu   sync.Mutex
	seen map[string]int // requests per model name, for Behaviour.Times

	tallies map[string]*tally // per model name
	answers []kept            // oldest first
	size    int               // of what is kept
}

// route says which format a path speaks. A path that ends in "/" is a prefix,
// and "*" stands for anything.
type route struct {
	method, path string
	serve        func(*Server, http.ResponseWriter, *http.Request)
}

var routes = []route{
	{"POST", "/v1/chat/completions", answerIn(wire.Chat)},
	{"POST", "/chat/completions", answerIn(wire.Chat)},
	{"POST", "/v1/responses", answerIn(wire.Responses)},
	{"POST", "/responses", answerIn(wire.Responses)},
	{"POST", "/v1/messages", answerIn(wire.Messages)},
	{"POST", "/v1/messages/count_tokens", countMessages.serve},
	{"POST", "/v1/responses/input_tokens", countResponses.serve},
	{"POST", "/v1beta/models/*:countTokens", countGemini.serve},
	{"POST", "/v1/models/*:countTokens", countGemini.serve},
	{"POST", "/model/*/count-tokens", countConverse.serve},
	{"POST", "/v1/projects/*/publishers/anthropic/models/*", answerAs(wire.Codec{Format: wire.Messages, Quirks: wire.OnVertex()})},
	{"POST", "/v1beta/models/", answerIn(wire.Gemini)},
	{"POST", "/v1/models/", answerIn(wire.Gemini)},
	{"POST", "/api/chat", answerIn(wire.Ollama)},
	{"POST", "/model/*/invoke", answerAs(wire.Codec{Format: wire.Messages, Quirks: wire.OnBedrock()})},
	{"POST", "/model/*/invoke-with-response-stream", answerAs(wire.Codec{Format: wire.Messages, Quirks: wire.OnBedrock()})},
	{"POST", "/model/", answerIn(wire.Converse)},
	{"POST", "/api/show", (*Server).showModel},
	{"GET", "/api/tags", (*Server).listTags},
	{"GET", "/api/version", (*Server).version},
	{"GET", "/v1/models", (*Server).listModels},
	{"GET", "/models", (*Server).listModels},
	{"GET", "/v1beta/models", (*Server).listGemini},
	{"GET", "/v1/models/", (*Server).getModel},
	{"GET", "/models/", (*Server).getModel},
	{"GET", "/v1beta/models/", (*Server).getModel},
	{"GET", "/v1/responses/", (*Server).serveKept},
	{"DELETE", "/v1/responses/", (*Server).serveKept},
	{"GET", "/sim/seen", (*Server).serveSeen},
	{"GET", "/health", (*Server).health},
}

func (r route) matches(req *http.Request) bool {
	if r.method != req.Method {
		return false
	}
	if strings.HasSuffix(r.path, "/") {
		return strings.HasPrefix(req.URL.Path, r.path)
	}
	rest, after := req.URL.Path, r.path
	for {
		var before string
		var more bool
		if before, after, more = strings.Cut(after, "*"); !more {
			return before == rest || before != r.path && strings.HasSuffix(rest, before)
		}
		i := strings.Index(rest, before)
		if i < 0 {
			return false
		}
		rest = rest[i+len(before):]
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for _, r := range routes {
		if r.matches(req) {
			r.serve(s, w, req)
			return
		}
	}
	codec := wire.Codec{Format: formatOf(req)}
	fail(codec, w, notFound(codec, noEndpoint(codec.Format, req)))
}

// endpointWords are the words in which vendors refuse a path that they do not
// have, where ours would not do.
var endpointWords = []struct{ format, words string }{
	{wire.Chat, "Invalid URL (%s %s)"},
}

func noEndpoint(format string, req *http.Request) error {
	words := "no such endpoint: %s %s"
	for _, row := range endpointWords {
		if row.format == format {
			words = row.words
		}
	}
	return fmt.Errorf(words, req.Method, req.URL.Path)
}

// formatOf is the format of the client that sends a request, as far as its path
// and its headers tell.
func formatOf(req *http.Request) string {
	switch under := func(prefix string) bool { return strings.HasPrefix(req.URL.Path, prefix) }; {
	case req.Header.Get("Anthropic-Version") != "" || under("/v1/messages"):
		return wire.Messages
	case req.Header.Get("X-Goog-Api-Key") != "" || under("/v1beta/"):
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

// notFound is the error about something that is not there. The code is the
// format's own, whatever it calls it.
func notFound(codec wire.Codec, err error) error {
	return &llm.Error{Op: "sim", Kind: llm.NotFound, Status: http.StatusNotFound, Code: codec.Properties().Errors[llm.NotFound], Err: err}
}

// answerIn returns the handler of a format.
func answerIn(format string) func(*Server, http.ResponseWriter, *http.Request) {
	return answerAs(wire.Codec{Format: format})
}

// answerAs returns the handler of a format at a host with quirks.
func answerAs(codec wire.Codec) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, req *http.Request) {
		if err := s.answer(codec, w, req); err != nil {
			fail(codec, w, err)
		}
	}
}

// answer serves one question. An error it returns has not been sent yet.
func (s *Server) answer(codec wire.Codec, w http.ResponseWriter, r *http.Request) error {
	if err := checkSignature(r); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return &llm.Error{Op: "sim", Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Err: err}
	}
	req, stream, err := codec.DecodeRequest(body)
	if err != nil {
		return err
	}
	if err := pathSays(codec, r.URL.Path, req, &stream); err != nil {
		return err
	}
	if len(req.Messages) == 0 {
		return &llm.Error{Op: "sim", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: errors.New("the conversation has no messages")}
	}
	b, err := s.behaviour(req.Model)
	if err != nil {
		return notFound(codec, err)
	}
	ended := s.saw(req.Model)
	sent := false
	defer func() { ended(!sent && r.Context().Err() != nil) }()
	if err := b.refuse(w, req); err != nil {
		return err
	}
	if b.plays.ID.Root() == "claude" { // whose own fields are then read
		codec.Quirks.ModelFields = wire.AnthropicFields
		model := req.Model
		if req, _, err = codec.DecodeRequest(body); err != nil {
			return err
		}
		req.Model = model
	}
	if err := s.recall(codec, req); err != nil {
		return err
	}
	if err := b.check(codec, req, body); err != nil {
		return err
	}
	if n := inputTokens(req); b.Window > 0 && n > b.Window {
		return tooLong(codec, n, b.Window)
	}
	if !sleep(r.Context(), b.Stall) {
		return r.Context().Err()
	}
	answer, err := s.respond(r.Context(), codec, &b, req, body)
	if err != nil {
		return err
	}
	err = b.send(r.Context(), codec, w, answer, stream)
	sent = err == nil
	return err
}

// respond makes the answer to a request that is in order.
func (s *Server) respond(ctx context.Context, codec wire.Codec, b *Behaviour, req *llm.Request, body []byte) (*llm.Response, error) {
	answer, err := b.respond(ctx, s.model(), req)
	if err != nil {
		return nil, err
	}
	start := b.start(codec, req.Model, body)
	if b.Think || thinks(req) {
		think(codec, req, answer, start.ID)
	}
	if b.Strict {
		signCalls(codec, answer)
	}
	if honour(codec, req, answer, b.Huge == 0) {
		b.Length = true
	}
	answer.Finish.Model = req.Model
	start.Model, start.Usage.Input = answer.Finish.Model, answer.Finish.Usage.Input
	answer.Start = start
	s.keep(codec, req, answer, len(body))
	return answer, nil
}

func (s *Server) model() llm.Model {
	if s.Model == nil {
		return Offline{}
	}
	return s.Model
}

// behaviour reads a model's name and drops its faults once they have happened
// often enough.
func (s *Server) behaviour(model string) (Behaviour, error) {
	b, err := ParseBehaviour(model)
	if err != nil || b.Times == 0 {
		return b, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = make(map[string]int)
	}
	s.seen[model]++
	if s.seen[model] > b.Times {
		return b.healed(), nil
	}
	return b, nil
}

// pathSays takes over which model is asked for, and whether for a stream, from
// paths that say so.
func pathSays(codec wire.Codec, path string, req *llm.Request, stream *bool) error {
	format := codec.Properties()
	if !format.ModelInPath() {
		return nil
	}
	model, streams, ok := codec.SplitPath(path)
	if !ok {
		return &llm.Error{Op: "sim", Kind: llm.NotFound, Status: http.StatusNotFound, Err: fmt.Errorf("the path %s names no model", path)}
	}
	req.Model = model
	if format.StreamInPath() {
		*stream = streams
	}
	return nil
}

// refuse returns the error that b answers with before any model is asked.
func (b Behaviour) refuse(w http.ResponseWriter, req *llm.Request) error {
	if b.NoTools && len(req.Tools) > 0 {
		return &llm.Error{Op: "sim", Kind: llm.Unsupported, Status: http.StatusBadRequest, Err: fmt.Errorf("%s does not support tools", req.Model)}
	}
	if b.Status == 0 {
		return nil
	}
	if b.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((b.RetryAfter+time.Second-1)/time.Second)))
	}
	return &llm.Error{Op: "sim", Kind: kinds[b.Status], Status: b.Status, RetryAfter: b.RetryAfter, Err: errors.New("this fault was asked for")}
}

var kinds = map[int]llm.Kind{401: llm.Auth, 429: llm.RateLimited, 500: llm.Server, 503: llm.Overloaded}

// fail sends an error in the words of the format.
func fail(codec wire.Codec, w http.ResponseWriter, err error) {
	var known *llm.Error
	if !errors.As(err, &known) {
		known = &llm.Error{Op: "sim", Kind: llm.KindOf(err), Err: err}
	}
	status, body := codec.EncodeError(known)
	w.Header().Set("Content-Type", "application/json")
	for name, values := range codec.ErrorHeader(known) {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// sleep waits for d and reports false if ctx is done before.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
