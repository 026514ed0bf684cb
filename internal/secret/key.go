package secret

import (
	"slices"
	"strings"
)

// leastPart is the length from which a part of a key counts as a secret. Amazon's
// are three times as long. A shorter part is more likely a word after a colon.
const leastPart = 12

// KeyParts returns a key, and the parts of it that are secrets by themselves: the secret and the session token of an
// access key of Amazon (ID:SECRET or ID:SECRET:SESSION). Other entries are empty.
func KeyParts(key string) [3]string {
	parts := [3]string{key}
	id, rest, _ := strings.Cut(key, ":")
	secret, session, _ := strings.Cut(rest, ":")
	if id == "" || secret == "" {
		return parts
	}
	for i, part := range [...]string{secret, session} {
		if len(part) >= leastPart {
			parts[i+1] = part
		}
	}
	return parts
}

// OfKey returns the values that must not be shown of a key: the whole key and its KeyParts.
func OfKey(key string) []string {
	parts := KeyParts(key)
	return slices.DeleteFunc(parts[:], func(s string) bool { return s == "" })
}
