package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// RevealedName is like Revealed for a text that holds names, paths, hosts or programs. It also shows by number the
// letters that look like ASCII letters, and combining marks:
//
//   - in a word with ASCII letters, every letter of a script that resembles Latin;
//   - in a name without ASCII letters, all letters if each of them looks like an ASCII letter;
//   - letters and punctuation that are variants of ASCII.
func RevealedName(text string) string { return reveal(text, true) }

// RevealedText is like Revealed for prose and file content. It shows by number the letters of other scripts only in
// words with ASCII letters, and combining marks that belong to no script.
func RevealedText(text string) string { return reveal(text, false) }

func reveal(text string, name bool) string {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < 0x80
	}
	if plain {
		return Revealed(text)
	}
	var b strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); {
		end := i
		for end < len(runes) && inWord(runes[end], name) {
			end++
		}
		if end == i {
			b.WriteString(shown(runes[i], false))
			i++
			continue
		}
		revealWord(&b, runes[i:end], name)
		i = end
	}
	return b.String()
}

// revealWord writes a word, or a name with its dots and slashes.
func revealWord(b *strings.Builder, word []rune, name bool) {
	latin, letters, alike := false, 0, 0
	for _, r := range word {
		switch {
		case r < 0x80:
			latin = latin || unicode.IsLetter(r)
		case unicode.IsLetter(r):
			letters++
			if strings.ContainsRune(likeASCII, r) {
				alike++
			}
		}
	}
	whole := name && letters == alike && (letters > 1 || letters == 1 && len(word) > 1)
	for _, r := range word {
		resembles := unicode.In(r, resembling...) || unicode.Is(latinVariants, r)
		mark := r >= 0x80 && (unicode.Is(unicode.M, r) && unicode.Is(unicode.Inherited, r) ||
			unicode.IsLetter(r) && (latin && resembles || whole && resembles) ||
			unicode.Is(styled, r) || letterlike(r) || name && len(word) > 1 && (wide(r) || punctuation[r]))
		b.WriteString(shown(r, mark))
	}
}

func shown(r rune, number bool) string {
	if number && !Unseen(r) {
		return fmt.Sprintf("⟨U+%04X⟩", r)
	}
	return Revealed(string(r))
}

// inWord reports whether a character is part of a word, or of a name.
func inWord(r rune, name bool) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) || r == '_' ||
		name && (strings.ContainsRune("-./:@~", r) || punctuation[r])
}

// resembling are the scripts with letters that look like Latin letters.
var resembling = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Coptic, unicode.Armenian, unicode.Cherokee, unicode.Lisu, unicode.Georgian}

// likeASCII are the letters of other scripts that look like an ASCII letter, script by script.
const likeASCII = "аеорсухѕіјһԁԛԝүАВЕКМНОРСТУХЅІЈԚԜӏӀѵѴѡҽЬҮԌ" +
	"οανυρικγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳσϹͿϜ" +
	"ⲟⲣⲥⲭⲩⲂⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬ" +
	"օսցոհզգքյռՍՕ" +
	"ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃᎡᎥᎽᏀᏂᏎᏏᏔᏕᏧᏮᏻꮃꮓꮩꮪꮯ" +
	"ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"

// latinVariants are Latin letters that are neither ASCII nor a letter with an accent.
var latinVariants = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0131, Hi: 0x0131, Stride: 1}, {Lo: 0x01bd, Hi: 0x01bd, Stride: 1}, {Lo: 0x0237, Hi: 0x0237, Stride: 1}, {Lo: 0x0250, Hi: 0x02af, Stride: 1},
	{Lo: 0x1d00, Hi: 0x1d7f, Stride: 1}, {Lo: 0xa730, Hi: 0xa77f, Stride: 1},
}}

// styled are ASCII letters and digits in mathematical and similar styles.
var styled = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x24b6, Hi: 0x24e9, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1d400, Hi: 0x1d7ff, Stride: 1}, {Lo: 0x1f130, Hi: 0x1f189, Stride: 1}},
}

// letterlike reports whether r is a letter among the letterlike symbols.
func letterlike(r rune) bool { return r >= 0x2100 && r <= 0x214f && unicode.IsLetter(r) }

// wide reports whether r is the wide variant of an ASCII character.
func wide(r rune) bool { return r >= 0xff01 && r <= 0xff5e }

// punctuation holds the characters that look like the punctuation of names.
var punctuation = map[rune]bool{'\u2010': true, '\u2011': true, '\u2012': true, '\u2013': true, '\u2212': true, '\u2024': true, '\u2044': true, '\u2215': true,
	'\u2236': true, '\u29f8': true, '\ua789': true, '\u02d0': true, '\u0589': true, '\u05c3': true, '\u2223': true, '\u01c3': true}
