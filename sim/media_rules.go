package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// mediaRules are the vendors' rules about types of media, each with its message.
var mediaRules = []VendorRule{
	{Name: "media.type", Formats: onMessages, check: mediaTypes(func(m llm.Media, i, k int) string {
		switch {
		case m.Kind == llm.Image && !slices.Contains(images, m.MIME):
			return fmt.Sprintf("messages.%d.content.%d.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", i, k)
		case m.Kind == llm.Document && m.MIME != "application/pdf" && m.MIME != "text/plain":
			return fmt.Sprintf("messages.%d.content.%d.document.source.base64.media_type: Input should be 'application/pdf'", i, k)
		}
		return ""
	})},
	{Name: "media.type", Formats: onChat, check: mediaTypes(func(m llm.Media, _, _ int) string {
		if m.Kind == llm.Image && !slices.Contains(images, m.MIME) {
			return "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."
		}
		return ""
	})},
	{Name: "media.type", Formats: onResponses, check: mediaTypes(func(m llm.Media, i, k int) string {
		if m.Kind == llm.Image && !slices.Contains(images, m.MIME) {
			return fmt.Sprintf("Invalid 'input[%d].content[%d].image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got unsupported MIME type '%s'.", i, k, m.MIME)
		}
		return ""
	})},
	{Name: "media.type", Formats: onGemini, check: mediaTypes(func(m llm.Media, _, _ int) string {
		family, sub, _ := strings.Cut(m.MIME, "/")
		if sub == "" || !slices.Contains([]string{"image", "audio", "video", "text", "application"}, family) || m.MIME == "application/octet-stream" {
			return "Unsupported MIME type: " + m.MIME
		}
		return ""
	})},
	{Name: "media.type", Formats: onConverse, check: func(q *inquiry) string {
		var body struct {
			Messages []struct {
				Content []struct{ Image *struct{ Format string } }
			}
		}
		_ = json.Unmarshal(q.body, &body) // it has been read before
		for i, m := range body.Messages {
			for k, c := range m.Content {
				if c.Image != nil && !slices.Contains(images, "image/"+c.Image.Format) {
					return fmt.Sprintf("1 validation error detected: Value '%s' at 'messages.%d.member.content.%d.member.image.format' failed to satisfy constraint: Member must satisfy enum value set: [gif, jpeg, png, webp]", c.Image.Format, i+1, k+1)
				}
			}
		}
		return ""
	}},
}

// images are the types of images that vendors take.
var images = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// mediaTypes checks the media of a request whose bytes are in it, including media in results.
func mediaTypes(check func(m llm.Media, i, k int) string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.Messages {
			for k, p := range m.Parts {
				for _, media := range mediaOf(p) {
					if words := check(media, i, k); media.Data != nil && words != "" {
						return words
					}
				}
			}
		}
		return ""
	}
}

// mediaOf returns the media of a part.
func mediaOf(p llm.Part) []llm.Media {
	switch p := p.(type) {
	case llm.Media:
		return []llm.Media{p}
	case llm.Result:
		var all []llm.Media
		for _, inner := range p.Parts {
			all = append(all, mediaOf(inner)...)
		}
		return all
	}
	return nil
}
