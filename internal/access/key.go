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

// Key identifies a client. It belongs to a team.
type Key struct {
	// ID identifies the key. It is the beginning of the key's secret, and is not secret itself.
	ID   string `json:"id"`
	Team string `json:"team"`
	// Name describes the purpose of the key.
	Name string `json:"name,omitempty"`
	// Models, Tools and Routes are patterns of allowed names; * matches any text. An empty list allows everything.
	// Models are the names that clients ask for. Routes are the names in the configuration. Tools are run by the
	// gateway or a vendor; the client's own tools are not restricted.
	Models []string `json:"models,omitempty"`
	Tools  []string `json:"tools,omitempty"`
	Routes []string `json:"routes,omitempty"`
	// Limits apply in addition to those of the team.
	Limits  []Quota   `json:"limits,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when the key ends; zero means never.
	Expires time.Time `json:"expires,omitzero"`
	// Revoked is when the key was revoked; zero means that it was not.
	Revoked time.Time `json:"revoked,omitzero"`
	// Rotated is when the key got its current secret; zero means when it was created.
	Rotated time.Time `json:"rotated,omitzero"`
	// EarlierUntil are the ends of earlier secrets that are still valid. It is set in lists of keys.
	EarlierUntil []time.Time `json:"earlier_until,omitempty"`
}

// Team owns keys. Stored state of clients belongs to the team.
type Team struct {
	Name   string  `json:"name"`
	Limits []Quota `json:"limits,omitempty"` // for all its keys together
}

// stored is a key with the fields that only the store has.
type stored struct {
	Key
	Hash string `json:"hash"` // of the secret, in hexadecimal
	// Earlier are the secrets before rotations that are still in their grace period.
	Earlier []earlier `json:"earlier,omitempty"`
}

// earlier is a secret of a key before a rotation.
type earlier struct {
	Hash  string    `json:"hash"`
	Until time.Time `json:"until"`
}

// maxEarlier limits how many earlier secrets of a key are valid at the same time.
const maxEarlier = 8

// Prefix is the beginning of every secret.
const Prefix = "tp-"

// newID returns a new key id. The secret of the key begins with it.
func newID() string { return Prefix + strings.ToLower(rand.Text()[:10]) }

// newSecret returns a new secret for a key. It has 130 random bits, so a fast hash protects it well enough.
func newSecret(id string) string { return id + "-" + rand.Text() }

// idOf returns the key id at the beginning of a secret, or false if the secret is malformed.
func idOf(secret string) (string, bool) {
	rest, ok := strings.CutPrefix(secret, Prefix)
	id, tail, found := strings.Cut(rest, "-")
	if !ok || !found || len(id) != 10 || len(tail) != 26 {
		return "", false
	}
	return Prefix + id, true
}

// named returns the id of a key from its id, its secret or a part of the secret. Operators who revoke a key may have
// only the secret at hand, and errors must not repeat it.
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

// has reports whether a secret is valid for the key at a time.
func (k *stored) has(secret string, now time.Time) bool {
	hash := []byte(hashOf(secret))
	is := subtle.ConstantTimeCompare(hash, []byte(k.Hash)) == 1
	for _, e := range k.Earlier {
		was := subtle.ConstantTimeCompare(hash, []byte(e.Hash)) == 1
		is = is || was && now.Before(e.Until)
	}
	return is
}

// rotate replaces the current secret, which stays valid for the grace period. Earlier secrets keep their own end.
// Without a grace period, all of them end.
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

// Limits on the fields of a key.
const (
	maxName     = 100
	maxPatterns = 200
	maxPattern  = 256
	maxLimits   = 32
)

// check reports why the settings of a key are invalid.
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

// checkPatterns refuses invalid lists of names. A list that is present but empty usually comes from an unset variable.
// It is an error, because it would allow everything.
func checkPatterns(what string, list []string) error {
	if list != nil && len(list) == 0 {
		return emptyList(what)
	}
	if len(list) > maxPatterns {
		return fmt.Errorf("there may be %d %s, not %d", maxPatterns, what, len(list))
	}
	for _, p := range list {
		if p == "" || len(p) > maxPattern || hasControl(p) || strings.TrimSpace(p) != p {
			return fmt.Errorf("%s: %.40q is not a name: it is empty, has spaces at its ends or more than %d bytes, or something that cannot be printed", what, p, maxPattern)
		}
	}
	return nil
}

func emptyList(what string) error {
	return fmt.Errorf("the list of %s is empty: leave it out to set no bound, or name what it bounds", what)
}

// checkName returns an error for names that do not fit in tables, logs and headers.
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

// matches reports whether a list of patterns allows a name. An empty list allows all names.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return len(patterns) == 0
}

// match reports whether a name fits a pattern, in which each * matches any text. It takes at most time proportional to
// the product of the lengths.
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

// AllowsModel reports whether the key may use a model.
func (k *Key) AllowsModel(name string) bool { return matches(k.Models, name) }

// AllowsTool reports whether the key may use a tool that the gateway or a vendor runs.
func (k *Key) AllowsTool(name string) bool { return matches(k.Tools, name) }

// AllowsRoute reports whether the key may use a route.
func (k *Key) AllowsRoute(name string) bool { return matches(k.Routes, name) }

// State returns "active", "expired" or "revoked".
func (k *Key) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return "expired"
	}
	return "active"
}

// ErrNotThere reports that a key, a team or a record does not exist.
var ErrNotThere = errors.New("it is not there")
