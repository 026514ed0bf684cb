package caller

import "testing"

// The session that was silent for longest gives way: one of the user, or of the user with the most. Others stay, and so
// does a session whose call is under way.
func TestAdmit(t *testing.T) {
	for name, c := range map[string]struct {
		all   []Seat
		evict string
		ok    bool
	}{
		"room":                       {[]Seat{{"a1", "a", 1}}, "", true},
		"the user has too many":      {[]Seat{{"a1", "a", 1}, {"a2", "a", 5}, {"b1", "b", 9}}, "a2", true},
		"all of the user are active": {[]Seat{{"a1", "a", 0}, {"a2", "a", 0}, {"b1", "b", 9}}, "", false},
		"too many in all":            {[]Seat{{"b1", "b", 9}, {"b2", "b", 3}, {"c1", "c", 50}, {"d1", "d", 60}}, "b1", true},
		"too many in all, as many":   {[]Seat{{"a1", "a", 2}, {"b1", "b", 9}, {"c1", "c", 50}, {"d1", "d", 60}}, "a1", true},
		"the most are active":        {[]Seat{{"b1", "b", 0}, {"b2", "b", 0}, {"c1", "c", 50}, {"d1", "d", 60}}, "", false},
	} {
		if evict, ok := Admit(c.all, "a", 4, 2); evict != c.evict || ok != c.ok {
			t.Errorf("%s: %q, %v", name, evict, ok)
		}
	}
}
