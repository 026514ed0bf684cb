package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/vendorapi"
	wirenames "github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// maxBody limits a request.
const maxBody = 64 << 20

// Server answers as the servers of all vendors do. The model in the request
// decides how it behaves: see [CheckModel]. It is an [http.Handler], safe for
// concurrent use, and accepts any key.
type Server struct {
	// Model answers the requests; nil means Offline.
	Model llm.Model
	// Unknown is the name of the model that answers for unknown names, such as names that are built into programs;
	// empty refuses them.
	Unknown string

	mu   sync.Mutex
	seen map[string]int // requests per model name, for Behaviour.Times

	tallies map[string]*tally // per model name
	answers vendorapi.Answers
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /sim/seen":
		s.serveSeen(w, r)
		return
	case "GET /health":
		vendorapi.WriteJSON(w, map[string]string{"status": "ok"})
		return
	}
	e := vendorapi.Find(r)
	var err error
	switch e.Action {
	case serverapi.Generate:
		err = s.answer(e, w, r)
	case serverapi.CountTokens:
		err = s.count(e, w, r)
	case serverapi.ListModels:
		e.WriteModels(w, described(Models()))
	case serverapi.GetModel, serverapi.ShowModel:
		err = s.getModel(e, w, r)
	case serverapi.GetVersion:
		vendorapi.WriteJSON(w, map[string]string{"version": "0.0.0-sim"})
	case serverapi.GetAnswer, serverapi.DeleteAnswer:
		s.answers.Serve("", e, w, r)
	default:
		err = vendorapi.NoEndpoint(e.Codec, r)
	}
	if err != nil && !writeRefusal(w, err) {
		vendorapi.Fail(w, e.Codec, err)
	}
}

// answer serves one question. An error it returns has not been sent yet.
func (s *Server) answer(e vendorapi.Endpoint, w http.ResponseWriter, r *http.Request) error {
	if err := checkSignature(r); err != nil {
		return err
	}
	body, err := vendorapi.Body(w, r, maxBody)
	if err != nil {
		return err
	}
	if body, err = s.answers.Refer(r.Context(), "", "", e.Codec, body, maxBody); err != nil {
		return err
	}
	req, stream, err := e.Request(r.URL.Path, body)
	if err != nil {
		return err
	}
	codec := e.Codec
	b, err := s.behaviourOf(req.Model)
	if err != nil {
		return vendorapi.NotFound(codec, err)
	}
	if len(req.Messages) == 0 {
		return e.WriteReady(w, req)
	}
	ended := s.saw(req.Model)
	sent := false
	defer func() { ended(!sent && r.Context().Err() != nil) }()
	if err := b.refuse(req); err != nil {
		return err
	}
	if b.plays.ID.Root() == "claude" { // whose own fields are then read
		codec.Quirks.ModelFields = wirenames.AnthropicFields
		model := req.Model
		if req, _, err = codec.DecodeRequest(body); err != nil {
			return err
		}
		req.Model = model
	}
	if err := s.answers.Recall(r.Context(), "", codec, req); err != nil {
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
	codec = codec.Answering(req)
	answer, err := s.respond(r.Context(), codec, &b, req, body)
	if err != nil {
		return err
	}
	err = b.send(r.Context(), codec, w, answer, stream)
	sent = err == nil
	return err
}

// respond makes the answer to a valid request.
func (s *Server) respond(ctx context.Context, codec wire.Codec, b *behaviour, req *llm.Request, body []byte) (*llm.Response, error) {
	answer, err := b.respond(ctx, s.model(), visible(codec, req))
	if err != nil {
		return nil, err
	}
	withoutCalls(req, answer)
	start := b.start(codec, req.Model, body)
	if err := search(codec, req, answer, start.ID); err != nil {
		return nil, err
	}
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
	return answer, s.answers.Keep(ctx, "", "", codec, req, answer)
}

func (s *Server) model() llm.Model {
	if s.Model == nil {
		return Offline{}
	}
	return s.Model
}

// behaviour reads a model's name and drops its faults once they have happened
// often enough.
func (s *Server) behaviourOf(model string) (behaviour, error) {
	b, err := s.parse(model)
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

// parse reads the name of a model.
func (s *Server) parse(model string) (behaviour, error) {
	b, err := parseBehaviour(model)
	if err != nil && s.Unknown != "" {
		return parseBehaviour(s.Unknown)
	}
	return b, err
}

// refuse returns the error that b answers with before it calls a model.
func (b behaviour) refuse(req *llm.Request) error {
	if b.NoTools && len(req.Tools) > 0 {
		return &llm.Error{Op: "sim", Kind: llm.Unsupported, Status: http.StatusBadRequest, Err: fmt.Errorf("%s does not support tools", req.Model)}
	}
	if b.Status == 0 {
		return nil
	}
	return &llm.Error{Op: "sim", Kind: kinds[b.Status], Status: b.Status, RetryAfter: b.RetryAfter, Err: errors.New("this fault was asked for")}
}

var kinds = map[int]llm.Kind{401: llm.Auth, 429: llm.RateLimited, 500: llm.Server, 503: llm.Overloaded}

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
