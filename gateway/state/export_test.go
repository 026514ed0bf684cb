package state

import "testing"

// SmallRoom gives databases no more room than memory has, until the test ends.
func SmallRoom(t *testing.T) {
	was := room
	room = 1
	t.Cleanup(func() { room = was })
}

// FewHeld bounds the requests that may be open, until the test ends.
func FewHeld(t *testing.T, n int) {
	was := limits[Request]
	few := was
	few.held = n
	limits[Request] = few
	t.Cleanup(func() { limits[Request] = was })
}
