package mcpbridge

import (
	"context"
	"errors"
	"net/http"
)

type stdioUpstream struct{}

func newStdioUpstream(context.Context, ServerConfig, bool) upstream { return stdioUpstream{} }

func (stdioUpstream) roundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("not yet")
}
func (stdioUpstream) close() {}
