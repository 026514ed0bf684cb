package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/llm"
)

// print writes an answer that was read whole.
func (a *parseAnswer) print(out answerSink) error {
	for _, part := range a.parts {
		var err error
		switch part := part.(type) {
		case llm.Thinking:
			err = out.said(true, part.Text)
		case llm.Text:
			err = out.said(false, part.Text)
		case llm.Call:
			err = out.called(part)
		}
		if err != nil {
			return err
		}
	}
	return out.end(a)
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
