package codec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// What only one vendor has a block for, and others can read: a found page, a document made of texts. Its vendor
// gets the block, everybody else its words.

// ReadableBlock keeps a block with its readable text: titles and content, one per line. For a list, it is the texts of
// the list's blocks. A block without text is opaque.
func (d *Decoder) ReadableBlock(v, content []byte, names ...[]byte) llm.Text {
	said := func(s string) bool { return s != "" }
	var words, body []string
	for _, val := range names {
		words = append(words, d.Text(val))
	}
	if d.OneOf(content, `"[`, "a text or a list of blocks") {
		if js.Kind(content) == '"' {
			body = append(body, d.Text(content))
		}
		for el := range js.Elements(content) {
			body = append(body, d.Text(d.Get(el, "text")))
		}
	}
	if !slices.ContainsFunc(body, said) {
		return d.Opaque(v)
	}
	words = slices.DeleteFunc(append(words, body...), func(s string) bool { return !said(s) })
	return llm.Text{Text: strings.Join(words, "\n"), State: d.State(v)}
}

// OwnBlock returns the block for a text whose state is always a block. It returns nil if another vendor made the block
// and it has no readable text. It reports false for ordinary text.
func (e *Encoder) OwnBlock(t llm.Text) (json.RawMessage, bool) {
	if raw := e.OwnState(t.State); raw != nil {
		return raw, true
	}
	return e.Opaque(t)
}

// NotShown is the text of a result of which nothing can be carried: vendors refuse results that are an empty list, and the
// model would take an empty one for the answer.
const NotShown = "The result holds nothing that can be shown here."

// ReadableParts returns the parts of a result without the state of other vendors, and names those of which nothing can be read.
func (e *Encoder) ReadableParts(parts []llm.Part) []llm.Part {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { return e.ForeignText(p) || turns.IsMedia(p) }) {
		return parts
	}
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		if m, is := p.(llm.Media); is && e.ForeignFile(m) {
			continue
		}
		if t, is := p.(llm.Text); is && e.ForeignText(p) {
			if _, opaque := e.Opaque(t); opaque {
				continue
			}
			t.State = llm.State{}
			p = t
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		out = append(out, llm.Text{Text: NotShown})
	}
	return out
}

// NoOutput is the text of a failed result that has none, which Anthropic and Amazon refuse.
const NoOutput = "The tool failed and said nothing."

// WithoutNoOutput returns the parts of a result without our own words.
func WithoutNoOutput(r llm.Result) []llm.Part {
	if s, ok := PlainText(r.Parts); ok && r.Failed && s == NoOutput {
		return nil
	}
	return r.Parts
}

// SaysNothing reports whether a result has no parts, or only blank texts.
func SaysNothing(parts []llm.Part) bool {
	return !slices.ContainsFunc(parts, func(p llm.Part) bool {
		t, is := p.(llm.Text)
		return !is || strings.TrimSpace(t.Text) != "" || !t.State.IsZero()
	})
}
