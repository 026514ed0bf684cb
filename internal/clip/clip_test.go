package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/clip"
)

const (
	accent = "cafe\u0301s"                      // é in two runes
	family = "a👨\u200d👩\u200d👧b"                // three people, joined
	thumb  = "ok 👍\U0001F3FD!"                  // with a skin tone
	flags  = "🇩🇪🇫🇷"                             // two flags
	hangul = "\u1112\u1161\u11ab\u1100\u1173"   // two syllables of jamo
	zalgo  = "z\u0301\u0302\u0303\u0304\u0305z" // many marks
)

func TestClip(t *testing.T) {
	for _, c := range []struct{ why, got, want string }{
		{"short text stays", clip.Bytes("abc", 3), "abc"},
		{"bytes", clip.Bytes("abcd", 3), "abc…"},
		{"between runes", clip.Bytes("aéé", 4), "aé…"},
		{"nothing fits", clip.Bytes("é", 1), "…"},
		{"no room", clip.Bytes("abc", 0), "…"},
		{"an accent stays on its letter", clip.Bytes(accent, 4), "caf…"},
		{"a whole accent", clip.Bytes(accent, 6), "cafe\u0301…"},
		{"joined emoji", clip.Bytes(family, 12), "a…"},
		{"skin tone", clip.Bytes(thumb, 7), "ok …"},
		{"half of a flag", clip.Bytes(flags, 4), "…"},
		{"a whole flag", clip.Bytes(flags, 8), "🇩🇪…"},
		{"the second flag", clip.Bytes(flags, 12), "🇩🇪…"},
		{"Hangul syllables", clip.Bytes(hangul, 12), "\u1112\u1161\u11ab…"},
		{"marks", clip.Bytes(zalgo, 5), "…"},
		{"line ends", clip.Bytes("a\r\nb", 2), "a…"},
		{"runes", clip.Runes("äöüß", 3), "äö…"},
		{"as many runes", clip.Runes("äöüß", 4), "äöüß"},
		{"runes of a character", clip.Runes(accent, 5), "caf…"},
		{"one rune", clip.Runes("abc", 1), "…"},
		{"a line", clip.Line(" a\n b\tc ", 4), "a b…"},
		{"words", clip.Words("Reads a file, and returns it.", 16), "Reads a file…"},
		{"a long word", clip.Words(strings.Repeat("x", 40), 20), strings.Repeat("x", 19) + "…"},
		{"short words stay", clip.Words("Reads  a file.", 20), "Reads a file."},
		{"middle", clip.Middle("aaaaabbbbbccccc", 10, 5), "aaaaa … [5 bytes left out] … ccccc"},
		{"the middle of characters", clip.Middle("xx"+accent+accent+"yy", 10, 4), "xxcaf … [10 bytes left out] … syy"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, not %q", c.why, c.got, c.want)
		}
	}
}

func FuzzClip(f *testing.F) {
	for _, text := range []string{accent, family, thumb, flags, hangul, zalgo, "\xff\xfe", strings.Repeat("\u0301", 200)} {
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 || n > 1000 {
			return
		}
		valid := utf8.ValidString(text)
		short := clip.Bytes(text, n)
		if len(short) > n+len("…") || (short == text) != (len(text) <= n) && short != text || valid && !utf8.ValidString(short) {
			t.Errorf("%d bytes of %q: %q", n, text, short)
		}
		if !strings.HasPrefix(text, strings.TrimSuffix(short, "…")) {
			t.Errorf("%d bytes of %q: %q is another text", n, text, short)
		}
		if short := clip.Runes(text, n); utf8.RuneCountInString(short) > n {
			t.Errorf("%d runes of %q: %q", n, text, short)
		}
		if long := clip.Middle(text, n, n/3); valid && !utf8.ValidString(long) {
			t.Errorf("the ends of %q: %q", text, long)
		}
	})
}
