package provider

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// mediaLeft replaces a message or a result that has no content left. Vendors refuse
// messages without content, and a model would take an empty result for the answer.
const mediaLeft = "(What was attached here cannot be shown.)"

// sniffMedia gives media without a type the type of their bytes. Vendors refuse media of no type, in
// words that do not name the medium, so a medium that cannot be recognised is refused here.
func (p planner) sniffMedia() {
	for i, msg := range p.req.Messages {
		if slices.ContainsFunc(msg.Parts, untyped) {
			p.req.Messages[i].Parts = p.sniffMediaIn(msg.Parts)
		}
	}
}

// untyped reports whether a part holds media of no type whose bytes are here.
func untyped(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Media:
		return len(p.Data) > 0 && (p.MIME == "" || p.Kind == "")
	case llm.Result:
		return !p.Hosted && slices.ContainsFunc(p.Parts, untyped)
	}
	return false
}

// sniffMediaIn returns a copy of parts in which all media have a type.
func (j *job) sniffMediaIn(parts []llm.Part) []llm.Part {
	out := slices.Clone(parts)
	for i, part := range out {
		switch part := part.(type) {
		case llm.Result:
			part.Parts = j.sniffMediaIn(part.Parts)
			out[i] = part
		case llm.Media:
			if !untyped(part) {
				continue
			}
			if part.MIME == "" {
				part.MIME = detected(part)
			}
			kind, _, _ := strings.Cut(part.MIME, "/")
			switch {
			case part.MIME == "application/octet-stream":
				j.refuse(llm.Invalid, "provider.Stream", "the type of %s cannot be told from its %d bytes: set Media.MIME", mediaWords(part), len(part.Data))
			case part.Kind == "" && slices.Contains(mediaKinds, llm.MediaKind(kind)):
				part.Kind = llm.MediaKind(kind)
			case part.Kind == "":
				part.Kind = llm.Document
			case part.Kind != llm.Document && string(part.Kind) != kind:
				j.refuse(llm.Invalid, "provider.Stream", "%s has bytes of the type %s: set Media.Kind or Media.MIME", mediaWords(part), part.MIME)
			}
			out[i] = part
		}
	}
	return out
}

var mediaKinds = []llm.MediaKind{llm.Image, llm.Audio, llm.Video}

// mediaWords names a medium.
func mediaWords(m llm.Media) string {
	what := "a medium"
	if m.Kind != "" {
		what = "a medium of kind " + string(m.Kind)
	}
	if m.Name != "" {
		what += fmt.Sprintf(" called %.100q", m.Name)
	}
	return what
}

// detected returns the type of a medium by its name, if it is a document, or by its bytes.
func detected(m llm.Media) string {
	if m.Kind == llm.Document {
		return fileType(m)
	}
	mime, _, _ := strings.Cut(http.DetectContentType(m.Data), ";")
	switch {
	case mime == "application/ogg" && m.Kind == llm.Audio, mime == "video/webm" && m.Kind == llm.Audio, mime == "video/mp4" && m.Kind == llm.Audio:
		return "audio/" + mime[strings.Index(mime, "/")+1:]
	case mime == "application/ogg" && m.Kind == llm.Video:
		return "video/ogg"
	case m.Kind == llm.Audio && len(m.Data) > 1 && m.Data[0] == 0xff && m.Data[1]&0xe0 == 0xe0: // an MPEG frame without a tag
		return "audio/mpeg"
	}
	return mime
}

// mediaTypes leaves out the media that the vendor does not take, from turns of the user and from results. Each type is a
// warning.
func (p planner) mediaTypes() {
	types := p.bounds().Media
	if p.asIs { // it is left to the maker of a format to refuse what a client wrote for it
		types = p.vendor.bounds.Media
	}
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
func takenParts(parts []llm.Part, types format.MediaTypes, left func(llm.MediaKind, string)) []llm.Part {
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
