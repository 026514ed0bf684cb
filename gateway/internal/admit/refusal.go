package admit

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// wording is the kind, status and code of a refusal.
type wording struct {
	kind   llm.Kind
	status int
	code   string // "" means the format's code for the kind
}

// defaultWording has the refusals of most formats.
var defaultWording = map[access.Ground]wording{
	access.NoKey:    {llm.Auth, http.StatusUnauthorized, ""},
	access.WrongKey: {llm.Auth, http.StatusUnauthorized, ""},
	access.Expired:  {llm.Auth, http.StatusUnauthorized, ""},
	access.Revoked:  {llm.Auth, http.StatusUnauthorized, ""},
	access.NoModel:  {llm.Auth, http.StatusForbidden, ""},
	access.NoRoute:  {llm.Auth, http.StatusForbidden, ""},
	access.NoTool:   {llm.Auth, http.StatusForbidden, ""},
	access.NoPrice:  {llm.Auth, http.StatusForbidden, ""},
	access.NoMember: {llm.Auth, http.StatusForbidden, ""},
	access.TooFast:  {llm.RateLimited, http.StatusTooManyRequests, ""},
	access.Spent:    {llm.RateLimited, http.StatusTooManyRequests, ""},
	access.Reserved: {llm.RateLimited, http.StatusTooManyRequests, ""},
}

// vendorErrors describes how a vendor reports errors about keys and limits to the clients of its format.
type vendorErrors struct {
	format string
	// requestID is the header in which clients expect the request id.
	requestID string
	// keyInAddress reports whether clients may send their key in the URL.
	keyInAddress bool
	// limit, left and reset are the headers for the limit per minute, with * for the unit. The function when formats
	// the reset time. They are empty for vendors without such headers.
	limit, left, reset string
	when               func(reset, now time.Time) string
	// grounds are the refusals that differ from defaultWording.
	grounds map[access.Ground]wording
}

// vendors are the formats with such rules.
var vendors = []vendorErrors{
	{
		format: wire.Chat, requestID: "X-Request-Id",
		limit: "X-Ratelimit-Limit-*", left: "X-Ratelimit-Remaining-*", reset: "X-Ratelimit-Reset-*", when: untilReset, grounds: openaiGrounds,
	}, {
		format: wire.Responses, requestID: "X-Request-Id",
		limit: "X-Ratelimit-Limit-*", left: "X-Ratelimit-Remaining-*", reset: "X-Ratelimit-Reset-*", when: untilReset, grounds: openaiGrounds,
	}, {
		format: wire.Messages, requestID: "Request-Id",
		limit: "Anthropic-Ratelimit-*-Limit", left: "Anthropic-Ratelimit-*-Remaining", reset: "Anthropic-Ratelimit-*-Reset", when: atReset,
		grounds: denied("permission_error"),
	}, {
		format: wire.Gemini, keyInAddress: true, grounds: googleGrounds(),
	}, {
		format: wire.Converse, requestID: "X-Amzn-Requestid",
		grounds: map[access.Ground]wording{ // Amazon also uses 403 for unknown clients
			access.NoKey:    {llm.Auth, http.StatusForbidden, "MissingAuthenticationTokenException"},
			access.WrongKey: {llm.Auth, http.StatusForbidden, "UnrecognizedClientException"},
			access.Revoked:  {llm.Auth, http.StatusForbidden, "UnrecognizedClientException"},
			access.Expired:  {llm.Auth, http.StatusForbidden, "ExpiredTokenException"},
			access.Spent:    {llm.RateLimited, http.StatusTooManyRequests, "ServiceQuotaExceededException"},
		},
	},
}

// errorsOf returns the rules of a format. They are empty for formats without rules.
func errorsOf(format string) *vendorErrors {
	for i := range vendors {
		if vendors[i].format == format {
			return &vendors[i]
		}
	}
	return new(vendorErrors)
}

