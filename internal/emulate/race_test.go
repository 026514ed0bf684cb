//go:build race

package emulate

func init() { everyCut = 11 }
