package gateway_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestInvalidUpstreamURL checks that a wildcard route with an invalid address is refused. Clients that reach such an
// address anyway must see a fault of the gateway, not their own.
func TestInvalidUpstreamURL(t *testing.T) {
	open := opening(&provider.Client{Retry: once, Route: provider.Native, Vendors: map[string]provider.Vendor{
		"up": {BaseURL: "http://user:s3cret@127.0.0.1:1/v1", Wires: []string{wire.Chat}}}})
	_, err := gateway.New(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{to("m-*", "up/*")}})
	var wrong *provider.AddressError
	if !errors.As(err, &wrong) || wrong.Vendor != "up" || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a route to no address is taken: %v", err)
	}
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{to("*", "*")}})
	for _, a := range queries {
		if a.kind != "answer" || a.format == wire.Gemini || a.format == wire.Converse { // a name in a path cannot contain a slash
			continue
		}
		h := at(url, "up/x", "", nil)(t, a)
		if h.status != http.StatusBadGateway || h.header.Get("X-Should-Retry") != "false" || strings.Contains(h.body, "s3cret") {
			t.Error(a.path, h.status, h.header, h.body)
		}
	}
	if _, err := open("up/x", gateway.Way{}); llm.KindOf(err) != llm.Invalid {
		t.Error(err)
	}
}
