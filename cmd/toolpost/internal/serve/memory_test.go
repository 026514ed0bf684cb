package serve

import "testing"

// A small gateway may have more garbage than live data, a large one only a fraction.
func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64]int{0: mostPercent, 8 << 20: mostPercent, 24 << 20: 200, 48 << 20: 100, 96 << 20: 50, 1 << 30: leastPercent} {
		if got := garbagePercent(live); got != want {
			t.Errorf("with %d MB in use: %d %%, want %d", live>>20, got, want)
		}
	}
}
