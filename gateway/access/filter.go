package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
)

// Filter picks requests: only those that have, for each grouping in it, that value. Without any it picks all.
type Filter map[Grouping]string

// Filters are what requests can be picked by. A day is not: usage is told since one.
var Filters = []Grouping{ByTeam, ByKey, ByRoute, ByModel, ByUpstream}

// check says why nothing can be picked so. An empty value is what a variable makes that is not set.
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

// has reports whether a request is picked.
func (f Filter) has(u *Spend) bool {
	for g, value := range f {
		if u.Of(g) != value {
			return false
		}
	}
	return true
}

// where is the filter as a condition of SQL behind another, and its arguments, of which the first is the one of number n.
func (f Filter) where(n int) (text string, args []any) {
	for _, g := range slices.Sorted(maps.Keys(f)) { // each is the name of a column: check lets no others pass
		text += fmt.Sprintf(" AND %s = $%d", g, n+len(args))
		args = append(args, f[g])
	}
	return text, args
}

// String names what is picked, in the order of [Filters].
func (f Filter) String() string {
	var list []string
	for _, g := range Filters {
		if value, ok := f[g]; ok {
			list = append(list, string(g)+" "+value)
		}
	}
	return strings.Join(list, ", ")
}

// Resolve returns a filter whose key, named by its id, its name or its secret, is named by its id. A team or a key that there is not
// is an error that is [ErrNotThere]: usage of it would look like that of one that has used nothing. A name that several keys have is an error
// that names them, unless the filter's team has only one of them. Routes, models and upstreams are not checked, since those of the past count, too.
func (b *Book) Resolve(ctx context.Context, f Filter) (Filter, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f = maps.Clone(f)
	if model, ok := f[ByModel]; ok {
		f[ByModel] = clip(model) // as the log has it
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

// isTeam says that there is no such team: neither has it limits nor a key.
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

// keyNamed returns the id of the one key that has an id or a name. An id comes first: a name can look like one.
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

// meant asks whether another name was meant; "" if none is near.
func meant(name string, names []string) string {
	if like := near.Names(name, names, 1); len(like) > 0 {
		return fmt.Sprintf("; did you mean %.100q?", like[0])
	}
	return ""
}
