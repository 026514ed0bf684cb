package text

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// print writes an answer that was read completely.
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

// entry writes text after a label and indents further lines.
func entry(b *strings.Builder, label, text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n          ")
	fmt.Fprintf(b, "%s  %s\n", label, text)
}

// origin describes the dialect of a call, whether a marker announced it, and its repairs.
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
