package wire

import (
	"cmp"
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// mediaURL returns where a medium is: its address, or its bytes as an address.
func mediaURL(m llm.Media) string {
	if m.URL != "" {
		return m.URL
	}
	return "data:" + cmp.Or(m.MIME, "application/octet-stream") + ";base64," + base64Text(m.Data)
}

// url reads an address; one that holds the bytes gives the bytes.
func (d *decoder) url(v []byte, m *llm.Media) {
	s := d.str(v)
	scheme, rest, ok := strings.Cut(s, ":")
	ok = ok && strings.EqualFold(scheme, "data")
	mime, data, found := strings.Cut(rest, ";base64,")
	if !ok || !found {
		m.URL = s
		return
	}
	b, ok := unbase64(data)
	if !ok {
		d.want(v, "a data URL with base64")
	}
	m.MIME, m.Data = lowerType(mime), b
}

// audioNames are the words of the OpenAI formats that differ from the
// subtype of the media type.
var audioNames = map[string]string{"audio/mpeg": "mp3", "audio/x-wav": "wav", "audio/wave": "wav"}

func audioFormat(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	if name, ok := audioNames[mime]; ok {
		return name
	}
	return strings.TrimPrefix(mime, "audio/")
}

func audioMIME(format string) string {
	switch format = strings.ToLower(format); format {
	case "":
		return ""
	case "mp3":
		return "audio/mpeg"
	}
	return "audio/" + format
}

// mediaKind guesses the kind of a medium from its type.
func mediaKind(mime string) llm.MediaKind {
	kind, _, _ := strings.Cut(mime, "/")
	switch kind {
	case "image":
		return llm.Image
	case "audio":
		return llm.Audio
	case "video":
		return llm.Video
	}
	return llm.Document
}

// urlTypes are the types of media by the end of their address, where nothing
// else says what they are.
var urlTypes = map[string]string{
	".heic": "image/heic", ".heif": "image/heif", ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".svg": "image/svg+xml", ".avif": "image/avif",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": pdfType, ".txt": plainType, ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".htm": "text/html", ".json": "application/json", ".xml": "application/xml",
	".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".ppt": "application/vnd.ms-powerpoint", ".rtf": "application/rtf", ".zip": "application/zip",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".mp3":  "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
}

// ownFile is the state of a file that a client wrote in another way than the vendor of the format wants it: it stays as it is
// where the format does.
const ownFile = `{"type":"file"}`

// pdfBytes reports whether a file is what all hosts of the chat format take.
func pdfBytes(m llm.Media) bool { return bareType(m) == pdfType && len(m.Data) > 0 && m.ID == "" }

// fileTypes are the ends of names by the type of a file.
var fileTypes = map[string]string{pdfType: ".pdf", plainType: ".txt", "text/markdown": ".md", "text/csv": ".csv", "text/html": ".html",
	"application/json": ".json", "application/xml": ".xml", "application/zip": ".zip"}

// fileName returns the name of a file. OpenAI wants one where the bytes are sent, and knows the type by it.
func (e *encoder) fileName(m llm.Media) string {
	if m.Kind != llm.Document || len(m.Data) == 0 || e.own(m.State) != nil || path.Ext(m.Name) != "" {
		return m.Name
	}
	return cmp.Or(m.Name, "document") + fileTypes[bareType(m)]
}

// isOwnFile reports whether a client of the same format wrote a medium as a file.
func (e *encoder) isOwnFile(m llm.Media) bool { return string(e.own(m.State)) == ownFile }

// asWhatItIs gives what was sent as a file the kind of its type: clients send images, sounds and films as files too. Images that few can look at, like
// drawings in text, stay documents.
func asWhatItIs(d *decoder, m *llm.Media) {
	typ := bareType(*m)
	family, _, _ := strings.Cut(typ, "/")
	kind := llm.MediaKind(family)
	if m.Kind != llm.Document || kind != llm.Audio && kind != llm.Video && !(slices.Contains(webImages, typ) && len(m.Data) > 0) {
		return
	}
	m.Kind, m.State = kind, d.state([]byte(ownFile))
}
