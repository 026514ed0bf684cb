package secret_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/secret"
)

// In every spelling of a secret, whatever the text around it, no eight
// characters of the spelling remain.
func TestEverySpelling(t *testing.T) {
	const bit = "[stripped:value]"
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
			got, n := set.Redact([]byte("before " + s + " after"))
			if n == 0 || !strings.Contains(string(got), bit) || len(got) > len("before  after")+len(bit)+16 {
				t.Errorf("%q as %s: %d found in %q: %q", key, name, n, s, got)
			}
		}
	}
	if got, n := secret.NewSet("none", "short").Redact([]byte("none short")); n != 0 || string(got) != "none short" {
		t.Errorf("%s", got)
	}
}

// wrap breaks text into lines of n characters.
func wrap(text string, n int, end string) string {
	var b strings.Builder
	for ; len(text) > n; text = text[n:] {
		b.WriteString(text[:n] + end)
	}
	return b.String() + text
}

// everyByte writes every byte of text in one way.
func everyByte(digit, text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, digit, text[i])
	}
	return b.String()
}

// Escapes of every kind, mixed with plain characters, and lines that are wrapped
// hide no secret.
func TestHiddenSpellings(t *testing.T) {
	for _, key := range []string{"sk-proj-Ab3_9xQ7-zz81kLmN", "AKIA/wJalrXUtnFEMI+K7MDENG&bPx", strings.Repeat("k3y", 100)} {
		set := secret.NewSet(key)
		half := len(key) / 2
		long := strings.Repeat("before ", 9) + key + strings.Repeat(" after", 9)
		rows := map[string]string{
			"entities": everyByte("&#x%02x;", key), "Entities": everyByte("&#X%02X;", key), "decimal": everyByte("&#%d;", key), "padded": everyByte("&#%05d;", key),
			"html": html.EscapeString(key), "some entities": html.EscapeString(key[:half]) + everyByte("&#x%x;", key[half:]),
			"\\u": everyByte(`\u%04x`, key), "\\U": everyByte(`\u%04X`, key), "twice quoted": everyByte(`\\u%04x`, key), "some \\u": key[:half] + everyByte(`\u%04x`, key[half:]),
			"some %": key[:half] + everyByte("%%%02x", key[half:]), "mixed case": everyByte("%%%02x", key[:half]) + everyByte("%%%02X", key[half:]), "some \\x": everyByte(`\x%02X`, key[:half]) + key[half:],
			"octal": everyByte(`\%03o`, key), "\\U of 8": everyByte(`\U%08x`, key), "\\u{}": everyByte(`\u{%x}`, key), "a list of bytes": everyByte("0x%02x, ", key), "a list of numbers": everyByte("%d, ", key),
			"a line end": key[:half] + "\n" + key[half:], "a line end of Windows": key[:half] + "\r\n" + key[half:], "indented": key[:half] + "\n\t    " + key[half:],
			"continued": key[:half] + "\\\n" + key[half:], "in mail": key[:half] + "=\r\n" + key[half:], "a quoted line end": key[:half] + `\n` + key[half:], "one character a line": wrap(key, 1, "\n"),
			"wrapped hex": wrap(everyByte("%02x", key), 32, "\n"), "wrapped base32": wrap(base32.StdEncoding.EncodeToString([]byte(long)), 64, "\n"), "base32": base32.StdEncoding.EncodeToString([]byte(key)),
			"lower base32": strings.ToLower(base32.StdEncoding.EncodeToString([]byte("x" + key))),
		}
		for _, n := range []int{10, 60, 64, 70, 76} {
			for before := range 3 {
				text := []byte(strings.Repeat("x", before) + long)
				rows[fmt.Sprint("base64 at ", n, before)] = wrap(base64.StdEncoding.EncodeToString(text), n, "\n")
				rows[fmt.Sprint("base64url at ", n, before)] = wrap(base64.URLEncoding.EncodeToString(text), n, "\r\n")
			}
		}
		for name, text := range rows {
			text = "before: " + text + " :after"
			got, n := set.Redact([]byte(text))
			if n != 1 || !set.In([]byte(text)) || !strings.HasPrefix(string(got), "before: ") || !strings.HasSuffix(strings.Replace(string(got), ", :", " :", 1), " :after") {
				t.Errorf("%s: %d found: %q in %q", name, n, got, text)
			}
		}
	}
}

// Text without a secret stays, however many escapes and lines there are.
func TestNoFalseAlarms(t *testing.T) {
	set := secret.NewSet("password", "correct horse battery", "sk-proj-Ab3_9xQ7-zz81kLmN")
	for _, text := range []string{
		"pass\nword", "the pass\n   word", "%zz &nope; &#; &#x; &#xzz; &#99999999999; \\u12 \\xz \\", "100% of &co", "a=\nb", "\\\\\\\\", "%", "&", "\\", "sk-proj-\nsk-proj-", `\"`, `\/`, `\'a`, `\u{`, `\u{}`, `\u{zz}`, `\U0000`, `\u`, `\U`, `\x`, `\12`, `\400`, `\u{ffffffffff}`, "&lt;", "&#xe4;", `\xe4`, "%e4",
	} {
		if got, n := set.Redact([]byte(text)); n != 0 || string(got) != text {
			t.Errorf("%q: %d found: %q", text, n, got)
		}
	}
	if got, _ := set.Redact([]byte("x%20correct%20horse&#32;battery\u0020y pass\nword")); string(got) != "x%20[stripped:value]\u0020y pass\nword" {
		t.Errorf("%q", got)
	}
}

// FuzzRedact: only secrets are redacted, and only if In reports one.
func FuzzRedact(f *testing.F) {
	for _, text := range []string{"%41%42CDEFGHIJKLMNOP", "&#x41;BCDEFGH\nIJKLMNOP", `\u0041BCDEFGHIJK\n\tLMNOP`, "ABCDEFGHIJKLMNOPABCDEFGHIJKLMNOP", "=\n%", "\\"} {
		f.Add(text)
	}
	set := secret.NewSet("ABCDEFGHIJKLMNOP")
	f.Fuzz(func(t *testing.T, text string) {
		got, n := set.Redact([]byte(text))
		switch {
		case n > 0 && !set.In([]byte(text)):
			t.Errorf("%q holds a secret that In does not see", text)
		case n == 0 && string(got) != text:
			t.Errorf("%q became %q", text, got)
		case n > 0 && len(got) > len(text)-n*len("ABCDEFGHIJKLMNOP")+n*len("[stripped:value]"):
			t.Errorf("%q became %q", text, got)
		}
	})
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

// Messages lose values from four bytes on, in every spelling.
func TestRedactMessage(t *testing.T) {
	const key = "sk-proj-Ab3_9xQ7-zz81kLmN"
	text := "wrong key " + key + ", " + url.QueryEscape(key+"/") + " or h4s%68; abc stays"
	want := "wrong key [stripped:value], [stripped:value]%2F or [stripped:value]; abc stays"
	if got := secret.Redact(text, key, "h4sh", "abc", ""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIsCredential(t *testing.T) {
	for name, want := range map[string]bool{"X-Api-Key": true, "PGPASSWORD": true, "Authorization": true, "SENTRY_DSN": true, "Accept": false, "LANG": false} {
		if secret.IsCredential(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
	if got := secret.OfHeader("Bearer abc"); len(got) != 2 || got[1] != "abc" {
		t.Errorf("%q", got)
	}
}
