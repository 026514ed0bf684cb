package gateway

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/admin"
	"github.com/toolpost/toolpost/internal/access"
)

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

// Handler serves the administrators. It requires one of the keys as Authorization: Bearer. It refuses browsers: requests
// with an origin or a header that only browsers send, and requests to another host than this machine or Hosts. The calls
// that wait for approval are served if Live is set.
func (c Administration) Handler() (http.Handler, error) {
	h := admin.Handler{Book: c.Book, Hosts: c.Hosts, BodyTime: c.BodyTime, WriteTime: cmp.Or(c.WriteTime, writeTime)}
	if c.Live != nil {
		h.Approvals = waitingDesk{c.Live}
		h.Forget = func(ctx context.Context, team string) error { return c.Live.now.Load().stateStore.Erase(ctx, team) }
	}
	return h.WithKey(c.Key)
}
