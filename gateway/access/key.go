package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Key is what a client shows. It belongs to a team.
type Key struct {
	// ID names the key. It begins the key's secret, and may be shown to anybody.
	ID   string `json:"id"`
	Team string `json:"team"`
	// Name says to people what the key is for.
	Name string `json:"name,omitempty"`
	// Models, Tools and Routes are what the key may use: names, in which * stands for anything.
	// Without any, all are allowed. Models are named as clients ask for them, routes as the
	// configuration does; tools are those that the gateway or a vendor runs, not the client's own.
	Models []string `json:"models,omitempty"`
	Tools  []string `json:"tools,omitempty"`
	Routes []string `json:"routes,omitempty"`
	// Limits bound what the key may spend, beside those of its team.
	Limits  []Quota   `json:"limits,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when the key ends; zero means never.
	Expires time.Time `json:"expires,omitzero"`
	// Revoked is when the key was revoked; zero means that it was not.
	Revoked time.Time `json:"revoked,omitzero"`
	// Rotated is when the key got its present secret, if not when it was made.
	Rotated time.Time `json:"rotated,omitzero"`
	// EarlierUntil are the ends of the secrets before the present one that are still good, where keys are listed.
	EarlierUntil []time.Time `json:"earlier_until,omitempty"`
}

// Team is whom keys belong to. State that is kept for clients is the team's.
type Team struct {
	Name   string  `json:"name"`
	Limits []Quota `json:"limits,omitempty"` // of all its keys together
}

// stored is a key with what only the store knows.
type stored struct {
	Key
	Hash string `json:"hash"` // of the secret, in hexadecimal
	// Earlier are secrets before rotations, each of which is good for a while longer.
	Earlier []earlier `json:"earlier,omitempty"`
}

// earlier is a secret of a key before a rotation.
type earlier struct {
	Hash  string    `json:"hash"`
	Until time.Time `json:"until"`
}

// maxEarlier bounds how many secrets of a key are good at the same time, beside the present one.
const maxEarlier = 8

// Prefix is what every secret begins with.
const Prefix = "tp-"

// newID returns an id, which begins the secret of a key.
func newID() string { return Prefix + strings.ToLower(rand.Text()[:10]) }

// newSecret returns a secret for a key: 130 bits nobody can guess, so that a fast hash is enough to keep.
func newSecret(id string) string { return id + "-" + rand.Text() }

// idOf returns the id that a secret begins with, and false if it cannot be one.
func idOf(secret string) (string, bool) {
	rest, ok := strings.CutPrefix(secret, Prefix)
	id, tail, found := strings.Cut(rest, "-")
	if !ok || !found || len(id) != 10 || len(tail) != 26 {
		return "", false
	}
	return Prefix + id, true
}

// named returns the id of a key that is named by its id, or by its secret or a piece of it: whoever
// wants to be rid of a key has that at hand, and it must not be said again in an error.
func named(key string) string {
	if n := len(Prefix) + 10; len(key) > n && key[n] == '-' && strings.HasPrefix(key, Prefix) {
		return key[:n]
	}
	return key
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// has reports whether a secret is the key's, at a time.
func (k *stored) has(secret string, now time.Time) bool {
	hash := []byte(hashOf(secret))
	is := subtle.ConstantTimeCompare(hash, []byte(k.Hash)) == 1
	for _, e := range k.Earlier {
		was := subtle.ConstantTimeCompare(hash, []byte(e.Hash)) == 1
		is = is || was && now.Before(e.Until)
	}
	return is
}

// rotate puts another secret in the place of the present one, which is good for a grace time more. Earlier ones keep their own end,
// unless there is no grace: then all end.
func (k *stored) rotate(secret string, now time.Time, grace time.Duration) error {
	if grace <= 0 {
		k.Earlier = nil
	} else {
		k.Earlier = slices.DeleteFunc(k.Earlier, func(e earlier) bool { return !now.Before(e.Until) })
		if len(k.Earlier) >= maxEarlier {
			return fmt.Errorf("%d earlier secrets of it are still good: rotate it without grace, which ends them, or wait until %s", len(k.Earlier), k.Earlier[0].Until.Format(time.RFC3339))
		}
		k.Earlier = append(k.Earlier, earlier{k.Hash, now.Add(min(grace, longest))})
	}
	k.Hash, k.Rotated = hashOf(secret), now
	return nil
}

// Bounds of what describes a key.
const (
	maxName     = 100
	maxPatterns = 200
	maxPattern  = 256
	maxLimits   = 32
)

// check says what is wrong with a key that is to be made.
func (k *Key) check() error {
	if err := checkName("team", k.Team); err != nil {
		return err
	}
	if k.Name != "" {
		if err := checkName("name", k.Name); err != nil {
			return err
		}
	}
	for _, bound := range []struct {
		what string
		list []string
	}{{"models", k.Models}, {"tools", k.Tools}, {"routes", k.Routes}} {
		if err := checkPatterns(bound.what, bound.list); err != nil {
			return err
		}
	}
	if k.Limits != nil && len(k.Limits) == 0 {
		return emptyList("limits")
	}
	return checkLimits(k.Limits)
}

// checkPatterns refuses a list of names that cannot be meant. One that is there but empty, as a variable that is not set
// makes it, would allow everything, like none at all.
func checkPatterns(what string, list []string) error {
	if list != nil && len(list) == 0 {
		return emptyList(what)
	}
	if len(list) > maxPatterns {
		return fmt.Errorf("there may be %d %s, not %d", maxPatterns, what, len(list))
	}
	for _, p := range list {
		if p == "" || len(p) > maxPattern || hasControl(p) || strings.TrimSpace(p) != p {
			return fmt.Errorf("%s: %.40q is no name: it is empty, has spaces at its ends or more than %d bytes, or something that cannot be printed", what, p, maxPattern)
		}
	}
	return nil
}

func emptyList(what string) error {
	return fmt.Errorf("the list of %s is empty: leave it out to set no bound, or name what it bounds", what)
}

// checkName allows what can stand in tables, logs and headers.
func checkName(what, s string) error {
	if s == "" {
		return fmt.Errorf("the %s is missing", what)
	}
	if len(s) > maxName || hasControl(s) || strings.TrimSpace(s) != s {
		return fmt.Errorf("the %s %.40q has more than %d bytes, or spaces at its ends, or something that cannot be printed", what, s, maxName)
	}
	return nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfffd || unicode.Is(unicode.Cf, r) && r != '\u200d'
	})
}

// matches reports whether a list of patterns allows a name; an empty one allows all.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return len(patterns) == 0
}

// match reports whether a name fits a pattern, in which each * stands for anything. It takes time
// proportional to the product of the lengths at most.
func match(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// AllowsModel reports whether the key may ask for a model.
func (k *Key) AllowsModel(name string) bool { return matches(k.Models, name) }

// AllowsTool reports whether the key may use a tool that the gateway or a vendor runs.
func (k *Key) AllowsTool(name string) bool { return matches(k.Tools, name) }

// AllowsRoute reports whether the key may use a route.
func (k *Key) AllowsRoute(name string) bool { return matches(k.Routes, name) }

// State says in a word whether the key can be used: "active", "expired" or "revoked".
func (k *Key) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return "expired"
	}
	return "active"
}

// ErrNotThere is why a key is not changed: there is none of that id.
var ErrNotThere = errors.New("it is not there")
