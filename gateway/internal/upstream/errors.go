package upstream

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

// upstreamError is an error of an upstream. The log gets all of it. The client gets only the part that it can act on:
// hosts and credentials of upstreams stay secret.
type upstreamError struct {
	all   error    // with the errors of earlier upstreams
	last  error    // determines the error for the client
	hosts []string // of the upstreams
}

func (e *upstreamError) Error() string { return e.all.Error() }
func (e *upstreamError) Unwrap() error { return e.all }

// Wrap marks an error as one of upstreams, whose details clients must not see. The error last determines the error for
// the client. A nil error stays nil.
func Wrap(all, last error, candidates ...Candidate) error {
	if all == nil {
		return nil
	}
	e := &upstreamError{all: all, last: last}
	for _, w := range candidates {
		if m := VendorModel(w.Opened); m != nil {
			e.hosts = append(e.hosts, m.Host())
		}
	}
	return e
}

// VendorModel returns the model of package provider that m is or wraps, and nil if there is none.
func VendorModel(m llm.Model) *provider.Model {
	for range 100 {
		switch known := m.(type) {
		case *provider.Model:
			return known
		case interface{ Unwrap() llm.Model }:
			m = known.Unwrap()
		default:
			return nil
		}
	}
	return nil
}

// IsOfUpstream reports whether an error is one of upstreams.
func IsOfUpstream(err error) bool {
	var up *upstreamError
	return errors.As(err, &up)
}

// operatorFaults are errors that only the operator of the gateway can fix. Clients must not mistake them for errors in
// their own requests or keys.
var operatorFaults = []struct {
	is   func(*llm.Error) bool
	says string
}{
	{func(e *llm.Error) bool { return errors.Is(e.Err, provider.ErrNoKey) },
		"this gateway has no key for the upstream, which was not asked; the operator of the gateway has to give it one"},
	{func(e *llm.Error) bool {
		return e.Kind == llm.Auth && e.Status != http.StatusTooManyRequests || e.Status == http.StatusProxyAuthRequired
	},
		"the upstream refused the credentials of this gateway; the operator of the gateway has to look at them"},
	{func(e *llm.Error) bool {
		var address *provider.AddressError
		return e.Status/100 == 3 || outbound.Untrusted(e.Err) || errors.As(e.Err, &address)
	},
		"the address of the upstream is wrong, or it does not prove who it is; the operator of the gateway has to look at it"},
}

// sameEverywhere are statuses that mean the same kind of error in every format. Any other status is replaced by the status
// that the client's vendor uses for the kind.
var sameEverywhere = map[int]llm.Kind{
	http.StatusRequestEntityTooLarge: llm.TooLong, http.StatusInternalServerError: llm.Server, http.StatusNotImplemented: llm.Unsupported,
	http.StatusBadGateway: llm.Server,
}

// withKind are statuses of wrong requests for which each vendor has its own status or kind.
var withKind = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, 499,
}

// clientStatus returns the status for the client, or 0 for the default of the client's format.
func clientStatus(e *llm.Error) int {
	if e.Kind == llm.Invalid && e.Status/100 == 4 && !slices.Contains(withKind, e.Status) {
		return e.Status // the status is the only information
	}
	if kind, same := sameEverywhere[e.Status]; e.Status == http.StatusTooManyRequests || same && kind == e.Kind {
		return e.Status
	}
	return 0
}

// unreachable reports whether the text of an error may contain addresses of hosts.
func unreachable(e *llm.Error) bool {
	var op *net.OpError
	var name *net.DNSError
	return e.Kind == llm.Network || errors.As(e.Err, &op) || errors.As(e.Err, &name)
}

// ForClient returns the error for the client, and whether the same request would fail again. Errors of the gateway
// itself are unchanged. For an error of an upstream, the client gets the kind, the status and the text, without hosts,
// operator faults, or pages that came instead of an answer.
func ForClient(err error) (shown error, final bool) {
	var up *upstreamError
	if !errors.As(err, &up) {
		return err, false
	}
	return up.forClient()
}

func (up *upstreamError) forClient() (error, bool) {
	shown := &llm.Error{Op: "gateway", Kind: llm.KindOf(up.last), Err: up.last}
	var known *llm.Error
	if errors.As(up.last, &known) {
		copied := *known
		shown = &copied
	}
	for _, f := range operatorFaults {
		if f.is(shown) {
			return &llm.Error{Op: "gateway", Kind: llm.Server, Status: http.StatusBadGateway, Err: errors.New(f.says)}, true
		}
	}
	var came *provider.NoAnswerError
	switch {
	case errors.As(shown.Err, &came):
		shown.Err = errors.New(came.Outline())
	case shown.Status == 0 && unreachable(shown):
		shown.Err = errors.New("the upstream cannot be reached, or the connection to it was lost")
		if shown.Kind == llm.Timeout {
			shown.Err = errors.New("the upstream did not answer in time")
		}
	case shown.Err != nil:
		if text := shown.Err.Error(); withoutHosts(text, up.hosts) != text {
			shown.Err = errors.New(withoutHosts(text, up.hosts))
		}
	}
	if shown.Kind == llm.Unknown && shown.Status/100 == 4 {
		shown.Kind = llm.Invalid // clients would retry an error of the gateway, but other upstreams were asked already
	}
	shown.Status = clientStatus(shown)
	return shown, false
}

// withoutHosts replaces hosts in a text. A name without a dot could be any word, so it is replaced only with its port.
func withoutHosts(text string, hosts []string) string {
	for _, host := range hosts {
		text = strings.ReplaceAll(text, host, "the upstream")
		if name, _, err := net.SplitHostPort(host); err == nil && strings.ContainsAny(name, ".:") {
			text = strings.ReplaceAll(text, name, "the upstream")
		}
	}
	return text
}
