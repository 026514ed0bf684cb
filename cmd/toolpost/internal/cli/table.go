package cli

import (
	"io"
	"os"
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

// State colours the state of a run.
func (p Palette) State(s string) string {
	switch strings.TrimSpace(s) {
	case "sealed", "agrees":
		return p.Green(s)
	case "open":
		return p.Yellow(s)
	}
	return p.Red(s)
}

// Palette colours words on a terminal and leaves them unchanged elsewhere.
type Palette struct{ On bool }

// Colours returns the palette for w. It is on only if w is a terminal and NO_COLOR is not set.
func Colours(w io.Writer) Palette {
	f, ok := w.(*os.File)
	return Palette{ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(f)}
}

func (p Palette) Paint(code, s string) string {
	if !p.On || s == "" || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p Palette) Bold(s string) string { return p.Paint("1", s) }

func (p Palette) Dim(s string) string { return p.Paint("2", s) }

func (p Palette) Red(s string) string { return p.Paint("31", s) }

func (p Palette) Green(s string) string { return p.Paint("32", s) }

func (p Palette) Yellow(s string) string { return p.Paint("33", s) }

func (p Palette) Cyan(s string) string { return p.Paint("36", s) }
