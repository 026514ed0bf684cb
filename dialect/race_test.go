//go:build race

package dialect_test

func init() { underRace = true }
