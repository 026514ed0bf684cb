package mcpbridge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// redact removes the secrets of Options from text.
func (s *Servers) redact(text string) string {
	out, _ := s.options.Secrets.RedactValues(text)
	return out
}

// redactTool removes our secrets from the definition of a tool. It reports whether the
// tool can be used then: a name or a schema that holds one cannot be repaired.
func (s *Servers) redactTool(d ServerTool) (ServerTool, bool) {
	for _, text := range []string{d.Name, string(d.Input), string(d.Output)} {
		if s.redact(text) != text {
			return d, false
		}
	}
	d.Title, d.Description = s.redact(d.Title), s.redact(d.Description)
	return d, true
}

// readList asks the server for its tools, and takes our secrets out of the answer
// before anybody is shown it or remembers it.
func (l *remote) readList(ctx context.Context, session *mcp.ClientSession) (*listing, error) {
	list, err := readList(ctx, l.Name, session)
	if err != nil || l.host.options.Secrets == nil {
		return list, err
	}
	var defs []ServerTool
	left := list.left
	for _, d := range list.defs {
		clean, ok := l.host.redactTool(d)
		if !ok {
			left = append(left, Notice{Server: l.Name, Tool: d.Name, Text: "is left out: its definition holds a secret of yours"})
			continue
		}
		defs = append(defs, clean)
	}
	out := newListing(defs)
	out.left, out.ttl, out.at = left, list.ttl, list.at
	return out, nil
}
