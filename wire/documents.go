package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// emptyDocument is what the model is told of a document in which nothing stands: vendors refuse empty texts.
const emptyDocument = "(This document is empty.)"

// cacheMarks are the extra fields of a document that its text may have as well.
var cacheMarks = map[string]bool{"cache_control": true, cachePoint: true}

// saidDocument returns the text that stands for a document where the format has no place for such a document: what it says, or where it is.
// It notes which, and reports false for documents of which neither is known.
func (e *encoder) saidDocument(m llm.Media) (llm.Text, bool) {
	text := ""
	switch {
	case m.Kind != llm.Document || m.ID != "":
		return llm.Text{}, false
	case m.URL != "" && len(m.Data) == 0:
		e.lost(llm.Degraded, "document", "the "+e.c.Format+" format does not take this file by its address; the model is told the address")
		text = m.URL
	case isText(m):
		e.lost(llm.Degraded, "document", "the "+e.c.Format+" format does not take this file; the text of the document is said as text")
		if text = string(m.Data); strings.TrimSpace(text) == "" {
			text = emptyDocument
		}
	default:
		return llm.Text{}, false
	}
	if m.Name != "" {
		text = m.Name + "\n" + text
	}
	return llm.Text{Text: text, Extra: e.markOf(m.Extra)}, true
}

// nowhere reports whether there are no bytes of a medium, and nothing says where it is.
func nowhere(m llm.Media) bool { return len(m.Data) == 0 && m.URL == "" && m.ID == "" }

// saidNowhere returns parts with a text in place of documents that are empty, for a format that takes no medium without bytes or an address.
// It names the other such media, which it leaves out.
func (e *encoder) saidNowhere(parts []llm.Part) []llm.Part {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { m, is := p.(llm.Media); return is && nowhere(m) }) {
		return parts
	}
	var out []llm.Part
	for _, p := range parts {
		m, is := p.(llm.Media)
		if !is || !nowhere(m) {
			out = append(out, p)
		} else if t, said := e.saidDocument(m); said {
			out = append(out, t)
		} else {
			e.lost(llm.Ignored, string(m.Kind), "there are no bytes of it, and no address")
		}
	}
	return out
}

// markOf returns what the text of a document keeps of its extra fields, and notes the others.
func (e *encoder) markOf(x llm.Extra) llm.Extra {
	var kept llm.Extra
	fields := e.ownExtra(x)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case cacheMarks[key]:
			kept = llm.Extra{e.c.Format: {key: fields[key]}} // a format has one of them
		case !strings.HasPrefix(key, restated) && key != sourceField:
			e.lostField(e.c.Format, key, fields[key], "the document is said as text")
		}
	}
	return kept
}

// lowerType returns a media type as other code compares it: type and subtype in small letters. Parameters stay as they are.
func lowerType(mime string) string {
	bare, params, found := strings.Cut(mime, ";")
	bare = strings.ToLower(strings.TrimSpace(bare))
	if found {
		return bare + ";" + params
	}
	return bare
}
