package provider

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/wire/format"
)

// CountTokens asks the vendor for the number of tokens of a request that a client
// wrote in the model's own format. It reports false, without a request, if the client
// uses another format or the format has no endpoint for that.
func (m *Model) CountTokens(ctx context.Context, r ClientRequest) (tokens int, counted bool, err error) {
	count := m.format().Count
	if r.Format != m.wire || count.Path == "" {
		return 0, false, nil
	}
	body := r.named(m)
	if body == nil {
		return 0, false, nil
	}
	if _, foreign := m.client.redactBody(&m.target, body); len(foreign) > 0 {
		return 0, false, nil
	}
	n, err := m.count(ctx, count, body)
	return n, true, err
}

// count sends the question for the tokens of a request.
func (m *Model) count(ctx context.Context, count format.TokenCount, body []byte) (int, error) {
	x, err := m.newExchange(ctx, llm.Limits{}, false)
	if err != nil {
		return 0, err
	}
	defer x.watch.Stop()
	resp, err := x.ask(http.MethodPost, m.base.JoinPath(m.settled.codec.CountPath(m.model)).String(), body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return 0, credential.RedactError(x.refusal(), x.key)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return 0, x.asError(err)
	}
	n, ok := int64(0), false
	if js.Valid(answer) {
		n, ok = js.Int(js.Get(js.Trim(answer), count.Member))
	}
	if !ok || n < 0 {
		return 0, &llm.Error{Op: m.vendor.Name, Kind: llm.Malformed, Err: fmt.Errorf("the count of tokens has no number %s", count.Member)}
	}
	return int(n), nil
}
