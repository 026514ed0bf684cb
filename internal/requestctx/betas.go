package requestctx

import (
	"net/http"
	"slices"
	"strings"
)

// clientHeaders are those of a client's that go with its request where that is relayed: what they
// say is part of the request.
var clientHeaders = []string{"Anthropic-Beta", "Openai-Beta"}

// Betas returns the headers of a client's that are part of its request.
func Betas(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range clientHeaders {
		values := slices.DeleteFunc(slices.Clone(h[name]), func(v string) bool { return strings.TrimSpace(v) == "" })
		if len(values) > 0 {
			out[name] = values
		}
	}
	return out
}
