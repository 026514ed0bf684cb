package gateway

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// maxHops is how many gateways may stand behind one another.
const maxHops = 5

// hop counts the gateways that a request has come through, and refuses one that goes in a circle.
func (x *chain) hop() error {
	hops, err := strconv.Atoi(x.HTTP.Header.Get(provider.HopsHeader))
	if err != nil || hops < 0 {
		hops = 0
	}
	if hops >= maxHops {
		return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: http.StatusLoopDetected,
			Err: errors.New("the route leads back to this gateway, or through too many; look at the addresses of its upstreams")}
	}
	x.HTTP = x.HTTP.WithContext(provider.WithHops(x.HTTP.Context(), hops+1))
	return nil
}
