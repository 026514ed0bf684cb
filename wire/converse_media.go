package wire

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// converseFormats are the vendor's words for media types that differ from the
// subtype.
var converseFormats = []struct {
	kind         llm.MediaKind
	format, mime string
}{
	{llm.Image, "jpeg", "image/jpg"},
	{llm.Document, "pdf", "application/pdf"},
	{llm.Document, converseTxt, plainType},
	{llm.Document, "md", "text/markdown"},
	{llm.Document, "csv", "text/csv"},
	{llm.Document, "html", "text/html"},
	{llm.Document, "doc", "application/msword"},
	{llm.Document, "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{llm.Document, "xls", "application/vnd.ms-excel"},
	{llm.Document, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{llm.Video, "mov", "video/quicktime"},
	{llm.Video, "mkv", "video/x-matroska"},
	{llm.Video, "flv", "video/x-flv"},
	{llm.Video, "wmv", "video/x-ms-wmv"},
	{llm.Video, "three_gp", "video/3gpp"},
	{llm.Audio, "mp3", "audio/mpeg"},
	{llm.Audio, "wav", "audio/x-wav"},
	{llm.Audio, "mkv", "audio/x-matroska"},
}

// converseSubtypes are the words of the vendor that are subtypes.
var converseSubtypes = map[llm.MediaKind][]string{
	llm.Image: {"png", "jpeg", "gif", "webp"},
	llm.Video: {"mp4", "webm", "mpeg", "mpg"},
	llm.Audio: {"opus", "wav", "aac", "flac", "mp4", "ogg", "mka", "x-aac", "m4a", "mpga", "pcm", "webm"},
}

// converseFormat returns the vendor's word for the type of a medium, and "" if
// there is none. The name of a file tells where nothing else does.
func converseFormat(m llm.Media) string {
	mime, _, _ := strings.Cut(strings.ToLower(m.MIME), ";")
	mime = strings.TrimSpace(mime)
	subtype := strings.TrimPrefix(mime, string(m.Kind)+"/")
	if mime == "" {
		subtype = strings.TrimPrefix(strings.ToLower(path.Ext(cmp.Or(m.URL, m.Name))), ".")
		if subtype == "jpg" {
			subtype = "jpeg"
		}
	}
	for _, f := range converseFormats {
		if f.kind == m.Kind && (f.mime == mime || mime == "" && f.format == subtype) {
			return f.format
		}
	}
	for _, s := range converseSubtypes[m.Kind] {
		if s == subtype {
			return s
		}
	}
	if isText(m) {
		return converseTxt
	}
	return ""
}

// converseTxt is the vendor's word for plain text, as which it gets all documents that are text.
const converseTxt = "txt"

// converseDocument reports whether a medium reaches the vendor as a document: its bytes do, or where it is in S3.
func converseDocument(m llm.Media) bool {
	return m.Kind == llm.Document && (len(m.Data) > 0 || strings.HasPrefix(m.URL, s3Scheme)) && (converseFormat(m) != "" || m.MIME == "")
}

// converseMedia are the media that a request can hold. Which sounds and videos a model takes differs.
var converseMedia = MediaTypes{llm.Image: webImages, llm.Document: append(converseTypes(llm.Document), AnyText)}

// converseTypes are the media types of a kind that have a word of their own.
func converseTypes(kind llm.MediaKind) (types []string) {
	for _, f := range converseFormats {
		if f.kind == kind {
			types = append(types, f.mime)
		}
	}
	return types
}

// converseMIME is the reverse of converseFormat.
func converseMIME(kind llm.MediaKind, format string) string {
	for _, s := range converseSubtypes[kind] {
		if s == format {
			return string(kind) + "/" + s
		}
	}
	for _, f := range converseFormats {
		if f.kind == kind && f.format == format {
			return f.mime
		}
	}
	if format == "" {
		return ""
	}
	return string(kind) + "/" + format
}

// Fields of a medium: how its source was written, and who owns where it is.
const (
	sourceField = "source"
	ownerField  = "bucketOwner"
	s3Scheme    = "s3://"
)

func (c converse) encodeMedia(e *encoder, m llm.Media) {
	kind, format := string(m.Kind), converseFormat(m)
	stored := strings.HasPrefix(m.URL, s3Scheme)
	if m.Kind == llm.Document && !converseDocument(m) {
		if t, said := e.saidDocument(m); said {
			c.encodeText(e, t)
			return
		}
	}
	switch {
	case len(m.Data) == 0 && !stored:
		e.lost(llm.Ignored, kind, "the converse format takes bytes and addresses of S3 only")
		return
	case format == "" && (m.Kind != llm.Document || m.MIME != ""):
		e.lost(llm.Ignored, kind, "the converse format does not take "+cmp.Or(m.MIME, "media of an unknown type"))
		return
	}
	fields := e.ownExtra(m.Extra)
	start := e.Object()
	e.Key(kind)
	inner := e.Object()
	e.optString("format", format)
	if m.Kind == llm.Document {
		if mime := bareType(m); format == converseTxt && mime != plainType && mime != "" {
			e.lost(llm.Degraded, "document type", "the converse format does not take "+mime+", which is sent as plain text")
		}
		e.StringField("name", c.documentName(e, m.Name, format))
	}
	e.Key("source")
	e.Object()
	switch {
	case len(m.Data) == 0:
		e.Key("s3Location")
		e.Object()
		e.StringField("uri", m.URL)
		if owner := fields[ownerField]; owner != nil {
			e.RawField(ownerField, owner)
		}
		e.End()
	case js.Is(fields[sourceField], "text"):
		e.StringField("text", string(m.Data))
	default:
		e.StringField("bytes", base64Text(m.Data))
	}
	e.End()
	c.endBlock(e, start, inner, llm.Extra{e.c.Format: without(without(fields, sourceField), ownerField)})
}

const maxDocumentName = 200

// documentName returns a name that the vendor takes: letters, digits, spaces one
// at a time, hyphens, parentheses and brackets. The type says what the extension
// did. No two documents of a request have one name, which the vendor refuses:
// those after the first are numbered in order, so that a document keeps its name
// while the conversation grows.
func (converse) documentName(e *encoder, name, format string) string {
	whole := name
	if ext := path.Ext(name); format != "" && strings.EqualFold(ext, "."+format) {
		name = strings.TrimSuffix(name, ext)
	}
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(" -()[]", r) {
			return r
		}
		return '-'
	}, name)
	clean = strings.Join(strings.Fields(clean), " ")
	clean = strings.TrimSpace(clean[:min(len(clean), maxDocumentName)])
	first := clean
	if clean == "" {
		clean, first = "document", "document 1"
	}
	if first != whole {
		e.lost(llm.Degraded, "document name", "the converse format takes letters, digits, spaces and -()[] only")
	}
	unique := e.unused(clean, first)
	if unique != first && whole != "" {
		e.lost(llm.Degraded, "document name", "the converse format takes each name once; those after the first are numbered")
	}
	return unique
}

