package format

import (
	"slices"

	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/llm"
)

// MediaTypes are the media types that a vendor takes, by kind. A kind that is missing is not bounded; one with an empty list
// is not taken at all.
type MediaTypes map[llm.MediaKind][]string

// AnyText, in a list of MediaTypes, allows all types of text documents. They are written as plain text.
const AnyText = "text"

// sameTypes are types that have another name in the lists.
var sameTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png", "application/x-pdf": "application/pdf",
	"audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/mp3": "audio/mpeg",
}

// Takes returns the type of a medium as it is in the list, and whether the vendor accepts it. A medium of unknown type
// is accepted. So are files stored at the vendor and documents with a URL, which the format writes in its own way.
func (t MediaTypes) Takes(m llm.Media) (mime string, ok bool) {
	types, bounded := t[m.Kind]
	mime = mediatype.BareType(m)
	if same, is := sameTypes[mime]; is {
		mime = same
	}
	switch {
	case !bounded:
		return m.MIME, true
	case len(types) == 0:
		return mime, false
	case m.ID != "" || mime == "" || m.Kind == llm.Document && m.URL != "":
		return m.MIME, true
	case slices.Contains(types, mime):
		return mime, true
	}
	return mime, slices.Contains(types, AnyText) && mediatype.IsText(m)
}
