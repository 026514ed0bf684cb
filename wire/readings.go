package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// What only one vendor has a block for, and others can read: a found page, a document made of texts. Its vendor
// gets the block, everybody else its words.

// reading keeps a block with what can be read of it: the names of the whole and its content, one a line. Of a list it is the
// texts of its blocks. A block whose content says nothing is opaque.
func (d *decoder) reading(v, content []byte, names ...[]byte) llm.Text {
	said := func(s string) bool { return s != "" }
	var words, body []string
	for _, val := range names {
		words = append(words, d.text(val))
	}
	if d.oneOf(content, `"[`, "a text or a list of blocks") {
		if js.Kind(content) == '"' {
			body = append(body, d.text(content))
		}
		for el := range js.Elements(content) {
			body = append(body, d.text(d.get(el, "text")))
		}
	}
	if !slices.ContainsFunc(body, said) {
		return d.opaque(v)
	}
	words = slices.DeleteFunc(append(words, body...), func(s string) bool { return !said(s) })
	return llm.Text{Text: strings.Join(words, "\n"), State: d.state(v)}
}

// block returns the block that a text stands for, in the formats of blocks, where the state of a text is always one: nil if
// nothing can be read of it and another vendor made it. It reports false for text that is text here.
func (e *encoder) block(t llm.Text) (json.RawMessage, bool) {
	if raw := e.own(t.State); raw != nil {
		return raw, true
	}
	return e.opaque(t)
}

// notShown is the text of a result of which nothing can be carried: vendors refuse results that are an empty list, and the
// model would take an empty one for the answer.
const notShown = "The result holds nothing that can be shown here."

// shown returns the parts of a result without the state of other vendors, and names those of which nothing can be read.
func (e *encoder) shown(parts []llm.Part) []llm.Part {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { return e.foreignText(p) || isMedia(p) }) {
		return parts
	}
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		if m, is := p.(llm.Media); is && e.foreignFile(m) {
			continue
		}
		if t, is := p.(llm.Text); is && e.foreignText(p) {
			if _, opaque := e.opaque(t); opaque {
				continue
			}
			t.State = llm.State{}
			p = t
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		out = append(out, llm.Text{Text: notShown})
	}
	return out
}

// noOutput is the text of a failed result that has none, which Anthropic and Amazon refuse.
const noOutput = "The tool failed and said nothing."

// withoutNoOutput returns the parts of a result without our own words.
func withoutNoOutput(r llm.Result) []llm.Part {
	if s, ok := plainText(r.Parts); ok && r.Failed && s == noOutput {
		return nil
	}
	return r.Parts
}

// saysNothing reports whether a result is empty as it stands: there are no parts, or only blank texts.
func saysNothing(parts []llm.Part) bool {
	return !slices.ContainsFunc(parts, func(p llm.Part) bool {
		t, is := p.(llm.Text)
		return !is || strings.TrimSpace(t.Text) != "" || !t.State.IsZero()
	})
}

// readings are the members of the blocks that [decoder.reading] keeps whose texts the part says, by where they stand.
var readings = map[string]bool{
	"title": true, "source": true, "content": true, "content[].text": true, "source.content": true, "source.content[].text": true,
	"searchResult.title": true, "searchResult.source": true, "searchResult.content": true, "searchResult.content[].text": true,
	"document.name": true, "document.source.content": true, "document.source.content[].text": true,
	// What others need not know.
	"type": true, "content[].type": true, "source.type": true, "source.content[].type": true, "document.format": true,
}

// maxNamed is how deep members are named one by one; what is below is one thing.
const maxNamed = 8
