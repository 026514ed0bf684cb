package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/secret"
)

// However a secret is spelled, and whatever stands around it, no eight
// characters of its spelling are left.
func TestEverySpelling(t *testing.T) {
	const bit = "[key]"
	for _, key := range []string{"sk-proj-Ab3_9xQ7-zz81kLmN", "p/ss+w0rd=with&all%of \"it\"", "12345678", "äöü-schlüssel", strings.Repeat("k3y", 100)} {
		set := secret.NewSet("none", key)
		quoted, _ := json.Marshal(key)
		spellings := map[string]string{
			"raw": key, "query": url.QueryEscape(key), "path": url.PathEscape(key), "lower": strings.ToLower(url.QueryEscape("/")) + url.QueryEscape(key),
			"json": string(quoted[1 : len(quoted)-1]), "slashes": strings.ReplaceAll(key, "/", `\/`),
		}
		for name, digit := range map[string]string{"hex": "%02x", "HEX": "%02X", "colons": "%02x:", "blanks": "%02x ", "%": "%%%02X", "\\x": `\x%02x`} {
			var b strings.Builder
			for i := range len(key) {
				fmt.Fprintf(&b, digit, key[i])
			}
			spellings[name] = b.String()
		}
		for before := range 7 {
			for after := range 4 {
				text := []byte(strings.Repeat("a", before) + key + strings.Repeat("z", after))
				for name, enc := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw": base64.RawStdEncoding} {
					spellings[name+strings.Repeat("<", before)+strings.Repeat(">", after)] = enc.EncodeToString(text)
				}
			}
		}
		for name, s := range spellings {
			got, n := set.Strip([]byte("before "+s+" after"), bit)
			if n == 0 || !strings.Contains(string(got), bit) || len(got) > len("before  after")+len(bit)+16 {
				t.Errorf("%q as %s: %d found in %q: %q", key, name, n, s, got)
			}
		}
	}
	if got, n := secret.NewSet("none", "short").Strip([]byte("none short"), bit); n != 0 || string(got) != "none short" {
		t.Errorf("%s", got)
	}
}

func TestHeld(t *testing.T) {
	set := secret.NewSet("abcdefgh")
	for text, want := range map[string]int{"": 0, "x": 0, "xa": 1, "xabcdefg": 7, "YWJj": 4} {
		if got := set.Held([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestNoWordIsCut(t *testing.T) {
	const text = "one two three four"
	for n := -1; n <= len(text)+1; n++ {
		head, tail := secret.Head(text, n), secret.Tail(text, n)
		for _, piece := range []string{head, tail} {
			if len(piece) > max(n, 0) {
				t.Errorf("%d bytes: %q", n, piece)
			}
			for _, word := range strings.Fields(piece) {
				if !strings.Contains(" "+text+" ", " "+word+" ") {
					t.Errorf("%d bytes: %q", n, piece)
				}
			}
		}
	}
	long := strings.Repeat("x", 40<<10)
	if got := secret.Head(long, 30<<10); len(got) != 14<<10 {
		t.Errorf("%d bytes of a long word", len(got))
	}
}
