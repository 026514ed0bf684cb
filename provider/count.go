package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// CountTokens asks the vendor how many tokens a request has that a client of the model's own format
// wrote. It reports false, and has asked nobody, where the client speaks another format, or the
// format has no such question.
func (m *Model) CountTokens(ctx context.Context, r ClientRequest) (tokens int, counted bool, err error) {
	count := m.format().Count
	if r.Format != m.wire || count.Path == "" {
		return 0, false, nil
	}
	body := m.ownName(&r)
	if body == nil {
		return 0, false, nil
	}
	if _, foreign := m.redactBody(body); len(foreign) > 0 {
		return 0, false, nil
	}
	n, err := m.count(ctx, count, body)
	return n, true, err
}

// count sends the question for the tokens of a request.
func (m *Model) count(ctx context.Context, count wire.TokenCount, body []byte) (int, error) {
	key, err := m.client.key(m.target)
	if err != nil {
		return 0, err
	}
	w := m.client.watch(ctx, llm.Limits{})
	defer w.stop()
	place := m.base.JoinPath(m.codec().CountPath(m.model)).String()
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, place, bytes.NewReader(body))
	if err != nil {
		return 0, m.asError(w.ctx, err, key)
	}
	req.Header.Set("Content-Type", "application/json")
	if err := m.vendor.authorize(req, body, key); err != nil {
		return 0, m.asError(w.ctx, err, key)
	}
	resp, err := m.client.httpClient().Do(req)
	if err != nil {
		return 0, m.asError(w.ctx, err, key)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return 0, redactError(m.refusal(&job{codec: m.codec()}, resp), key)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return 0, m.asError(w.ctx, err, key)
	}
	n, ok := int64(0), false
	if js.Valid(answer) {
		n, ok = js.Int(js.Get(js.Trim(answer), count.Member))
	}
	if !ok || n < 0 {
		return 0, &llm.Error{Op: m.vendor.Name, Kind: llm.Malformed, Err: fmt.Errorf("the answer to a question for tokens has no number %s", count.Member)}
	}
	return int(n), nil
}
