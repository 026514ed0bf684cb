package gateway_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/wire"
)

// rateHeaders are a vendor's headers for the rest of a limit per minute, with UNIT for the unit. Vendors without such
// headers send only the retry time.
type rateHeaders struct {
	limit, left, reset string
	when               string // the reset value, twenty seconds before the reset
}

const rateMinute = "2026-03-04T05:06:"

var ratesOf = map[string]rateHeaders{
	wire.Chat:      {"X-Ratelimit-Limit-UNIT", "X-Ratelimit-Remaining-UNIT", "X-Ratelimit-Reset-UNIT", "20s"},
	wire.Responses: {"X-Ratelimit-Limit-UNIT", "X-Ratelimit-Remaining-UNIT", "X-Ratelimit-Reset-UNIT", "20s"},
	wire.Messages:  {"Anthropic-Ratelimit-UNIT-Limit", "Anthropic-Ratelimit-UNIT-Remaining", "Anthropic-Ratelimit-UNIT-Reset", "2026-03-04T05:07:00Z"},
}

func (n rateHeaders) of(h http.Header, unit string) (limit, left, reset string) {
	get := func(name string) string { return h.Get(strings.Replace(name, "UNIT", unit, 1)) }
	return get(n.limit), get(n.left), get(n.reset)
}

// TestRateLimitHeaders checks that the rest of a key's limits is in the headers of each vendor, with the right numbers,
// on answers with and without streams, token counts and refusals, and nowhere else.
func TestRateLimitHeaders(t *testing.T) {
	g := guard(t, nil)
	now, err := time.Parse(time.RFC3339, rateMinute+"40Z")
	if err != nil {
		t.Fatal(err)
	}
	g.book.Now = func() time.Time { return now }
	const most, tokens = 2, 50000
	for i, a := range queries {
		if a.kind != "answer" && a.kind != "count" {
			continue
		}
		key := g.key(t, access.Key{Team: fmt.Sprint("team", i), Limits: quotas(t, "requests/minute=2", "tokens/minute=50000", "requests/day=900")})
		before := tokens
		for n := 1; n <= most+1; n++ {
			h := at(g.url, "chat", key, nil)(t, a)
			where := fmt.Sprintf("%s %s %s, request %d", a.format, a.path, a.body, n)
			wait, status := "", http.StatusOK
			if n > most {
				wait, status = "20", http.StatusTooManyRequests
			}
			if h.status != status || h.header.Get("Retry-After") != wait {
				t.Errorf("%s: %d, Retry-After %q: %s", where, h.status, h.header.Get("Retry-After"), h.body)
			}
			names, has := ratesOf[a.format]
			for name := range h.header {
				if !has && strings.Contains(strings.ToLower(name), "ratelimit") {
					t.Errorf("%s: %s, which the vendor does not have", where, name)
				}
			}
			if !has {
				continue
			}
			if limit, left, reset := names.of(h.header, "Requests"); limit != strconv.Itoa(most) || left != strconv.Itoa(max(0, most-n)) || reset != names.when {
				t.Errorf("%s: %s of %s requests are left, until %s", where, left, limit, reset)
			}
			if a.kind != "answer" {
				continue // counting uses no tokens
			}
			limit, left, reset := names.of(h.header, "Tokens")
			rest, _ := strconv.Atoi(left)
			if limit != strconv.Itoa(tokens) || reset != names.when || rest <= 0 || n <= most && rest >= before || rest >= tokens {
				t.Errorf("%s: %s of %s tokens are left after %d, until %s", where, left, limit, before, reset)
			}
			before = rest
		}
	}
}
