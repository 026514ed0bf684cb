package gateway

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// upstreamError is an error of an upstream. The log is told all of it, a client only what it can do
// something about: where upstreams are, and how the gateway proves who it is, is not its business.
type upstreamError struct {
	all   error    // with those of the upstreams that were asked before
	last  error    // which decides what the client is told
	hosts []string // of the upstreams
}

func (e *upstreamError) Error() string { return e.all.Error() }
func (e *upstreamError) Unwrap() error { return e.all }

// outside marks an error as that of upstreams.
func outside(all, last error, ways ...way) error {
	if all == nil {
		return nil
	}
	e := &upstreamError{all: all, last: last}
	for _, w := range ways {
		if m, ok := w.model.(*provider.Model); ok {
			e.hosts = append(e.hosts, m.Host())
		}
	}
	return e
}

// operatorFaults are errors that only who runs the gateway can mend. Clients must not take them for
// errors of theirs, or look for them in their own keys.
var operatorFaults = []struct {
	is   func(*llm.Error) bool
	says string
}{
	{func(e *llm.Error) bool { return errors.Is(e.Err, provider.ErrNoKey) },
		"this gateway has no key for the upstream, which was not asked; who runs the gateway has to give it one"},
	{func(e *llm.Error) bool {
		return e.Kind == llm.Auth && e.Status != http.StatusTooManyRequests || e.Status == http.StatusProxyAuthRequired
	},
		"the upstream refused the credentials of this gateway; who runs the gateway has to look at them"},
	{func(e *llm.Error) bool {
		var address *provider.AddressError
		return e.Status/100 == 3 || outbound.Untrusted(e.Err) || errors.As(e.Err, &address)
	},
		"the address of the upstream is wrong, or it does not prove who it is; who runs the gateway has to look at it"},
}

// sameEverywhere are the statuses of upstreams that mean the same kind of error to clients of every format. What has another status is
// sent with that which the client's vendor has for the kind.
var sameEverywhere = map[int]llm.Kind{
	http.StatusRequestEntityTooLarge: llm.TooLong, http.StatusInternalServerError: llm.Server, http.StatusNotImplemented: llm.Unsupported,
	http.StatusBadGateway: llm.Server,
}

// withKind are the statuses that say that a request is wrong and for which every vendor has one, or a kind, of its own.
var withKind = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, 499,
}

// clientStatus is the status of an upstream's error that a client is told; 0 leaves it to the client's format.
func clientStatus(e *llm.Error) int {
	if e.Kind == llm.Invalid && e.Status/100 == 4 && !slices.Contains(withKind, e.Status) {
		return e.Status // nothing says more about it
	}
	if kind, same := sameEverywhere[e.Status]; e.Status == http.StatusTooManyRequests || same && kind == e.Kind {
		return e.Status
	}
	return 0
}

// unreachable are errors in which the places of hosts stand.
func unreachable(e *llm.Error) bool {
	var op *net.OpError
	var name *net.DNSError
	return e.Kind == llm.Network || errors.As(e.Err, &op) || errors.As(e.Err, &name)
}

// forClient returns what a client is told of an error: its own, as it is; of an upstream's, the kind,
// the status and the words, but nothing that only the operator can mend, no place of a host, and nothing
// of a page that came in place of an answer.
func (x *exchange) forClient(err error) error {
	if x.ending() {
		return errEnding
	}
	var up *upstreamError
	if !errors.As(err, &up) {
		return err
	}
	told := &llm.Error{Op: "gateway", Kind: llm.KindOf(up.last), Err: up.last}
	var known *llm.Error
	if errors.As(up.last, &known) {
		copied := *known
		told = &copied
	}
	for _, f := range operatorFaults {
		if f.is(told) {
			x.w.Header().Set("X-Should-Retry", "false") // it would be the same again
			return &llm.Error{Op: "gateway", Kind: llm.Server, Status: http.StatusBadGateway, Err: errors.New(f.says)}
		}
	}
	var came *provider.NoAnswerError
	switch {
	case errors.As(told.Err, &came):
		told.Err = errors.New(came.Outline())
	case told.Status == 0 && unreachable(told):
		told.Err = errors.New("the upstream cannot be reached, or the connection to it was lost")
		if told.Kind == llm.Timeout {
			told.Err = errors.New("the upstream did not answer in time")
		}
	case told.Err != nil:
		if text := told.Err.Error(); withoutHosts(text, up.hosts) != text {
			told.Err = errors.New(withoutHosts(text, up.hosts))
		}
	}
	if told.Kind == llm.Unknown && told.Status/100 == 4 {
		told.Kind = llm.Invalid // as an error of the gateway it would be tried again; other upstreams were asked
	}
	told.Status = clientStatus(told)
	return told
}

// withoutHosts takes the places of hosts out of a text. A name without a dot may be any word, so it
// counts only with its port.
func withoutHosts(text string, hosts []string) string {
	for _, host := range hosts {
		text = strings.ReplaceAll(text, host, "the upstream")
		if name, _, err := net.SplitHostPort(host); err == nil && strings.ContainsAny(name, ".:") {
			text = strings.ReplaceAll(text, name, "the upstream")
		}
	}
	return text
}

// shownID is the id of a model without the address of its host.
func shownID(id string) string {
	before, rest, ok := strings.Cut(id, "://")
	if !ok {
		return id
	}
	vendor, _, _ := strings.Cut(before, "+")
	_, model, _ := strings.Cut(rest, "#")
	if vendor == before { // the address stands alone
		return model
	}
	return vendor + "#" + model
}
