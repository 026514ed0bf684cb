package cli

import (
	"io"
	"os"
	"strings"
)

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
