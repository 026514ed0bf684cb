package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// saying is how a refusal is said.
type saying struct {
	kind   llm.Kind
	status int
	code   string // "" means the format's own for the kind
}

// grounds are how refusals are said in most formats.
var grounds = map[access.Ground]saying{
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

// manners are how the clients of a format, and its vendor, speak of keys and limits.
type manners struct {
	format string
	// requestID is the header in which clients look for the id of a request.
	requestID string
	// keyInAddress says that clients may have their key in the address.
	keyInAddress bool
	// limit, left and reset are the headers that say how much is left in this minute, with * for the unit, and when says
	// when it ends. Vendors that have none leave them out.
	limit, left, reset string
	when               func(reset, now time.Time) string
	// grounds are the refusals that the vendor says in its own way.
	grounds map[access.Ground]saying
}

// allManners are those of the formats that have any.
var allManners = []manners{
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
		grounds: map[access.Ground]saying{ // Amazon says 403 to who is nobody, too
			access.NoKey:    {llm.Auth, http.StatusForbidden, "MissingAuthenticationTokenException"},
			access.WrongKey: {llm.Auth, http.StatusForbidden, "UnrecognizedClientException"},
			access.Revoked:  {llm.Auth, http.StatusForbidden, "UnrecognizedClientException"},
			access.Expired:  {llm.Auth, http.StatusForbidden, "ExpiredTokenException"},
			access.Spent:    {llm.RateLimited, http.StatusTooManyRequests, "ServiceQuotaExceededException"},
		},
	},
}

// mannersOf returns those of a format whose vendor serves it.
func mannersOf(format string) *manners {
	for i := range allManners {
		if allManners[i].format == format {
			return &allManners[i]
		}
	}
	return new(manners)
}

// denied are the refusals of what a key may not do, with the vendor's code for them.
func denied(code string) map[access.Ground]saying {
	out := map[access.Ground]saying{}
	for _, g := range []access.Ground{access.NoModel, access.NoRoute, access.NoTool, access.NoPrice, access.NoMember} {
		out[g] = saying{llm.Auth, http.StatusForbidden, code}
	}
	return out
}

// googleGrounds are Google's: a request without a key is one that is not permitted, and a wrong key is a wrong argument.
func googleGrounds() map[access.Ground]saying {
	out := denied("PERMISSION_DENIED")
	out[access.NoKey] = saying{llm.Auth, http.StatusForbidden, "PERMISSION_DENIED"}
	for _, g := range []access.Ground{access.WrongKey, access.Expired, access.Revoked} {
		out[g] = saying{llm.Auth, http.StatusBadRequest, ""}
	}
	return out
}

var openaiGrounds = map[access.Ground]saying{
	access.NoModel:  {llm.NotFound, http.StatusForbidden, ""}, // model_not_found
	access.NoRoute:  {llm.NotFound, http.StatusForbidden, ""},
	access.NoTool:   {llm.Invalid, http.StatusForbidden, ""},
	access.NoPrice:  {llm.Invalid, http.StatusForbidden, ""},
	access.NoMember: {llm.Invalid, http.StatusForbidden, ""},
	access.Spent:    {llm.Auth, http.StatusTooManyRequests, "insufficient_quota"},
}

// soon is the longest wait after which a client should try again by itself.
const soon = time.Minute

// refused returns an error about keys and limits in the client's words, and nil for none. What is
// wrong with the store is told to the log only.
func (x *exchange) refused(err error) error {
	if err == nil {
		return nil
	}
	var r *access.Refusal
	if !errors.As(err, &r) {
		x.settings.Log.Error("keys and limits cannot be checked", "id", x.id, "error", err.Error())
		return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: retryAfter, Err: errors.New("keys and limits cannot be checked at the moment")}
	}
	x.meters.Refused.Add(1, string(r.Ground))
	x.spent.refused = true
	as, own := mannersOf(x.Codec.ErrorsOf()).grounds[r.Ground]
	if !own {
		as = grounds[r.Ground]
	}
	h := x.w.Header()
	if as.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if as.status == http.StatusTooManyRequests {
		x.rateHeaders(r.Rooms)
		if r.RetryAfter == 0 || r.RetryAfter > soon {
			h.Set("X-Should-Retry", "false") // which the clients of OpenAI and Anthropic heed
		}
	}
	return &llm.Error{Op: "gateway", Kind: as.kind, Status: as.status, Code: as.code, RetryAfter: r.RetryAfter, Err: errors.New(r.Detail)}
}

func untilReset(reset, now time.Time) string {
	return max(0, reset.Sub(now)).Round(time.Millisecond).String()
}

func atReset(reset, _ time.Time) string { return reset.Format(time.RFC3339) }

// rateHeaders says how much is left in this minute, of what is least.
func (x *exchange) rateHeaders(rooms []access.Room) {
	names := mannersOf(x.Codec.ErrorsOf())
	if names.limit == "" {
		return
	}
	least := map[access.Unit]access.Room{}
	for _, r := range rooms {
		if old, seen := least[r.Unit]; r.Per == access.Minute && (!seen || r.Left < old.Left) {
			least[r.Unit] = r
		}
	}
	delete(least, access.Money) // no vendor bounds it by the minute
	now := time.Now()
	if clock := x.settings.Access.Now; clock != nil {
		now = clock()
	}
	for unit, r := range least {
		for name, value := range map[string]string{names.limit: strconv.FormatInt(r.Most, 10), names.left: strconv.FormatInt(r.Left, 10), names.reset: names.when(r.Reset, now)} {
			x.w.Header().Set(strings.Replace(name, "*", strings.ToUpper(string(unit[:1]))+string(unit[1:]), 1), value)
		}
	}
}
