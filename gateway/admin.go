package gateway

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/admin"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
)

// MinAdminKey is the least number of bytes of the administrators' key.
const MinAdminKey = admin.MinKey

// Administration is the API of a gateway's administrators: keys, teams, usage, the log of requests, and calls that wait
// for approval.
type Administration struct {
	// Book stores the keys and their usage.
	Book *access.Book
	// Live is the gateway whose waiting calls they decide; nil means none.
	Live *Live
	// Key is the administrators' key, or several with names, like "ada:KEY,bob:KEY", which the audit log uses. Hosts are host names of this machine that they may use besides localhost.
	Key   string
	Hosts []string
	// BodyTime limits how long an administrator may take to send a request, and WriteTime how long a piece of an answer
	// may stay unread. 0 means 10 seconds and 2 minutes. They do not limit the work in between.
	BodyTime, WriteTime time.Duration
}

// Admin serves the administrators of a gateway: keys, teams, usage and the log. It requires its own key as
// Authorization: Bearer. It refuses browsers: requests with an origin or a header that only browsers send, and requests
// to another host than this machine or hosts.
func Admin(book *access.Book, key string, hosts ...string) (http.Handler, error) {
	return Administration{Book: book, Key: key, Hosts: hosts}.Handler()
}

// AdminKeys returns the keys in the setting of administrators' keys.
func AdminKeys(setting string) (keys []string) {
	for _, one := range admin.NamedKeys(setting) {
		keys = append(keys, one.Key)
	}
	return keys
}

// Handler returns the handler of [Admin], with the calls that wait for approval if Live is set.
func (c Administration) Handler() (http.Handler, error) {
	h := admin.Handler{Book: c.Book, Hosts: c.Hosts, BodyTime: c.BodyTime, WriteTime: cmp.Or(c.WriteTime, writeTime)}
	if c.Live != nil {
		h.Approvals = waitingDesk{c.Live}
		h.Forget = func(ctx context.Context, team string) error { return c.Live.now.Load().stateStore.Erase(ctx, team) }
	}
	return h.WithKey(c.Key)
}

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
