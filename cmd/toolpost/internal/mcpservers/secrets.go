package mcpservers

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// serverSecrets returns the secret values that a server receives. A value in variables, environment or headers is
// secret if its name is that of a credential, or if it is neither plain words nor a path.
func serverSecrets(c config.ServerConfig) []string {
	var out []string
	add := func(name, value string) {
		if len(value) >= secret.Least && (secret.IsCredential(name) || !wordsOrPath(value)) {
			out = append(out, value)
		}
	}
	resolved, used, err := c.Resolve(func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		add(name, value)
		return value, ok
	})
	if err != nil {
		return out
	}
	for _, value := range used { // including those of the env_file
		add("", value)
	}
	for _, m := range []map[string]string{resolved.Env, resolved.Headers} {
		for name, value := range m {
			for _, part := range secret.OfHeader(value) {
				add(name, part)
			}
		}
	}
	return out
}

// The maximum lengths of a plain word and of a number in wordsOrPath.
const (
	longestWord   = 20
	longestNumber = 5
)

// wordsOrPath reports whether a value is a path of this machine, or consists of plain words and short numbers:
// production, us-east-1, application/json.
func wordsOrPath(value string) bool {
	if isPath(value) {
		return true
	}
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("/\\:.,-_ ", r) }) {
		if !plainPart(part) {
			return false
		}
	}
	return true
}

func plainPart(part string) bool {
	digits := strings.IndexFunc(part, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
	if digits {
		return len(part) <= longestNumber
	}
	if strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) }) || len(part) > longestWord {
		return false
	}
	rest := part[1:] // alternating upper and lower case is not a word
	return rest == strings.ToLower(rest) || part == strings.ToUpper(part)
}

// isPath reports whether value is a path whose first folder exists.
func isPath(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	volume := filepath.VolumeName(value)
	first, _, _ := strings.Cut(strings.TrimLeft(filepath.ToSlash(value[len(volume):]), "/"), "/")
	if first == "" {
		return true
	}
	info, err := os.Stat(volume + string(filepath.Separator) + first)
	return err == nil && info.IsDir()
}
