package observing_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/observe/observing"
)

// TestParseTrace: what is no traceparent is no trace.
func TestParseTrace(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for parent, ok := range map[string]bool{
		"00-" + id + "-" + span + "-01": true, "00-" + id + "-" + span + "-00": true, "01-" + id + "-" + span + "-01-more": true,
		"": false, "00": false, "ff-" + id + "-" + span + "-01": false, "00-" + id + "-" + span + "-01-more": false, "00-" + strings.Repeat("0", 32) + "-" + span + "-01": false,
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01": false, "00-" + strings.ToUpper(id) + "-" + span + "-01": false, "00-" + id + "-" + span + "-1": false,
		"00-" + id + "-xxxxxxxxxxxxxxxx-01": false, "00-" + id + span + "--01": false, strings.Repeat("0", 300): false,
	} {
		got, is := observing.ParseTrace(parent, "a=b\x00")
		if is != ok || ok && strings.HasPrefix(parent, "00") && got.Parent() != parent || got.State != "" {
			t.Errorf("%q: %v %+v", parent, is, got)
		}
	}
}
