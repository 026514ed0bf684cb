package access_test

import (
	"errors"
	"testing"

	"github.com/toolpost/toolpost/internal/access"
)

// lookAlikeTeams checks that no team can be created whose name a person would take for that of another.
func lookAlikeTeams(t *testing.T, open opener) {
	b := &access.Book{Store: open(t)}
	for _, name := range []string{"research", "team 1", "Größe", "Отдел", "blue"} {
		create(t, b, access.Key{Team: name})
		create(t, b, access.Key{Team: name}) // another key of it
	}
	for name, fits := range map[string]bool{
		"research": true, "research2": true, "re-search": true, "Grösse": true, "отделы": true, "green": true,
		"Research": false, "rеsearch": false, "ｒesearch": false, "𝐫esearch": false, "research\u0301": false,
		"team\u20031": false, "ΒLUE": false, "ОТДЕЛ": false,
	} {
		for what, err := range map[string]error{"limits": b.SetTeam(t.Context(), access.Team{Name: name, Limits: limit(t, "tokens/day=1")}), "key": created(t, b, name)} {
			if invalid := new(access.InvalidError); (err == nil) != fits || err != nil && !errors.As(err, &invalid) {
				t.Errorf("%s of %+q: %v", what, name, err)
			}
		}
	}
}

func created(t *testing.T, b *access.Book, team string) error {
	t.Helper()
	_, _, err := b.Create(t.Context(), access.Key{Team: team})
	return err
}
