// Package mediatype finds the media type of a part and names the types that several vendors accept.
package mediatype

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// The types of plain text and of PDF.
const (
	PlainType = "text/plain"
	PDFType   = "application/pdf"
)

// The types of images and sounds that several makers take.
var (
	WebImages    = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	OpenAISounds = []string{"audio/wav", "audio/mpeg"}
)

// BareType returns the type of a medium in small letters and without parameters. The end of an address tells what nothing else
// does.
func BareType(m llm.Media) string {
	mime, _, _ := strings.Cut(strings.ToLower(m.MIME), ";")
	if mime = strings.TrimSpace(mime); mime == "" {
		address, _, _ := strings.Cut(m.URL, "?")
		mime = urlTypes[strings.ToLower(path.Ext(address))]
	}
	return mime
}

// textTypes are media types of text documents that do not begin with text/.
var textTypes = []string{
	"json", "xml", "yaml", "x-yaml", "csv", "toml", "x-toml", "javascript", "x-javascript", "ecmascript", "typescript", "x-typescript",
	"x-ndjson", "ndjson", "jsonl", "x-jsonlines", "json5", "sql", "x-sql", "graphql", "x-sh", "x-shellscript", "x-python", "x-httpd-php", "x-tex", "x-latex",
}

// IsText reports whether the bytes of a document are text that a model can read.
func IsText(m llm.Media) bool {
	if m.Kind != llm.Document || len(m.Data) == 0 && (m.URL != "" || m.ID != "") {
		return false
	}
	mime := BareType(m)
	sub, application := strings.CutPrefix(mime, "application/")
	text := strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+json") || strings.HasSuffix(mime, "+xml") || strings.HasSuffix(mime, "+yaml") ||
		application && slices.Contains(textTypes, sub)
	return text && utf8.Valid(m.Data)
}

// urlTypes maps the extension of a URL to a media type. It is used if the type is not known otherwise.
var urlTypes = map[string]string{
	".heic": "image/heic", ".heif": "image/heif", ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".svg": "image/svg+xml", ".avif": "image/avif",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": PDFType, ".txt": PlainType, ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".htm": "text/html", ".json": "application/json", ".xml": "application/xml",
	".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint", ".rtf": "application/rtf", ".zip": "application/zip",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".mp3":  "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
}
