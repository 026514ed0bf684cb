package journal_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/journal"
)

// A secret known by value is stripped from records in every spelling, and no cut
// of clean text shows a part of one.
func TestSpellingsOfValues(t *testing.T) {
	const key = "p/ss+w0rd=of&no%form"
	secrets := &journal.Secrets{Values: []string{key, "tiny"}}
	for before := range 4 {
		text := "see " + key + " or " + url.QueryEscape(key) + " or " + url.PathEscape(key) + " or " +
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", before)+key+":x")) + " or " +
			base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("u", before)+key)) + " end, tiny"
		store := &journal.Memory{Secrets: secrets}
		body, _ := json.Marshal(map[string]string{"text": text})
		if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: body}); err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Read(t.Context(), "r", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got := string(e.Body)
			if n := strings.Count(got, "[stripped:value]"); n != 6 || e.Stripped == nil || strings.Contains(got, "tiny") {
				t.Errorf("%d found: %s", n, got)
			}
		}
		clean := secrets.Clean(text)
		for n := range len(clean.String()) {
			if cut := clean.Cut(n); strings.Contains(cut, key[:6]) {
				t.Fatalf("%q", cut)
			}
		}
		if only, n := secrets.RedactValues(text); n != 5 || !strings.Contains(only, "tiny") {
			t.Errorf("%d: %s", n, only)
		}
	}
}

// Mixed escapes and wrapped lines hide no value from the record, also where JSON
// escapes them once more.
func TestHiddenSpellingsInBodies(t *testing.T) {
	const key = "kA9-of_no-known-form-Zq7"
	var entities, escapes strings.Builder
	for i := range len(key) {
		fmt.Fprintf(&entities, "&#x%x;", key[i])
		fmt.Fprintf(&escapes, `\u%04X`, key[i])
	}
	coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 45) + key + strings.Repeat("y", 45)))
	for name, text := range map[string]string{
		"entities": entities.String(), "escapes": escapes.String(), "wrapped base64": coded[:76] + "\n" + coded[76:], "wrapped": key[:9] + "\r\n\t" + key[9:], "some of it escaped": "%6B" + key[1:],
	} {
		store := &journal.Memory{Secrets: &journal.Secrets{Values: []string{key}}}
		body, _ := json.Marshal(map[string]string{"text": "a " + text + " b"})
		if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: body}); err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Read(t.Context(), "r", 0) {
			if err != nil || strings.Count(string(e.Body), "[stripped:value]") != 1 || e.Stripped == nil {
				t.Errorf("%s: %s %v", name, e.Body, err)
			}
		}
	}
}
