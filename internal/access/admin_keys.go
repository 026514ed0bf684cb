package access

import "strings"

// MinAdminKey is the minimum length of the administrators' key in bytes.
const MinAdminKey = 24

// NamedKey is a key and the name of the administrator who has it.
type NamedKey struct{ Name, Key string }

// NamedKeys reads the keys of administrators: one key, or several with names, like "ada:KEY,bob:KEY".
func NamedKeys(text string) []NamedKey {
	var list []NamedKey
	for part := range strings.SplitSeq(text, ",") {
		name, key, named := strings.Cut(strings.TrimSpace(part), ":")
		if !named || name == "" || key == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789._@-") != "" {
			return []NamedKey{{"admin", text}}
		}
		list = append(list, NamedKey{name, key})
	}
	return list
}

// AdminKeys returns the keys in the setting of administrators' keys.
func AdminKeys(setting string) (keys []string) {
	for _, one := range NamedKeys(setting) {
		keys = append(keys, one.Key)
	}
	return keys
}
