package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// Original is the content of the answer of another server. A client of ours gets it with its resources, links,
// annotations and order, if it says no more than the outcome of the call does.
type Original struct {
	mu      sync.Mutex // a call that was given up may still end
	content []mcp.Content
	shown   tool.Output
}

type originalKey struct{}

// WithOriginal returns a context whose calls keep their original content.
func WithOriginal(ctx context.Context) (context.Context, *Original) {
	o := new(Original)
	return context.WithValue(ctx, originalKey{}, o), o
}

// Content returns the content of a result that the SDK has decoded, with all digits of its metadata.
func Content(res *mcp.CallToolResult) []mcp.Content {
	var x exact
	text, ok := res.Meta[rpc.ExactResult].(string)
	if !ok || json.Unmarshal([]byte(text), &x) != nil || len(x.Content) == 0 {
		return res.Content
	}
	var items []struct {
		Meta     mcp.Meta `json:"_meta"`
		Resource struct {
			Meta mcp.Meta `json:"_meta"`
		}
	}
	in := json.NewDecoder(bytes.NewReader(x.Content))
	in.UseNumber()
	if in.Decode(&items) != nil || len(items) != len(res.Content) {
		return res.Content
	}
	for i, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			c.Meta = items[i].Meta
		case *mcp.ImageContent:
			c.Meta = items[i].Meta
		case *mcp.AudioContent:
			c.Meta = items[i].Meta
		case *mcp.ResourceLink:
			c.Meta = items[i].Meta
		case *mcp.EmbeddedResource:
			if c.Meta = items[i].Meta; c.Resource != nil {
				c.Resource.Meta = items[i].Resource.Meta
			}
		}
	}
	return res.Content
}

// Keep keeps the content that the output of a call was made of, if the context wants it. hidden reports whether a text
// contains a secret.
func Keep(ctx context.Context, content []mcp.Content, out tool.Output, hidden func(string) bool) {
	o, ok := ctx.Value(originalKey{}).(*Original)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.content, o.shown = nil, tool.Output{}
	if len(content) <= MaxParts && !contains(content, hidden) {
		o.content, o.shown = content, out
	}
}

// contains reports whether the content contains a text that is hidden, beside the texts and data that make up the parts.
func contains(content []mcp.Content, hidden func(string) bool) bool {
	for _, c := range content {
		switch whole := c.(type) {
		case *mcp.TextContent:
			bare := *whole
			bare.Text, c = "", &bare
		case *mcp.ImageContent:
			bare := *whole
			bare.Data, c = nil, &bare
		case *mcp.AudioContent:
			bare := *whole
			bare.Data, c = nil, &bare
		case *mcp.EmbeddedResource:
			if whole.Resource != nil {
				bare, r := *whole, *whole.Resource
				r.Text, r.Blob, bare.Resource, c = "", nil, &r, &bare
			}
		}
		text, err := json.Marshal(c)
		if err != nil || hidden(string(text)) {
			return true
		}
	}
	return false
}

// contentFor returns the content for a client whose model would be shown the given parts. It is nil if they are not those
// of the answer: shortened, without secrets, or from elsewhere. A note of ours after them becomes a text of its own.
func (o *Original) contentFor(shown []llm.Part, hidden func(string) bool) []mcp.Content {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.content) == 0 {
		return nil
	}
	var texts []string
	var media []llm.Part
	for _, p := range o.shown.Parts {
		if t, ok := p.(llm.Text); ok {
			texts = append(texts, t.Text)
		} else {
			media = append(media, p)
		}
	}
	note := ""
	if len(texts) > 0 {
		if len(shown) == 0 {
			return nil
		}
		t, _ := shown[0].(llm.Text)
		rest, ok := strings.CutPrefix(t.Text, strings.Join(texts, "\n"))
		if !ok {
			return nil
		}
		note, shown = strings.TrimSpace(rest), shown[1:]
	}
	if len(shown) != len(media) || len(media) > 0 && !reflect.DeepEqual(shown, media) || contains(o.content, hidden) {
		return nil
	}
	out := make([]mcp.Content, len(o.content))
	for i, c := range o.content {
		if out[i] = c; !sendable(c) {
			out[i] = contentOf(partOf(c))
		}
	}
	if len(o.shown.Parts) > len(out) { // the structured result, which the answer does not repeat
		if t, ok := o.shown.Parts[len(o.shown.Parts)-1].(llm.Text); ok {
			out = append(out, &mcp.TextContent{Text: t.Text})
		}
	}
	if note != "" {
		out = append(out, &mcp.TextContent{Text: note})
	}
	return out
}

// sendable reports whether the content may be in a result, and the SDK writes it with all members that a client requires.
func sendable(c mcp.Content) bool {
	switch c := c.(type) {
	case *mcp.ResourceLink:
		return c.URI != "" && c.Name != ""
	case *mcp.EmbeddedResource:
		r := c.Resource
		return r != nil && r.URI != "" && (r.Text != "" || r.Blob != nil)
	case *mcp.TextContent, *mcp.ImageContent, *mcp.AudioContent:
		return true
	}
	return false // of other messages
}