// denied returns the refusals of actions that a key may not take, with the vendor's code.
func denied(code string) map[access.Ground]wording {
	out := map[access.Ground]wording{}
	for _, g := range []access.Ground{access.NoModel, access.NoRoute, access.NoTool, access.NoPrice, access.NoMember} {
		out[g] = wording{llm.Auth, http.StatusForbidden, code}
	}
	return out
}

// googleGrounds returns Google's refusals: a missing key is a permission error, and a wrong key an invalid argument.
func googleGrounds() map[access.Ground]wording {
	out := denied("PERMISSION_DENIED")
	out[access.NoKey] = wording{llm.Auth, http.StatusForbidden, "PERMISSION_DENIED"}
	for _, g := range []access.Ground{access.WrongKey, access.Expired, access.Revoked} {
		out[g] = wording{llm.Auth, http.StatusBadRequest, ""}
	}
	return out
}

var openaiGrounds = map[access.Ground]wording{
	access.NoModel:  {llm.NotFound, http.StatusForbidden, ""}, // model_not_found
	access.NoRoute:  {llm.NotFound, http.StatusForbidden, ""},
	access.NoTool:   {llm.Invalid, http.StatusForbidden, ""},
	access.NoPrice:  {llm.Invalid, http.StatusForbidden, ""},
	access.NoMember: {llm.Invalid, http.StatusForbidden, ""},
	access.Spent:    {llm.Auth, http.StatusTooManyRequests, "insufficient_quota"},
}

// maxRetryWait is the longest wait after which a client should retry automatically.
const maxRetryWait = time.Minute

// Refuse returns the error of a refusal in the form of the client's vendor, and nil for nil. Failures of the store are
// logged, and the client gets a general error.
func (c *Client) Refuse(err error) error {
	if err == nil {
		return nil
	}
	var r *access.Refusal
	if !errors.As(err, &r) {
		c.Log.Error("keys and limits cannot be checked", "id", c.ID, "error", err.Error())
		return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: upstream.RetryAfter, Err: errors.New("keys and limits cannot be checked at the moment")}
	}
	c.Metrics.Refused.Add(1, string(r.Ground))
	c.wasRefused = true
	as, own := errorsOf(c.Codec.ErrorsOf()).grounds[r.Ground]
	if !own {
		as = defaultWording[r.Ground]
	}
	h := c.Header
	if as.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if as.status == http.StatusTooManyRequests {
		c.setRateHeaders(r.Rooms)
		if r.RetryAfter == 0 || r.RetryAfter > maxRetryWait {
			h.Set("X-Should-Retry", "false") // honored by the clients of OpenAI and Anthropic
		}
	}
	return &llm.Error{Op: "gateway", Kind: as.kind, Status: as.status, Code: as.code, RetryAfter: r.RetryAfter, Err: r}
}

func untilReset(reset, now time.Time) string {
	return max(0, reset.Sub(now)).Round(time.Millisecond).String()
}

func atReset(reset, _ time.Time) string { return reset.Format(time.RFC3339) }

// setRateHeaders sets the headers for the limits per minute, for the limit with the least left.
func (c *Client) setRateHeaders(rooms []access.Room) {
	names := errorsOf(c.Codec.ErrorsOf())
	if names.limit == "" {
		return
	}
	least := map[access.Unit]access.Room{}
	for _, r := range rooms {
		if old, seen := least[r.Unit]; r.Per == access.Minute && (!seen || r.Left < old.Left) {
			least[r.Unit] = r
		}
	}
	delete(least, access.Money) // no vendor has a header for money
	now := time.Now()
	if clock := c.Book.Now; clock != nil {
		now = clock()
	}
	for unit, r := range least {
		for name, value := range map[string]string{names.limit: strconv.FormatInt(r.Most, 10), names.left: strconv.FormatInt(r.Left, 10), names.reset: names.when(r.Reset, now)} {
			c.Header.Set(strings.Replace(name, "*", strings.ToUpper(string(unit[:1]))+string(unit[1:]), 1), value)
		}
	}
}
