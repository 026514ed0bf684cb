//go:build race

package testkit

// Race tells whether the race detector is on.
const Race = true
