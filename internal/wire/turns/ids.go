package turns

import (
	"crypto/sha256"
	"math/big"
	"strconv"
)

// Digest returns n characters of the hash of s, in lower-case letters and
// digits, which every target accepts.
func Digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	text := new(big.Int).SetBytes(sum[:]).Text(36)
	for len(text) < n {
		text += "0"
	}
	return text[:n]
}

// HostedIDs gives ids to hosted calls without one, and to their results, which
// follow them.
type HostedIDs struct{ n int }

func (h *HostedIDs) Call(id string) string {
	h.n++
	if id == "" {
		return h.last()
	}
	return id
}

func (h *HostedIDs) Result(id string) string {
	if id == "" {
		return h.last()
	}
	return id
}

func (h *HostedIDs) last() string { return "hosted_" + strconv.Itoa(h.n) }
