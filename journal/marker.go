package journal

import (
	"bytes"
	"encoding/json"
	"regexp"
)

var markerForm = regexp.MustCompile(`\[stripped:[A-Za-z0-9_.-]{1,64}\]`)

// Marker returns the first mark in the strings of a JSON value, keys included,
// that stands for a secret, like [stripped:password], or "". Arguments that hold
// one were read from a record, or copied from a result that was shown without its
// secrets: they are not what anybody meant, and must not be run.
func Marker(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte("stripped:")) && !bytes.ContainsRune(raw, '\\') {
		return ""
	}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil { // its end, or no JSON
			return string(markerForm.Find(raw))
		}
		if text, ok := token.(string); ok {
			if m := markerForm.FindString(text); m != "" {
				return m
			}
		}
	}
}
