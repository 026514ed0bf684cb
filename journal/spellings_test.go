package journal_test

import (
	"encoding/base64"
	"encoding/json"
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
		if only, n := secrets.StripValues(text); n != 5 || !strings.Contains(only, "tiny") {
			t.Errorf("%d: %s", n, only)
		}
	}
}
