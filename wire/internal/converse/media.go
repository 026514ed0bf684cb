package converse

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// formats are the vendor's words for media types that differ from the
// subtype.
var formats = []struct {
	kind         llm.MediaKind
	Format, mime string
}{
	{llm.Image, "jpeg", "image/jpg"},
	{llm.Document, "pdf", "application/pdf"},
	{llm.Document, txt, mediatype.PlainType},
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

// subtypes are the words of the vendor that are subtypes.
var subtypes = map[llm.MediaKind][]string{
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
	for _, f := range formats {
		if f.kind == m.Kind && (f.mime == mime || mime == "" && f.Format == subtype) {
			return f.Format
		}
	}
	for _, s := range subtypes[m.Kind] {
		if s == subtype {
			return s
		}
	}
	if mediatype.IsText(m) {
		return txt
	}
	return ""
}

// txt is the vendor's word for plain text, as which it gets all documents that are text.
const txt = "txt"

// document reports whether a medium reaches the vendor as a document: its bytes do, or where it is in S3.
func document(m llm.Media) bool {
	return m.Kind == llm.Document && (len(m.Data) > 0 || strings.HasPrefix(m.URL, codec.S3Scheme)) && (converseFormat(m) != "" || m.MIME == "")
}

// media are the media that a request can hold. Which sounds and videos a model takes differs.
var media = format.MediaTypes{llm.Image: mediatype.WebImages, llm.Document: append(converseTypes(llm.Document), format.AnyText)}

// converseTypes are the media types of a kind that have a name in this format.
func converseTypes(kind llm.MediaKind) (types []string) {
	for _, f := range formats {
		if f.kind == kind {
			types = append(types, f.mime)
		}
	}
	return types
}

// mIME is the reverse of converseFormat.
func mIME(kind llm.MediaKind, format string) string {
	for _, s := range subtypes[kind] {
		if s == format {
			return string(kind) + "/" + s
		}
	}
	for _, f := range formats {
		if f.kind == kind && f.Format == format {
			return f.mime
		}
	}
	if format == "" {
		return ""
	}
	return string(kind) + "/" + format
}

func (c Format) EncodeMedia(e *codec.Encoder, m llm.Media) {
	kind, formatName := string(m.Kind), converseFormat(m)
	stored := strings.HasPrefix(m.URL, codec.S3Scheme)
	if m.Kind == llm.Document && !document(m) {
		if t, said := e.DocumentText(m); said {
			c.EncodeText(e, t)
			return
		}
	}
	switch {
	case len(m.Data) == 0 && !stored:
		e.Lost(llm.Ignored, kind, "the converse format takes bytes and addresses of S3 only")
		return
	case formatName == "" && (m.Kind != llm.Document || m.MIME != ""):
		e.Lost(llm.Ignored, kind, "the converse format does not take "+cmp.Or(m.MIME, "media of an unknown type"))
		return
	}
	fields := e.OwnExtra(m.Extra)
	start := e.Object()
	inner := e.ObjectField(kind)
	e.OptString("format", formatName)
	if m.Kind == llm.Document {
		if mime := mediatype.BareType(m); formatName == txt && mime != mediatype.PlainType && mime != "" {
			e.Lost(llm.Degraded, "document type", "the converse format does not take "+mime+", which is sent as plain text")
		}
		e.StringField("name", documentName(e, m.Name, formatName))
	}
	e.ObjectField("source")
	switch {
	case len(m.Data) == 0:
		e.ObjectField("s3Location")
		e.StringField("uri", m.URL)
		if owner := fields[codec.OwnerField]; owner != nil {
			e.RawField(codec.OwnerField, owner)
		}
		e.End()
	case js.Is(fields[codec.SourceField], "text"):
		e.StringField("text", string(m.Data))
	default:
		e.StringField("bytes", codec.Base64Text(m.Data))
	}
	e.End()
	endBlock(e, start, inner, llm.Extra{e.Host.Format: codec.OmitFields(codec.OmitFields(fields, codec.SourceField), codec.OwnerField)})
}

const maxDocumentName = 200

// documentName returns a name that the vendor accepts: letters, digits, single spaces, hyphens, parentheses and
// brackets. The extension is dropped, because the type has it. The vendor refuses two documents with the same name in a
// request. Later documents are numbered in order, which keeps names stable while the conversation grows.
func documentName(e *codec.Encoder, name, format string) string {
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
		e.Lost(llm.Degraded, "document name", "the converse format takes letters, digits, spaces and -()[] only")
	}
	unique := unused(e, clean, first)
	if unique != first && whole != "" {
		e.Lost(llm.Degraded, "document name", "the converse format takes each name once; those after the first are numbered")
	}
	return unique
}

// unused returns the first name of a document that no other has: first, or the base with a number.
func unused(e *codec.Encoder, base, first string) string {
	if e.Documents == nil {
		e.Documents = make(map[string]int)
	}
	name := first
	for n := max(e.Documents[first], 1); e.Documents[name] > 0; {
		n++
		end := " " + strconv.Itoa(n)
		name = strings.TrimSpace(base[:min(len(base), maxDocumentName-len(end))]) + end
		e.Documents[first] = n // a hundred of one name are not counted a hundred times
	}
	e.Documents[name] = max(e.Documents[name], 1)
	return name
}

// decodeMedia reports false for sources that it cannot read, whose blocks are
// kept whole.
func decodeMedia(d *codec.Decoder, kind llm.MediaKind, v []byte, extra llm.Extra) (llm.Media, bool) {
	m := llm.Media{Kind: kind, Extra: extra}
	known := false
	for key, val := range d.Members(v) {
		switch string(key) {
		case "format":
			m.MIME = mIME(kind, d.Str(val))
		case "name":
			m.Name = d.Str(val)
		case "source":
			known = decodeSource(d, val, &m)
		default:
			d.ExtraField(&m.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	if m.MIME == "" && m.Extra[d.Host.Format][codec.SourceField] != nil {
		m.MIME = "text/plain"
	}
	return m, known
}

func decodeSource(d *codec.Decoder, v []byte, m *llm.Media) bool {
	known := false
	for key, val := range d.Members(v) {
		switch string(key) {
		case "bytes":
			m.Data = d.Data(val)
			known = len(m.Data) > 0
		case "text":
			m.Data = []byte(d.Str(val))
			d.ExtraField(&m.Extra, codec.SourceField, []byte(`"text"`))
			known = len(m.Data) > 0
		case "s3Location":
			m.URL = d.Str(d.Get(val, "uri"))
			d.KeepUnread(&m.Extra, val, converseStored, string(m.Kind))
			if owner := d.Get(val, codec.OwnerField); owner != nil {
				d.ExtraField(&m.Extra, codec.OwnerField, owner)
			}
			known = strings.HasPrefix(m.URL, codec.S3Scheme)
		}
	}
	if known {
		d.KeepUnread(&m.Extra, v, converseSource, string(m.Kind))
	}
	return known
}
