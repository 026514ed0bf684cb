package admin

import (
	"net/http"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// newKey is the request that creates a key.
type newKey struct {
	Team    string         `json:"team"`
	Name    string         `json:"name"`
	Models  []string       `json:"models"`
	Tools   []string       `json:"tools"`
	Routes  []string       `json:"routes"`
	Limits  []access.Quota `json:"limits"`
	Expires *string        `json:"expires"` // for access.ParseTime
}

// madeKey is a new key with its secret. The secret is shown only in this answer.
type madeKey struct {
	access.Key
	Secret string `json:"secret"`
}

func (a *Handler) keys(r *http.Request) (any, error) {
	keys, err := a.Book.Keys(r.Context())
	return map[string]any{"keys": notNil(keys)}, err
}

func (a *Handler) create(r *http.Request) (any, error) {
	var n newKey
	if err := read(r, &n); err != nil {
		return nil, err
	}
	k := access.Key{Team: n.Team, Name: n.Name, Models: n.Models, Tools: n.Tools, Routes: n.Routes, Limits: n.Limits}
	if n.Expires != nil {
		var err error
		if k.Expires, err = access.ParseTime(*n.Expires, time.Now(), false); err != nil {
			return nil, Invalidf("expires: %v", err)
		}
	}
	k, secret, err := a.Book.Create(r.Context(), k)
	return madeKey{k, secret}, err
}

// change replaces the named settings of a key.
func (a *Handler) change(r *http.Request) (any, error) {
	var n struct {
		Name    *string        `json:"name"`
		Models  []string       `json:"models"`
		Tools   []string       `json:"tools"`
		Routes  []string       `json:"routes"`
		Limits  []access.Quota `json:"limits"`
		Expires *string        `json:"expires"` // "never" removes the expiry
	}
	if err := read(r, &n); err != nil {
		return nil, err
	}
	if n.Name == nil && n.Models == nil && n.Tools == nil && n.Routes == nil && n.Limits == nil && n.Expires == nil {
		return nil, Invalidf("no field to change: give name, models, tools, routes, limits or expires")
	}
	var expires time.Time
	if n.Expires != nil && *n.Expires != "never" {
		var err error
		if expires, err = access.ParseTime(*n.Expires, time.Now(), false); err != nil {
			return nil, Invalidf("expires: %v", err)
		}
	}
	return a.Book.Change(r.Context(), r.PathValue("id"), func(k *access.Key) {
		if n.Name != nil {
			k.Name = *n.Name
		}
		for _, bound := range []struct{ into, list *[]string }{{&k.Models, &n.Models}, {&k.Tools, &n.Tools}, {&k.Routes, &n.Routes}} {
			if *bound.list != nil {
				*bound.into = *bound.list
			}
		}
		if n.Limits != nil {
			if k.Limits = n.Limits; len(n.Limits) == 0 { // like a team without limits
				k.Limits = nil
			}
		}
		if n.Expires != nil {
			k.Expires = expires
		}
	})
}

func (a *Handler) rotate(r *http.Request) (any, error) {
	var n struct {
		Grace string `json:"grace"` // like 24h
	}
	if err := read(r, &n); err != nil {
		return nil, err
	}
	grace := time.Duration(0)
	if n.Grace != "" {
		var err error
		if grace, err = access.ParseDuration(n.Grace); err != nil {
			return nil, Invalidf("grace: %v", err)
		}
	}
	k, secret, err := a.Book.Rotate(r.Context(), r.PathValue("id"), grace)
	return madeKey{k, secret}, err
}

func (a *Handler) revoke(r *http.Request) (any, error) {
	return a.Book.Revoke(r.Context(), r.PathValue("id"))
}

func (a *Handler) teams(r *http.Request) (any, error) {
	teams, err := a.Book.Teams(r.Context())
	return map[string]any{"teams": notNil(teams)}, err
}

func (a *Handler) setTeam(r *http.Request) (any, error) {
	var n struct {
		Limits []access.Quota `json:"limits"`
	}
	if err := read(r, &n); err != nil {
		return nil, err
	}
	if n.Limits == nil {
		return nil, Invalidf("the field limits is missing; [] removes all limits of the team")
	}
	t := access.Team{Name: r.PathValue("name"), Limits: n.Limits}
	return t, a.Book.SetTeam(r.Context(), t)
}

// erase deletes all data of a team, or of one of its end users.
func (a *Handler) erase(r *http.Request) (any, error) {
	team, user := r.PathValue("name"), r.URL.Query().Get("user")
	if r.URL.Query().Has("user") && user == "" {
		return nil, Invalidf("user: the name is empty")
	}
	if user == "" && a.Forget != nil {
		if err := a.Forget(r.Context(), team); err != nil {
			return nil, err
		}
	}
	return map[string]any{"erased": map[string]string{"team": team, "user": user}}, a.Book.Erase(r.Context(), team, user)
}
