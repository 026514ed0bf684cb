//go:build !unix

package ask

// CanSuspend reports whether a shell can continue the process after Ctrl-Z.
func CanSuspend() bool { return false }
