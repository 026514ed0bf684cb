//go:build race

package schema_test

// raced reports whether the race detector is on: it makes pools forget, so that
// counts of allocations vary.
const raced = true
