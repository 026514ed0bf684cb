package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/clip"
)

// Revealed makes every character of a text visible. Control characters, invisible characters and characters that change
// the direction of text are replaced by pictures or numbers. Newlines are kept.
func Revealed(text string) string {
	if !strings.ContainsFunc(text, Unseen) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !Unseen(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("⇥   ")
		case r < ' ':
			b.WriteRune('␀' + r)
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// Unseen reports whether a character is invisible or misleading: control and format characters, characters that change
// direction or have no width, and spaces that look like another space.
func Unseen(r rune) bool {
	return r != '\n' && (!unicode.IsGraphic(r) || r != ' ' && unicode.Is(unicode.Zs, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u2800')
}

// ShellLine returns a command in the syntax of a shell. Quotes show where each argument begins and ends.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// plainWord holds the characters without a special meaning in a shell.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=%@:,./^"

func ShellWord(w string) string {
	switch {
	case w != "" && strings.Trim(w, plainWord) == "":
		return w
	case !strings.ContainsFunc(w, func(r rune) bool { return r == '\n' || Unseen(r) }):
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range w {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x80 && Unseen(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case Unseen(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case Unseen(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + "'"
}

// InOneLine returns the beginning of a text in one line, without characters that control a terminal.
func InOneLine(text string) string {
	return OneLine(strings.Join(strings.Fields(Printable(text)), " "), 100)
}

// OneLine returns text without control characters, shortened to n runes.
func OneLine(text string, n int) string {
	return clip.Runes(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text), n)
}

// Printable replaces control characters by pictures. The output of a model can then not move the cursor or change the
// colours of the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// WholeRunes returns the length of text without an incomplete character at its end.
func WholeRunes(text string) int {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}
