package wire

import (
	"encoding/base64"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// mediaURL returns where a medium is: its address, or its bytes as an address.
func mediaURL(m llm.Media) string {
	if m.URL != "" {
		return m.URL
	}
	return "data:" + or(m.MIME, "application/octet-stream") + ";base64," + base64Text(m.Data)
}

// url reads an address; one that holds the bytes gives the bytes.
func (d *decoder) url(v []byte, m *llm.Media) {
	s := d.str(v)
	rest, ok := strings.CutPrefix(s, "data:")
	mime, data, found := strings.Cut(rest, ";base64,")
	if !ok || !found {
		m.URL = s
		return
	}
	b, ok := unbase64(data)
	if !ok {
		d.want(v, "a data URL with base64")
	}
	m.MIME, m.Data = mime, b
}

// audioNames are the words of the OpenAI formats that differ from the
// subtype of the media type.
var audioNames = map[string]string{"audio/mpeg": "mp3", "audio/x-wav": "wav", "audio/wave": "wav"}

func audioFormat(mime string) string {
	if name, ok := audioNames[mime]; ok {
		return name
	}
	return strings.TrimPrefix(mime, "audio/")
}

func audioMIME(format string) string {
	switch format {
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
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
}
