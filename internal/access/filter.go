package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
)

// Filter selects requests by the values of groupings. An empty filter selects all requests.
type Filter map[Grouping]string

// Filters are the groupings that a filter may use. ByDay is not one of them: usage has a start day instead.
var Filters = []Grouping{ByTeam, ByKey, ByRoute, ByModel, ByUpstream, ByUser, ByTag}

// LogQuery selects lines of the log, newest first.
type LogQuery struct {
	Only   Filter
	ID     string // of one request
	Failed bool   // only requests with another status than "ok"
	Before string // the id of a line: only older lines
	Most   int
}

// has reports whether the query selects a line, whatever its age.
func (q *LogQuery) has(e *LogLine) bool {
	u := usageOf(e)
	return q.Only.has(&u) && (q.ID == "" || e.ID == q.ID) && (!q.Failed || e.Status != "ok")
}

// where returns the query as SQL conditions and their arguments, of which the first has number n.
func (q *LogQuery) where(n int) (text string, args []any) {
	text, args = q.Only.where(n)
	if q.ID != "" {
		args = append(args, q.ID)
		text += fmt.Sprintf(" AND id = $%d", n+len(args)-1)
	}
	if q.Failed {
		text += failedOnly
	}
	if q.Before != "" {
		args = append(args, q.Before)
		k := n + len(args) - 1
		text += fmt.Sprintf(" AND at <= (SELECT at FROM toolpost_request WHERE id = $%d) AND (at < (SELECT at FROM toolpost_request WHERE id = $%d) OR id > $%d)", k, k, k)
	}
	return text, args
}

// failedOnly is the condition of the index of failed requests.
const failedOnly = " AND status <> 'ok'"

// check reports why the filter is invalid. An empty value is an error, because it usually comes from an unset variable.
func (f Filter) check() error {
	for g, value := range f {
		if !slices.Contains(Filters, g) {
			return fmt.Errorf("access: requests cannot be picked by %.40q", g)
		}
		if value == "" {
			return fmt.Errorf("access: the %s to pick requests by is empty", g)
		}
	}
	return nil
}

// has reports whether the filter selects a request.
func (f Filter) has(u *Spend) bool {
	for g, value := range f {
		if u.Of(g) != value {
			return false
		}
	}
	return true
}

// where returns the filter as SQL conditions to append to a WHERE clause, and their arguments. The first argument has
// number n.
func (f Filter) where(n int) (text string, args []any) {
	for _, g := range slices.Sorted(maps.Keys(f)) { // each is the name of a column: check rejects others
		text += fmt.Sprintf(" AND %s = $%d", g.column(), n+len(args))
		if g == ByUser || g == ByTag {
			text += " AND " + g.column() + " <> ''" // the index has only these
		}
		args = append(args, f[g])
	}
	return text, args
}

// String returns the conditions in the order of [Filters].
func (f Filter) String() string {
	var list []string
	for _, g := range Filters {
		if value, ok := f[g]; ok {
			list = append(list, string(g)+" "+value)
		}
	}
	return strings.Join(list, ", ")
}

// Resolve returns a filter whose key is given by its id. The key may be given by its id, its name or its secret. An
// unknown team or key is an [ErrNotThere]: otherwise its usage would look like that of an unused key. A name of several
// keys is an error that lists them, unless the filter's team has only one of them. Routes, models and upstreams are not
// checked, because the log may contain names from the past.
func (b *Book) Resolve(ctx context.Context, f Filter) (Filter, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f = maps.Clone(f)
	for _, g := range []Grouping{ByModel, ByUser, ByTag} {
		if value, ok := f[g]; ok {
			f[g] = clip(value) // as the log has it
		}
	}
	team, ofTeam := f[ByTeam]
	key, ofKey := f[ByKey]
	if !ofTeam && !ofKey {
		return f, nil
	}
	keys, err := b.Keys(ctx)
	if err != nil {
		return nil, err
	}
	if ofTeam {
		if err := b.isTeam(ctx, team, keys); err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(keys, func(k Key) bool { return k.Team != team })
	}
	if ofKey {
		if f[ByKey], err = keyNamed(named(key), keys); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// isTeam returns an error if the team is unknown: it has neither limits nor a key.
func (b *Book) isTeam(ctx context.Context, team string, keys []Key) error {
	teams, err := b.Teams(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range teams {
		names = append(names, t.Name)
	}
	for _, k := range keys {
		names = append(names, k.Team)
	}
	if slices.Contains(names, team) {
		return nil
	}
	return fmt.Errorf("access: team %.100q: %w%s", team, ErrNotThere, meant(team, names))
}

// keyNamed returns the id of the only key with the given id or name. Ids are compared first, because a name can look
// like an id.
func keyNamed(key string, keys []Key) (string, error) {
	var names, same []string
	for _, k := range keys {
		if k.ID == key {
			return k.ID, nil
		}
		if k.Name != "" {
			names = append(names, k.Name)
		}
		if k.Name == key {
			same = append(same, k.ID)
		}
	}
	switch len(same) {
	case 0:
		return "", fmt.Errorf("access: key %.100q: %w%s", key, ErrNotThere, meant(key, names))
	case 1:
		return same[0], nil
	}
	return "", fmt.Errorf("access: several keys have the name %.100q; name one by its id: %s", key, strings.Join(same[:min(len(same), 10)], ", "))
}

// meant returns a "did you mean" hint, or "" if no name is similar.
func meant(name string, names []string) string {
	if like := near.Names(name, names, 1); len(like) > 0 {
		return fmt.Sprintf("; did you mean %.100q?", like[0])
	}
	return ""
}
