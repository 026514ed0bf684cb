package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name every vendor accepts.
const maxName = 64

// ValidName reports whether every vendor accepts name: 1 to 64 ASCII letters,
// digits, underscores and hyphens.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// SafeName returns name if it is valid, and otherwise a valid name made from
// it. Characters that are not allowed become "_", and a piece of its hash at
// the end keeps different names apart. The same name gives the same result
// everywhere.
func SafeName(name string) string { return safeName(name, name, 8) }

// safeName makes shown valid, with n hex digits of the hash of whole wherever
// it has to be changed.
func safeName(shown, whole string, n int) string {
	if ValidName(shown) && n <= 8 {
		return shown
	}
	sum := sha256.Sum256([]byte(whole))
	tail := "_" + hex.EncodeToString(sum[:])[:n]
	var b strings.Builder
	for i := 0; i < len(shown) && b.Len() < maxName-len(tail); i++ {
		if nameByte(shown[i]) {
			b.WriteByte(shown[i])
		} else if s := b.String(); s != "" && s[len(s)-1] != '_' {
			b.WriteByte('_')
		}
	}
	return strings.TrimRight(b.String(), "_") + tail
}

// separator separates namespace and tool. Names are never split at it: the tool
// itself holds its namespace and original name.
const separator = "__"