// unused returns the first name of a document that no other has: first, or the base with a number.
func (e *encoder) unused(base, first string) string {
	if e.documents == nil {
		e.documents = make(map[string]int)
	}
	name := first
	for n := max(e.documents[first], 1); e.documents[name] > 0; {
		n++
		end := " " + strconv.Itoa(n)
		name = strings.TrimSpace(base[:min(len(base), maxDocumentName-len(end))]) + end
		e.documents[first] = n // a hundred of one name are not counted a hundred times
	}
	e.documents[name] = max(e.documents[name], 1)
	return name
}

// decodeMedia reports false for sources that it cannot read, whose blocks are
// kept whole.
func (c converse) decodeMedia(d *decoder, kind llm.MediaKind, v []byte, extra llm.Extra) (llm.Media, bool) {
	m := llm.Media{Kind: kind, Extra: extra}
	known := false
	for key, val := range d.members(v) {
		switch string(key) {
		case "format":
			m.MIME = converseMIME(kind, d.str(val))
		case "name":
			m.Name = d.str(val)
		case "source":
			known = c.decodeSource(d, val, &m)
		default:
			d.extraNamed(&m.Extra, innerPrefix+string(key), val)
		}
	}
	if m.MIME == "" && m.Extra[d.c.Format][sourceField] != nil {
		m.MIME = "text/plain"
	}
	return m, known
}

func (converse) decodeSource(d *decoder, v []byte, m *llm.Media) bool {
	known := false
	for key, val := range d.members(v) {
		switch string(key) {
		case "bytes":
			m.Data = d.data(val)
			known = len(m.Data) > 0
		case "text":
			m.Data = []byte(d.str(val))
			d.extraNamed(&m.Extra, sourceField, []byte(`"text"`))
			known = len(m.Data) > 0
		case "s3Location":
			m.URL = d.str(d.get(val, "uri"))
			d.unread(&m.Extra, val, converseStored, string(m.Kind))
			if owner := d.get(val, ownerField); owner != nil {
				d.extraNamed(&m.Extra, ownerField, owner)
			}
			known = strings.HasPrefix(m.URL, s3Scheme)
		}
	}
	if known {
		d.unread(&m.Extra, v, converseSource, string(m.Kind))
	}
	return known
}
