package gateway_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
)

// TestUpstreamsThatAreOff: an upstream that is off is never asked, not even when the others fail.
func TestUpstreamsThatAreOff(t *testing.T) {
	var asked []string
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				asked = append(asked, id)
				yield(nil, &llm.Error{Kind: llm.Overloaded, Err: errors.New("busy")})
			}
		}), nil
	}
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "out", Off: true}, {Model: "a"}, {Model: "b"}}}}})
	for range 3 {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if slices.Contains(asked, "out") || !slices.Contains(asked, "a") || !slices.Contains(asked, "b") {
		t.Errorf("asked: %v", asked)
	}
	_, err := gateway.New(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "out", Off: true}}}}})
	var wrong *gateway.RouteError
	if !errors.As(err, &wrong) || wrong.Setting != "to" {
		t.Errorf("a route that asks nobody: %v", err)
	}
}
