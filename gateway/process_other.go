//go:build !linux

package gateway

// readProcess reports that nothing is known of the program.
func readProcess() (processUse, bool) { return processUse{}, false }
