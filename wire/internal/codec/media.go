package codec

import (
	"cmp"
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/llm"
)

func Base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// MediaURL returns where a medium is: its address, or its bytes as an address.
func MediaURL(m llm.Media) string {
	if m.URL != "" {
		return m.URL
	}
	return "data:" + cmp.Or(m.MIME, "application/octet-stream") + ";base64," + Base64Text(m.Data)
}

// URL reads a URL. A data URL becomes its bytes.
func (d *Decoder) URL(v []byte, m *llm.Media) {
	s := d.Str(v)
	scheme, rest, ok := strings.Cut(s, ":")
	ok = ok && strings.EqualFold(scheme, "data")
	mime, data, found := strings.Cut(rest, ";base64,")
	if !ok || !found {
		m.URL = s
		return
	}
	b, ok := DecodeBase64(data)
	if !ok {
		d.Want(v, "a data URL with base64")
	}
	m.MIME, m.Data = LowerType(mime), b
}

// audioNames are the words of the OpenAI formats that differ from the
// subtype of the media type.
var audioNames = map[string]string{"audio/mpeg": "mp3", "audio/x-wav": "wav", "audio/wave": "wav"}

func AudioFormat(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	if name, ok := audioNames[mime]; ok {
		return name
	}
	return strings.TrimPrefix(mime, "audio/")
}

func AudioMIME(format string) string {
	switch format = strings.ToLower(format); format {
	case "":
		return ""
	case "mp3":
		return "audio/mpeg"
	}
	return "audio/" + format
}

// MediaKind guesses the kind of a medium from its type.
func MediaKind(mime string) llm.MediaKind {
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

// IsPDF reports whether a file is what all hosts of the chat format take.
func IsPDF(m llm.Media) bool {
	return mediatype.BareType(m) == mediatype.PDFType && len(m.Data) > 0 && m.ID == ""
}

// fileTypes are the ends of names by the type of a file.
var fileTypes = map[string]string{mediatype.PDFType: ".pdf", mediatype.PlainType: ".txt", "text/markdown": ".md", "text/csv": ".csv", "text/html": ".html",
	"application/json": ".json", "application/xml": ".xml", "application/zip": ".zip"}

// FileName returns the name of a file. OpenAI wants one where the bytes are sent, and knows the type by it.
func (e *Encoder) FileName(m llm.Media) string {
	if m.Kind != llm.Document || len(m.Data) == 0 || e.OwnState(m.State) != nil || path.Ext(m.Name) != "" {
		return m.Name
	}
	return cmp.Or(m.Name, "document") + fileTypes[mediatype.BareType(m)]
}

// IsOwnFile reports whether a client of the same format wrote a medium as a file.
func (e *Encoder) IsOwnFile(m llm.Media) bool { return string(e.OwnState(m.State)) == loss.OwnFile }

// KindFromType sets the kind of a file from its type, because clients also send images, audio and video as files. Image
// types that few models accept, like SVG, stay documents.
func KindFromType(d *Decoder, m *llm.Media) {
	typ := mediatype.BareType(*m)
	family, _, _ := strings.Cut(typ, "/")
	kind := llm.MediaKind(family)
	if m.Kind != llm.Document || kind != llm.Audio && kind != llm.Video && !(slices.Contains(mediatype.WebImages, typ) && len(m.Data) > 0) {
		return
	}
	m.Kind, m.State = kind, d.State([]byte(loss.OwnFile))
}
