package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
)

// TestMoreOfTheLogThanIsReadIsRefused: a list that was cut would be taken for the whole.
func TestMoreOfTheLogThanIsReadIsRefused(t *testing.T) {
	f := build(t)
	for _, limit := range []string{"-1", "10001", "99999999999999999999", "1e3", "all"} {
		refused(t, f, "GET", "/admin/requests?limit="+limit, fmt.Sprintf("is no number from 0 to %d", access.MaxLog))
	}
	for _, limit := range []string{"0", "1", "10000"} {
		if status, body := f.try(t, attack{admin: true, method: "GET", path: "/admin/requests?limit=" + limit, header: bearing(adminKey)}); status != 200 || !strings.Contains(body, `"requests"`) {
			t.Errorf("limit=%s: %d %s", limit, status, body)
		}
	}
}
