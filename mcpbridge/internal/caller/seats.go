package caller

import "time"

// Seat is a session, for the decision which may stay.
type Seat struct {
	ID, User string
	Idle     time.Duration // how long it was silent; 0 while a call is under way
}

// Admit decides whether a user may have another session. If there are as many as there may be, of the user or in all, the
// session that was silent for longest gives way: one of the user, or of the user with the most. A session whose call is
// under way never does. Evict is "" if none has to go.
func Admit(all []Seat, user string, most, perUser int) (evict string, ok bool) {
	of := make(map[string]int)
	for _, s := range all {
		of[s.User]++
	}
	from := user
	switch {
	case of[user] >= perUser:
	case len(all) < most:
		return "", true
	default:
		for other, n := range of {
			if n > of[from] || n == of[from] && from != user && other < from {
				from = other
			}
		}
	}
	longest := time.Duration(0)
	for _, s := range all {
		if s.User == from && s.Idle > longest {
			evict, longest = s.ID, s.Idle
		}
	}
	return evict, longest > 0
}
