package provider

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// mediaLeft replaces a message or a result that has no content left. Vendors refuse
// messages without content, and a model would take an empty result for the answer.
const mediaLeft = "(What was attached here cannot be shown.)"

// mediaTypes leaves out the media that the vendor does not take, from turns of the user and from results. Each type is a
// warning.
func (p planner) mediaTypes() {
	types := p.bounds().Media
	if len(types) == 0 {
		return
	}
	left := func(kind llm.MediaKind, mime string) {
		detail := fmt.Sprintf("%s takes no %s in the %s format; it was left out", p.vendor.Name, typeWords(kind, mime), p.wire)
		same := func(w llm.Warning) bool { return w.Feature == string(kind) && w.Detail == detail }
		if !slices.ContainsFunc(p.warnings, same) {
			p.warn(llm.Ignored, string(kind), "%s", detail)
		}
	}
	for i, msg := range p.req.Messages {
		if users(msg) && slices.ContainsFunc(msg.Parts, holdsMedia) {
			p.req.Messages[i].Parts = takenParts(msg.Parts, types, left)
		}
	}
}

// typeWords names a kind of media and its type, which a client may have written at any length.
func typeWords(kind llm.MediaKind, mime string) string {
	if mime == "" {
		return string(kind)
	}
	return fmt.Sprintf("%s of the type %.100q", kind, mime)
}

func holdsMedia(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Media:
		return true
	case llm.Result:
		return !p.Hosted && slices.ContainsFunc(p.Parts, holdsMedia)
	}
	return false
}

// takenParts returns a copy of parts without the media that are not taken, which it tells left.
func takenParts(parts []llm.Part, types wire.MediaTypes, left func(llm.MediaKind, string)) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		switch part := p.(type) {
		case llm.Result:
			if holdsMedia(part) {
				part.Parts = takenParts(part.Parts, types, left)
				p = part
			}
		case llm.Media:
			part.MIME = fileType(part)
			mime, ok := types.Takes(part)
			if !ok {
				left(part.Kind, mime)
				continue
			}
			part.MIME = mime
			p = part
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		out = append(out, llm.Text{Text: mediaLeft})
	}
	return out
}

// fileTypes are the types of files by the end of their names.
var fileTypes = map[string]string{
	".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".json": "application/json",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

// fileType returns the type of a medium. Of a document that says none its name tells it, or how it begins.
func fileType(m llm.Media) string {
	mime := strings.ToLower(m.MIME)
	unknown := mime == "" || strings.HasPrefix(mime, "application/octet-stream") || strings.HasPrefix(mime, "binary/")
	if m.Kind != llm.Document || !unknown || len(m.Data) == 0 {
		return m.MIME
	}
	if t, known := fileTypes[strings.ToLower(path.Ext(m.Name))]; known {
		return t
	}
	return http.DetectContentType(m.Data)
}
