package term

import (
	"fmt"
	"strings"
)

// diffLine is a line of a difference. Its mark is ' ' for an unchanged line, '+', '-', or '@' for a position in the
// file.
type diffLine struct {
	Mark byte
	Text string
}

// around is how many unchanged lines are shown before and after a change.
const around = 3

// maxTable limits the work of finding common lines. Above it, everything between the first and the last difference
// counts as changed.
const maxTable = 4 << 20

// Difference returns the lines that differ between two texts, with a few unchanged lines around them.
func Difference(before, after string) []diffLine {
	a, b := TextLines(before), TextLines(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var all []diffLine
	for _, line := range a[:head] {
		all = append(all, diffLine{' ', line})
	}
	all = append(all, aligned(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail:] {
		all = append(all, diffLine{' ', line})
	}
	return hunks(all)
}

// TextLines splits a text into lines. It marks a missing newline at the end.
func TextLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !strings.HasSuffix(text, "\n") {
		lines[len(lines)-1] += " ⟨no newline⟩"
	}
	return lines
}

// aligned returns the changes from a to b. It keeps the longest common sequence of lines.
func aligned(a, b []string) []diffLine {
	var out []diffLine
	if len(a)*len(b) > maxTable {
		for _, line := range a {
			out = append(out, diffLine{'-', line})
		}
		for _, line := range b {
			out = append(out, diffLine{'+', line})
		}
		return out
	}
	width := len(b) + 1
	kept := make([]int32, (len(a)+1)*width) // the longest common sequence of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				kept[i*width+j] = kept[(i+1)*width+j+1] + 1
			} else {
				kept[i*width+j] = max(kept[(i+1)*width+j], kept[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && kept[(i+1)*width+j] >= kept[i*width+j+1]:
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}

// hunks drops unchanged lines that are far from any change, and adds the positions of the rest.
func hunks(all []diffLine) []diffLine {
	near := make([]bool, len(all))
	for i, line := range all {
		if line.Mark != ' ' {
			for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
				near[k] = true
			}
		}
	}
	var out []diffLine
	at := 1 // line number in the old file
	for i, line := range all {
		if near[i] {
			if i > 0 && !near[i-1] {
				out = append(out, diffLine{'@', fmt.Sprintf("line %d", at)})
			}
			out = append(out, line)
		}
		if line.Mark != '+' {
			at++
		}
	}
	return out
}
