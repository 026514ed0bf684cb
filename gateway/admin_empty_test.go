package gateway_test

import (
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
)

// TestEmptyNumbersOfAdministratorsAreRefused: a script whose variable is empty does not get a default in its place.
func TestEmptyNumbersOfAdministratorsAreRefused(t *testing.T) {
	f := build(t)
	for _, query := range []string{"limit=", "limit", "team=&limit="} {
		refused(t, f, "GET", "/admin/requests?"+query, fmt.Sprintf("is no number from 0 to %d", access.MaxLog))
	}
	for _, query := range []string{"since=", "since", "by=team&since="} {
		refused(t, f, "GET", "/admin/usage?"+query, "nor a day like")
	}
}
