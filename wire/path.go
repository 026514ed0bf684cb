package wire

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/internal/wire/names"
)

// Path returns where requests for a model go, below the root of the API's
// version: "chat/completions" below "https://api.openai.com/v1".
func (c Codec) Path(model string, stream bool) string { return placeOf(c.place(stream), model) }

// CountPath returns the path at which hosts of the format count the tokens of a request, and ""
// if they do not.
func (c Codec) CountPath(model string) string { return placeOf(c.Properties().Count.Path, model) }

// placeOf returns a path with the name of the model in its place.
func placeOf(place, model string) string {
	before, after, found := strings.Cut(place, names.ModelMark)
	if !found {
		return place
	}
	// Some vendors put a collection before the name of the model: models/NAME.
	model = strings.TrimPrefix(model, before[strings.LastIndexByte(strings.TrimSuffix(before, "/"), '/')+1:])
	return before + escapeSegment(model) + after
}

// escapeSegment escapes a name for use in a path. It escapes more than necessary, as Amazon's clients do, because
// signatures cover the escaped path.
func escapeSegment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~@", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// SplitPath returns the model in the unescaped path of a request, and whether the path asks for a stream. It is the
// reverse of [Codec.Path] for formats whose properties have ModelInPath. The beginning of the path is ignored.
func (c Codec) SplitPath(path string) (model string, stream, ok bool) {
	if !c.Properties().ModelInPath() {
		return "", false, false
	}
	for _, stream := range []bool{false, true} {
		place, _, _ := strings.Cut(c.place(stream), "?")
		before, after, _ := strings.Cut(place, names.ModelMark)
		_, rest, found := strings.Cut(path, "/"+before)
		if model, ends := strings.CutSuffix(rest, after); found && ends && model != "" {
			return model, stream, true
		}
	}
	return "", false, false
}

// place returns the path with a mark for the model.
func (c *Codec) place(stream bool) string {
	p := c.Properties()
	if stream && p.StreamPath != "" {
		return p.StreamPath
	}
	return p.Path
}
