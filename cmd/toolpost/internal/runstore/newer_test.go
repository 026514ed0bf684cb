package runstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/tables"
	"github.com/toolpost/toolpost/journal"
)

// The error about tables of a newer version names the database without its password.
func TestNewerTablesNameTheDatabase(t *testing.T) {
	newer := fmt.Errorf("gateway: state: %w", &tables.NewerError{Version: 9, Known: 2})
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"sqlite:keys.db", newer, "sqlite:keys.db: the tables in the database are of version 9, and"},
		{"sqlite:runs.db", &journal.SchemaError{Version: 9, Known: 2}, "sqlite:runs.db: the tables"},
		{"postgres://ann:geheim@db.example.org:5432/tools?sslmode=require&password=geheim", newer, "postgres://db.example.org:5432/tools: the tables"},
		{"postgres://ann:geheim%zz@db.example.org/tools", newer, "the database: the tables"},
	} {
		if got := settings.NamingNewer(c.name, c.err).Error(); !strings.HasPrefix(got, c.want) || strings.Contains(got, "geheim") {
			t.Errorf("got %q, want %q first", got, c.want)
		}
	}
	other := fmt.Errorf("no connection")
	if got := settings.NamingNewer("sqlite:keys.db", other); got != other {
		t.Errorf("another error becomes %v", got)
	}
}
