package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// inCell replaces line breaks and tabs, which would break a table, by spaces.
var inCell = strings.NewReplacer("\n", " ", "\t", " ")

// PrintTable prints rows in aligned columns and colours answers by their meaning. (text/tabwriter would count the
// colours as letters.) Each row is one line, even if its cells contain newlines.
func PrintTable(w io.Writer, indent string, rows [][]string) error {
	p := Colours(w)
	var widths []int
	for _, row := range rows {
		for i, s := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			row[i] = inCell.Replace(s)
			widths[i] = max(widths[i], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(indent)
		for i, s := range row {
			b.WriteString(shade(p, s))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s)+2))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shade colours an answer by its meaning.
func shade(p Palette, s string) string {
	switch {
	case s == "yes*" || s == "yes" || strings.HasPrefix(s, "yes unless "):
		return p.Green(s)
	case s == "no":
		return p.Yellow(s)
	case s == "?" || s == "unknown":
		return p.Dim(s)
	}
	return s
}
