// Package stripped finds the marks that replace secrets in a record.
package stripped

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/secret"
)

var markerForm = regexp.MustCompile(`\[stripped:[A-Za-z0-9_.-]{1,64}\]`)

// Mark returns the first mark in the strings of a JSON value, keys included, that
// replaced a secret, like [stripped:password], or "". Arguments that contain one were
// read from a record, or copied from a result that was shown without its secrets. They
// are not the intended arguments and must not be run.
func Mark(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(secret.MarkPrefix[1:])) && !bytes.ContainsRune(raw, '\\') {
		return ""
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := js.EndOfString(raw, i)
		if m := markerForm.Find(js.AppendText(nil, raw[i:end])); m != nil {
			return string(m)
		}
		i = end - 1
	}
	return string(markerForm.Find(raw)) // for text that is not JSON
}
