package openmodel

import (
	"strings"

	"github.com/toolpost/toolpost/catalog"
)

// Entry is the entry for a model in models.yaml.
type Entry struct {
	ID, From string // From is the file and the line
}

// Entries returns the entries for models in the user's models.yaml.
func Entries(c *catalog.Catalog) []Entry {
	var out []Entry
	for _, m := range c.Models() {
		if from := entryOf(m); from != "" {
			out = append(out, Entry{m.ID.Raw, from})
		}
	}
	return out
}

// entryOf returns the place of the user's entry that has exactly the id of a model, "" if there is none.
func entryOf(m catalog.Model) string {
	for _, why := range m.Explain() {
		if why.Rule == m.ID.Raw && !strings.HasPrefix(why.From, "rules.yaml:") { // the embedded file
			return why.From
		}
	}
	return ""
}
