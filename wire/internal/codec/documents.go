package codec

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/llm"
)

// Fields of a medium: how its source was written, and who owns where it is.
const (
	SourceField = "source"
	OwnerField  = "bucketOwner"
	S3Scheme    = "s3://"
)

// EmptyDocument is what the model is told of a document in which nothing stands: vendors refuse empty texts.
const EmptyDocument = "(This document is empty.)"

// cacheMarks are the extra fields of a document that its text may have as well.
var cacheMarks = map[string]bool{"cache_control": true, CachePoint: true}

// DocumentText returns text in place of a document that the format does not accept: the text of the document, or its
// URL. It adds a warning. It reports false if neither is known.
func (e *Encoder) DocumentText(m llm.Media) (llm.Text, bool) {
	text := ""
	switch {
	case m.Kind != llm.Document || m.ID != "":
		return llm.Text{}, false
	case m.URL != "" && len(m.Data) == 0:
		e.Lost(llm.Degraded, "document", "the "+e.Host.Format+" format does not take this file by its address; the model is told the address")
		text = m.URL
	case mediatype.IsText(m):
		e.Lost(llm.Degraded, "document", "the "+e.Host.Format+" format does not take this file; the text of the document is said as text")
		if text = string(m.Data); strings.TrimSpace(text) == "" {
			text = EmptyDocument
		}
	default:
		return llm.Text{}, false
	}
	if m.Name != "" {
		text = m.Name + "\n" + text
	}
	return llm.Text{Text: text, Extra: e.markOf(m.Extra)}, true
}

// HasNoSource reports whether a medium has no bytes, URL or id.
func HasNoSource(m llm.Media) bool { return len(m.Data) == 0 && m.URL == "" && m.ID == "" }

// WithoutEmptyMedia returns parts with a text in place of documents that are empty, for a format that takes no medium without bytes or an address.
// It names the other such media, which it leaves out.
func (e *Encoder) WithoutEmptyMedia(parts []llm.Part) []llm.Part {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { m, is := p.(llm.Media); return is && HasNoSource(m) }) {
		return parts
	}
	var out []llm.Part
	for _, p := range parts {
		m, is := p.(llm.Media)
		if !is || !HasNoSource(m) {
			out = append(out, p)
		} else if t, said := e.DocumentText(m); said {
			out = append(out, t)
		} else {
			e.Lost(llm.Ignored, string(m.Kind), "there are no bytes of it, and no address")
		}
	}
	return out
}

// markOf returns what the text of a document keeps of its extra fields, and notes the others.
func (e *Encoder) markOf(x llm.Extra) llm.Extra {
	var kept llm.Extra
	fields := e.OwnExtra(x)
	for _, key := range js.Keys(fields) {
		switch {
		case cacheMarks[key]:
			kept = llm.Extra{e.Host.Format: {key: fields[key]}} // a format has one of them
		case !strings.HasPrefix(key, loss.Restated) && key != SourceField:
			e.LostField(e.Host.Format, key, fields[key], "the document is said as text")
		}
	}
	return kept
}

// LowerType returns a media type with type and subtype in lower case. Parameters are unchanged.
func LowerType(mime string) string {
	bare, params, found := strings.Cut(mime, ";")
	bare = strings.ToLower(strings.TrimSpace(bare))
	if found {
		return bare + ";" + params
	}
	return bare
}
