package view

import (
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/invoke"
)

// QuestionLines describes a question. The arguments are shown in full, because the approver has to see them.
func QuestionLines(p cli.Palette, q invoke.Question) []string {
	plain := func(text string) string { return text }
	lines := theirs(p.Cyan(cli.InOneLine(q.CallID))+" "+p.Bold(cli.InOneLine(q.Tool))+" ", string(q.Args), plain)
	switch {
	case q.Prompt > 0:
		lines = append(lines, theirs(p.Yellow("asks: "), q.Message, plain)...)
		if q.Repeats != "" {
			lines = append(lines, p.Yellow("the tool had begun: to answer calls it again, and what it did may happen twice"))
		}
		lines = append(lines, theirs(p.Dim("the answer matches "), string(q.Schema), p.Dim)...)
	case q.Why() != "":
		lines = append(lines, theirs("", q.Why(), p.Dim)...)
	}
	if q.Runs != "" {
		lines = append(lines, theirs(p.Dim("runs "), q.Runs, plain)...)
	}
	if q.Hides() {
		lines = append(lines, p.Yellow("not shown whole: "+secret.MarkPrefix+"…] hides what looks like a secret, and may be anything"))
	}
	if !q.Until.IsZero() {
		lines = append(lines, p.Dim("refused without a decision before "+q.Until.Local().Format("2006-01-02 15:04:05")))
	}
	return lines
}

// theirs returns the lines of a foreign text after a head. All lines except the first have a mark, which prevents them
// from imitating lines of Toolpost.
func theirs(head, text string, style func(string) string) []string {
	lines := strings.Split(strings.TrimRight(cli.RevealedName(text), "\n"), "\n")
	for i := range lines {
		lines[i] = style(lines[i])
		if i > 0 {
			lines[i] = "│ " + lines[i]
		}
	}
	lines[0] = head + lines[0]
	return lines
}
