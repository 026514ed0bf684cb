// Package pages reads the files, commands and output that documents show. It is for tests that follow a document like
// its reader.
package pages

import (
	"regexp"
	"strings"
)

// Fence is a block of a document between lines of three backticks.
type Fence struct {
	Kind string // the word after the opening backticks
	Line int    // of the document where the text begins, counted from 1
	Text string
}

// Fences returns the fences of a document, in order.
func Fences(text string) []Fence {
	var found []Fence
	inside := false
	for i, line := range strings.Split(text, "\n") {
		kind, mark := strings.CutPrefix(line, "```")
		switch {
		case mark && !inside:
			found = append(found, Fence{Kind: strings.TrimSpace(kind), Line: i + 2})
		case inside && !mark:
			found[len(found)-1].Text += line + "\n"
		}
		inside = inside != mark
	}
	return found
}

// Command is a command that a document shows, with its output.
type Command struct {
	Line   int // of the document
	Text   string
	Output []string // nil if the document shows no output
}

// Commands returns the commands of a fence: lines that begin with "$ ". A backslash at the end continues a command in
// the next line.
func (f Fence) Commands() []Command {
	var found []Command
	more := false
	for i, line := range strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n") {
		last := len(found) - 1
		switch command, ok := strings.CutPrefix(line, "$ "); {
		case more:
			found[last].Text += "\n" + line
			more = strings.HasSuffix(line, `\`)
		case ok:
			found = append(found, Command{Line: f.Line + i, Text: command})
			more = strings.HasSuffix(line, `\`)
		case last >= 0:
			found[last].Output = append(found[last].Output, line)
		}
	}
	return found
}

// Matches reports whether got is the output that a document shows. A line "…" in want matches any number of lines;
// durations and ids of runs may differ.
func Matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "…" {
		for i := range len(got) + 1 {
			if Matches(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && Timeless(want[0]) == Timeless(got[0]) && Matches(want[1:], got[1:])
}

// varying matches text that differs in every run: durations and ids of runs.
var varying = regexp.MustCompile(`<?\b\d+(\.\d)? m?s\b|\b\d+m\d+s\b|<1 ms|\b\d{8}-\d{6}-[a-z2-7]{8}\b`)

// Timeless returns a line without the text that differs in every run.
func Timeless(line string) string {
	return varying.ReplaceAllString(strings.TrimRight(line, " "), "*")
}
