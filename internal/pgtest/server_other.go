//go:build !unix

package pgtest

import "testing"

// Server skips the test: a server is started on Unix only.
func Server(t *testing.T) string {
	t.Skip("a server is started on Unix only")
	return ""
}

// Schema is never called.
func Schema(*testing.T, string) string { return "" }
