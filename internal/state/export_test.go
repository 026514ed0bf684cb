package state

import "testing"

// SmallRoom gives databases no more room than memory has, until the test ends.
func SmallRoom(t *testing.T) {
	was := room
	room = 1
	t.Cleanup(func() { room = was })
}

// FewHeld bounds the entries of a kind that may be held, until the test ends.
func FewHeld(t *testing.T, kind Kind, n int) {
	was := limits[kind]
	few := was
	few.held = n
	limits[kind] = few
	t.Cleanup(func() { limits[kind] = was })
}
