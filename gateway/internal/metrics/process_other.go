//go:build !linux

package metrics

// readResources reports false: resource usage is only read on Linux.
func readResources() (resources, bool) { return resources{}, false }
