package provider

import "testing"

// TestLike: a row that is like another is asked as that one, with a key of its own.
func TestLike(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "first")
	t.Setenv("SECOND_KEY", "second")
	c := &Client{Vendors: map[string]Vendor{"second": {Like: "anthropic", KeyEnv: "SECOND_KEY"}}}
	for id, key := range map[string]string{"anthropic/claude-sonnet-4-5": "first", "second/claude-sonnet-4-5": "second"} {
		m, err := c.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		known := m.(*Model)
		if got, err := c.key(&known.target); err != nil || got != key {
			t.Errorf("%s: the key %q, %v", id, got, err)
		}
		v := known.vendor
		if v.KeyHeader != "X-Api-Key" || known.wire != "messages" || known.Host() != "api.anthropic.com:443" && known.Host() != "api.anthropic.com" || known.owner() != "anthropic" || known.Info().ID.Root() != "claude" {
			t.Errorf("%s: %+v at %s, %s, %s", id, v, known.Host(), known.wire, known.owner())
		}
	}
}
