package secret_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/secret"
)

// TestUncut: wherever a text ends within a secret, only a piece of the secret that is too short to be useful remains,
// after the unchanged text before it.
func TestUncut(t *testing.T) {
	const key = "sk-live+0123456789abcdef-secret"
	set := secret.NewSet(key)
	forms := append(secret.Forms(key), strings.ReplaceAll(key, "-", "&#45;"), strings.ReplaceAll(key, "+", `\\u002b`), key[:9]+"\n\t"+key[9:])
	for _, form := range forms {
		for n := range len(form) {
			got := string(set.Uncut([]byte("Hello. " + form[:n])))
			rest, ok := strings.CutPrefix(got, "Hello. ")
			if !ok || len(rest) > 8 || len(rest) > 2 && !strings.ContainsAny(rest, `%&\`) {
				t.Errorf("%q leaves %q", form[:n], got)
			}
		}
	}
	for _, text := range []string{"", "s", "a page & more", `C:\path%20`} {
		if got := string(set.Uncut([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := string((*secret.Set)(nil).Uncut([]byte("sk-live"))); got != "sk-live" {
		t.Error(got)
	}
}
