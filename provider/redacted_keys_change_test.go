package provider

import "testing"

// The set of secrets is kept from request to request, and made anew when a key is.
func TestForeignKeysMayChange(t *testing.T) {
	c := new(Client)
	t.Setenv("GROQ_API_KEY", "gsk-first-key-0123456789")
	first := c.foreignSet("")
	if again := c.foreignSet(""); again != first {
		t.Error("the set was made twice")
	}
	t.Setenv("GROQ_API_KEY", "gsk-second-key-0123456789")
	if second := c.foreignSet(""); second.In([]byte("gsk-first-key-0123456789")) || !second.In([]byte("gsk-second-key-0123456789")) {
		t.Error("a new key is not recognised")
	}
	if own := c.foreignSet("gsk-second-key-0123456789"); own.In([]byte("gsk-second-key-0123456789")) {
		t.Error("the vendor's own key is taken for another's")
	}
}
