//go:build race

package wire

func init() { underRace = true }
