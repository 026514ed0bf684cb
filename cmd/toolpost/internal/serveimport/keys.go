package serveimport

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/secret"
)

// keyForm matches the common prefix of many vendors' keys, followed by any characters.
var keyForm = regexp.MustCompile(`(?i)(^|[^0-9a-z])sk-[0-9a-z_-]{12,}`)

// containsKey reports whether a text contains a secret of a known form.
func containsKey(text string) bool {
	return secret.HasForm(text) || keyForm.MatchString(text)
}

// keyInName matches a word for a key in the name of a model, with its value.
var keyInName = regexp.MustCompile(`(?i)(^|[^a-z])(api[-_]?key|key|token|secret|password)=[^\s]*`)

// nameContainsKey reports whether the name of a model contains a key: either a known form, or a value labelled as a key.
func nameContainsKey(name string) bool { return containsKey(name) || keyInName.MatchString(name) }

// In the path of an address: words before a key, and random-looking parts. Version numbers and names of models match
// neither.
var (
	keyWord    = regexp.MustCompile(`(?i)(^|[^a-z])(api[-_]?key|key|token|secret|password)[=:/]`)
	randomPart = regexp.MustCompile(`[0-9A-Za-z]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
)

// longWord is the maximum length of a real word.
const longWord = 23

// mayContainKey reports whether a path may contain a key: text after a word for a key, or random letters and digits. It
// prefers false positives, which only cost an extra variable.
func mayContainKey(path string) bool {
	if containsKey(path) || keyWord.MatchString(path) {
		return true
	}
	return slices.ContainsFunc(randomPart.FindAllString(path, -1), func(piece string) bool {
		return len(piece) > longWord || strings.ContainsAny(piece, "0123456789")
	})
}

// isVariable reports whether a text can be the name of a variable. A name that looks like a key is refused.
func isVariable(name string) bool { return variableName.MatchString(name) && !containsKey(name) }

// variableName matches the names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
