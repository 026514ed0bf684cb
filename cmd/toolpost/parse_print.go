package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/llm"
)

// print writes the answer for people: one entry per part, in the order of the
// text, then what could not be read.
func (a parseAnswer) print(w io.Writer) error {
	c := colours(w)
	var b strings.Builder
	for _, part := range a.parts {
		switch part := part.(type) {
		case llm.Thinking:
			entry(&b, c.dim("thinking"), c.dim(printable(part.Text)))
		case llm.Text:
			if strings.TrimSpace(part.Text) != "" {
				entry(&b, "text    ", printable(part.Text))
			}
		case llm.Call:
			entry(&b, c.green("call    "), c.bold(printable(part.Name))+" "+printable(string(part.Args)))
			entry(&b, "        ", c.dim(origin(part.Provenance)))
		}
	}
	for _, bad := range a.Invalid {
		entry(&b, c.red("invalid "), c.bold(printable(bad.Name))+" ("+string(bad.Reason)+"): "+printable(bad.Problem))
		entry(&b, "        ", c.dim(origin(bad.Provenance)))
	}
	for _, warn := range a.Warnings {
		entry(&b, c.yellow("warning "), printable(warn.Detail))
	}
	if b.Len() == 0 {
		b.WriteString("nothing was written\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// entry writes text behind a label, its further lines indented.
func entry(b *strings.Builder, label, text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n          ")
	fmt.Fprintf(b, "%s  %s\n", label, text)
}

// printable shows control characters as pictures, so that what a model wrote
// cannot move the cursor or change colours of the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// origin says in which dialect a call was written, whether a marker announced
// it, and what was repaired.
func origin(p llm.Provenance) string {
	var words []string
	if p.Dialect != "" {
		words = append(words, p.Dialect, string(p.Source()))
	}
	for _, r := range p.Repairs {
		words = append(words, fmt.Sprintf("repaired %s (%v)", r.Rule, r.Class))
	}
	return strings.Join(words, ", ")
}
