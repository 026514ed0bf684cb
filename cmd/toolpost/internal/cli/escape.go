package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// Revealed returns text in which every character can be seen: control characters,
// invisible ones and those that change the direction of text are written as their
// numbers. Newlines stay.
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

// Unseen reports whether a character leaves no mark of its own: control and
// format characters, those that change direction or have no width, and spaces
// that look like another one.
func Unseen(r rune) bool {
	return r != '\n' && (!unicode.IsGraphic(r) || r != ' ' && unicode.Is(unicode.Zs, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u2800')
}

// ShellLine writes a command as a shell would have to be given it, so that it
// can be seen where each argument begins and ends.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// plainWord are the characters that mean nothing to a shell.
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
