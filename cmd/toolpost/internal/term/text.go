package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// LastLines returns the last n lines of a text, for temporary output.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(cli.Printable(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Wrap breaks text into lines of at most width cells. The first line has a mark; the others are indented by its width.
func Wrap(text string, width int, mark string, style func(string) string) []string {
	room := max(4, width-ansi.StringWidth(mark))
	indent := strings.Repeat(" ", ansi.StringWidth(mark))
	var out []string
	for _, line := range strings.Split(ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), room, ""), "\n") {
		out = append(out, mark+style(line))
		mark = indent
	}
	return out
}

func Plainly(s string) string { return s }
