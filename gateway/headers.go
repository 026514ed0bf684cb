package gateway

import (
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
)

// The headers of answers.
const (
	// RequestHeader is the id of the request, which is also in the log.
	RequestHeader = exchange.RequestHeader
	// UpstreamHeader is the id of the model that answered, without the address of its host.
	UpstreamHeader = exchange.UpstreamHeader
	// WarningHeader reports deviations from the request, as far as known when the answer begins. Each value is one
	// warning: "code; feature; detail".
	WarningHeader = exchange.WarningHeader
	// IdempotencyHeader names a request. A later request with the same name gets the same answer, and status 409 until the
	// first one has ended.
	IdempotencyHeader = conversation.IdempotencyHeader
	// ReplayHeader is the id of the request whose answer was repeated.
	ReplayHeader = conversation.ReplayHeader
)
