package cli

import "testing"

// TestLookAlikes: letters that look like ASCII letters, and combining marks, are shown by number in names. Ordinary text
// of other languages stays readable.
func TestLookAlikes(t *testing.T) {
	for _, c := range []struct{ in, name, text string }{
		{"rm -rf docs/a.txt", "rm -rf docs/a.txt", "rm -rf docs/a.txt"},
		{"p\u0430ypal.com", "p⟨U+0430⟩ypal.com", "p⟨U+0430⟩ypal.com"},
		{"\u0441\u043e\u0440\u0443", "⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩⟨U+0443⟩", "сору"},
		{"./\u0441\u043e\u0440\u0443.sh", "./⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩⟨U+0443⟩.sh", "./сору.sh"},
		{"\u0430.txt", "⟨U+0430⟩.txt", "а.txt"},
		{"\u03bfpen", "⟨U+03BF⟩pen", "⟨U+03BF⟩pen"},
		{"\u04cf\u0455", "⟨U+04CF⟩⟨U+0455⟩", "\u04cf\u0455"}, // ls
		{"\ua4e1\ua4e2", "⟨U+A4E1⟩⟨U+A4E2⟩", "\ua4e1\ua4e2"},
		{"\u2ca3\u2ca5", "⟨U+2CA3⟩⟨U+2CA5⟩", "\u2ca3\u2ca5"},
		{"./\u0563\u057d\u0578", "./⟨U+0563⟩⟨U+057D⟩⟨U+0578⟩", "./\u0563\u057d\u0578"},
		{"adm\u0131n", "adm⟨U+0131⟩n", "adm⟨U+0131⟩n"},
		{"\uff52\uff4d", "⟨U+FF52⟩⟨U+FF4D⟩", "ｒｍ"},
		{"\U0001d5cb\U0001d5c6", "⟨U+1D5CB⟩⟨U+1D5C6⟩", "⟨U+1D5CB⟩⟨U+1D5C6⟩"},
		{"a\u2044b", "a⟨U+2044⟩b", "a⁄b"},
		{"e\u0301tat", "e⟨U+0301⟩tat", "e⟨U+0301⟩tat"},
		{"a\u0338b", "a⟨U+0338⟩b", "a⟨U+0338⟩b"},
		{"Ünïcode 漢字 T恤 日本語", "Ünïcode 漢字 T恤 日本語", "Ünïcode 漢字 T恤 日本語"},
		{"папка/файл", "папка/файл", "папка/файл"},
		{"Привет, как дела? Это о нас.", "Привет, как дела? Это о нас.", "Привет, как дела? Это о нас."},
		{"नमस्ते दुनिया", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"สวัสดี", "สวัสดี", "สวัสดี"},
		{"a\u202eb", "a⟨U+202E⟩b", "a⟨U+202E⟩b"},
	} {
		if got := RevealedName(c.in); got != c.name {
			t.Errorf("name %q: %s, want %s", c.in, got, c.name)
		}
		if got := RevealedText(c.in); got != c.text {
			t.Errorf("text %q: %s, want %s", c.in, got, c.text)
		}
	}
}
