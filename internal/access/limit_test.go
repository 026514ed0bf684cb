package access_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/access"
)

// TestLogIsReadUpToItsBound checks that a limit above the maximum or below 0 is an error that names the maximum.
func TestLogIsReadUpToItsBound(t *testing.T) {
	b := &access.Book{Store: new(access.Memory)}
	for most, fits := range map[int]bool{-1: false, 0: true, 1: true, access.MaxLog: true, access.MaxLog + 1: false} {
		if _, err := b.Log(t.Context(), most); (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "0 to 10000") {
			t.Errorf("%d: %v", most, err)
		}
	}
}
