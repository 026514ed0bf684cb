package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// inCell puts a space for what would end a line of a table or move a column.
var inCell = strings.NewReplacer("\n", " ", "\t", " ")

// PrintTable writes rows in columns that line up, and colours answers by their
// meaning. (text/tabwriter would count the colours as letters.) A row is one
// line, whatever its names hold.
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
