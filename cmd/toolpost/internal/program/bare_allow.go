package program

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// bareAllow handles the old --allow flag of tools call, which took no list and allowed everything. It will be removed
// in the next release.
func bareAllow(args []string) (out []string, bare bool) {
	if len(args) < 2 || args[0] != "tools" || args[1] != "call" {
		return args, false
	}
	out = slices.Clone(args)
	for i, word := range out {
		if word == "--" {
			break
		}
		if word != "--allow" || i+1 < len(out) && looksLikeClasses(out[i+1]) {
			continue
		}
		out[i], bare = "--yes", true
	}
	return out, bare
}

// looksLikeClasses reports whether a word is probably a list for --allow, and not the name of a tool, arguments or
// another flag.
func looksLikeClasses(word string) bool {
	if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "{") {
		return false
	}
	for class := range strings.SplitSeq(word, ",") {
		if _, ok := settings.Classes[class]; ok {
			return true
		}
	}
	for _, names := range settings.Classes {
		if slices.Contains(names, word) {
			return false
		}
	}
	return !strings.Contains(word, "_")
}
