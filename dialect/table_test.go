package dialect

import "testing"

// Names are public: configurations, receipts and hints hold them.
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range Builtin().All() {
		if seen[d.Name] {
			t.Errorf("%s stands twice in the table", d.Name)
		}
		seen[d.Name] = true
		if d.Title == "" || d.Models == "" {
			t.Errorf("%s has no title or no models", d.Name)
		}
		if got, ok := Builtin().Lookup(d.Name); !ok || got.Name != d.Name {
			t.Errorf("Lookup(%q) = %q, %v", d.Name, got.Name, ok)
		}
	}
}
