package toollist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// The bounds of a server's list.
const (
	MaxPages       = 200
	MaxTools       = 5000
	MaxListBytes   = 16 << 20
	MaxToolName    = 128
	maxDescription = 32 << 10
	maxSchema      = 256 << 10
	maxSchemaDepth = 64
	maxTTL         = 24 * 60 * 60 * 1000 // in milliseconds
)

// List is what a server offered at one time.
type List struct {
	Defs     []config.ServerTool
	Prints   map[string]journal.Hash // of each definition, by name
	Hash     journal.Hash            // of all, in any order
	TTL      time.Duration           // how long the list is valid according to the server; 0 if unknown
	At       time.Time
	Unusable []config.Notice // tools that cannot be used
	// Schemas are the input schemas as the server wrote them, by name. They may be missing.
	Schemas map[string]json.RawMessage
}

// New returns a list of definitions.
func New(defs []config.ServerTool) *List {
	l := &List{Defs: defs, Prints: make(map[string]journal.Hash, len(defs)), At: time.Now()}
	lines := make([]string, len(defs))
	for i, d := range defs {
		l.Prints[d.Name] = d.Fingerprint()
		lines[i] = d.Name + " " + string(l.Prints[d.Name])
	}
	slices.Sort(lines)
	l.Hash, _ = journal.HashValue(lines) // strings always have a hash
	return l
}

// NewClient returns a client for [readList].
func NewClient(us *mcp.Implementation, options *mcp.ClientOptions) *mcp.Client {
	c := mcp.NewClient(us, options)
	c.AddSendingMiddleware(setAside, survive)
	return c
}

// survive makes an error of a panic of the SDK: it cannot decode a question that is null.
func survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if recover() != nil {
				res, err = nil, errors.New("its answer cannot be read")
			}
		}()
		return next(ctx, method, req)
	}
}

// aside is a schema that the SDK does not look into: it writes and reads each schema
// of a list to find arguments that are also sent as headers, which takes more time
// and ten times more memory than all the rest of a list.
type aside struct{ schema any }

var errAside = errors.New("mcp: a schema that is set aside has no text")

// MarshalJSON implements [json.Marshaler] by failing: the SDK takes that for a schema
// without headers.
func (aside) MarshalJSON() ([]byte, error) { return nil, errAside }

// sentKey is the key, in the context of a list, of what the server sent: a *[]*mcp.Tool.
type sentKey struct{}

// setAside keeps schemas without such arguments from the SDK, and notes what the
// server sent, of which the SDK leaves out what it cannot use.
func setAside(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && list != nil {
			if sent, ok := ctx.Value(sentKey{}).(*[]*mcp.Tool); ok {
				*sent = slices.Clone(list.Tools)
			}
			for _, t := range list.Tools {
				if t != nil && t.InputSchema != nil && !hasHeaders(t.InputSchema, 0) {
					t.InputSchema = aside{t.InputSchema}
				}
			}
		}
		return res, err
	}
}

// hasHeaders reports whether a schema may name arguments that are also sent as headers.
func hasHeaders(v any, above int) bool {
	if above > maxSchemaDepth {
		return true // the validation refuses it later
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if name == "x-mcp-header" || hasHeaders(e, above+1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasHeaders(e, above+1) })
	}
	return false
}

// Page is a page of a server's list.
type Page struct {
	Tools    []*mcp.Tool
	Schemas  []json.RawMessage // of Tools, as the server wrote them; may be empty
	Unusable []config.Notice   // tools that could not be read
	Next     string            // the cursor of the next page; "" after the last one
	TTL      time.Duration
}

// ReadPages reads all pages of a server's list. An unusable tool is left out and
// reported; an endless list is an error.
func ReadPages(server string, read func(cursor string) (Page, error)) (*List, error) {
	var defs []config.ServerTool
	var unusable []config.Notice
	var ttl time.Duration
	schemas := make(map[string]json.RawMessage)
	cursor, cursors := "", make(map[string]bool)
	taken, size := make(map[string]bool), 0
	for n := 1; ; n++ {
		if n > MaxPages {
			return nil, fmt.Errorf("its list of tools has more than %d pages", MaxPages)
		}
		page, err := read(cursor)
		if err != nil {
			return nil, err
		}
		unusable = append(unusable, page.Unusable...)
		for i, t := range page.Tools {
			d, err := Define(t)
			if err == nil && taken[d.Name] {
				err = errors.New("another tool has the same name")
			}
			if err != nil {
				unusable = append(unusable, config.Notice{Server: server, Tool: showName(t), Text: "is left out: " + err.Error()})
				continue
			}
			taken[d.Name] = true
			if i < len(page.Schemas) {
				schemas[d.Name] = page.Schemas[i]
			}
			size += len(d.Description) + len(d.Input) + len(d.Output)
			defs = append(defs, d)
		}
		if len(defs)+len(unusable) > MaxTools || size > MaxListBytes {
			return nil, fmt.Errorf("it has more than %d tools or %d bytes of definitions", MaxTools, MaxListBytes)
		}
		if page.TTL > 0 {
			ttl = page.TTL
		}
		if page.Next == "" {
			break
		}
		if cursors[page.Next] {
			return nil, errors.New("the pages of its list of tools go round in a circle")
		}
		cursor, cursors[page.Next] = page.Next, true
	}
	l := New(defs)
	l.Unusable, l.TTL, l.Schemas = unusable, ttl, schemas
	return l, nil
}

// Read asks a server for all its tools.
func Read(ctx context.Context, server string, session *mcp.ClientSession) (*List, error) {
	if c := session.InitializeResult().Capabilities; c == nil || c.Tools == nil {
		return New(nil), nil // a server without tools need not answer
	}
	return ReadPages(server, func(cursor string) (Page, error) {
		var sent []*mcp.Tool
		res, err := session.ListTools(context.WithValue(ctx, sentKey{}, &sent), &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return Page{}, err
		}
		page := Page{Tools: res.Tools, Next: res.NextCursor, TTL: time.Duration(min(max(res.TTLMs, 0), maxTTL)) * time.Millisecond}
		for _, t := range res.Tools {
			if t != nil && t.Meta[rpc.TaskOnly] == true && !RunsTasks(session) {
				t.Meta[rpc.Unusable] = "it runs only as a task, and the server does not offer tasks in revision " + session.InitializeResult().ProtocolVersion
			}
		}
		for _, t := range sent {
			if len(sent) != len(res.Tools) && !slices.Contains(res.Tools, t) {
				page.Unusable = append(page.Unusable, config.Notice{Server: server, Tool: showName(t), Text: "is left out: it cannot be used, or wants arguments as headers in a way that is not allowed"})
			}
		}
		return page, nil
	})
}

// RunsTasks reports whether a server runs calls of tools as tasks.
func RunsTasks(session *mcp.ClientSession) bool {
	c := session.InitializeResult().Capabilities
	if c == nil || ServerDecides(session) {
		return c != nil
	}
	said, err := json.Marshal(c.Experimental[rpc.Tasks])
	var tasks struct {
		Requests struct {
			Tools struct {
				Call map[string]any `json:"call"`
			} `json:"tools"`
		} `json:"requests"`
	}
	return err == nil && json.Unmarshal(said, &tasks) == nil && tasks.Requests.Tools.Call != nil && session.InitializeResult().ProtocolVersion < rpc.Newest
}

// ServerDecides reports whether a server has the extension of the newest revision, in which it decides which calls run as
// tasks.
func ServerDecides(session *mcp.ClientSession) bool {
	c := session.InitializeResult().Capabilities
	if c == nil {
		return false
	}
	_, has := c.Extensions[rpc.TasksExtension]
	return has
}

// Define reads a definition within bounds.
func Define(t *mcp.Tool) (config.ServerTool, error) {
	if t == nil {
		return config.ServerTool{}, errors.New("there is nothing where a tool should be")
	}
	d := config.ServerTool{Name: t.Name, Title: t.Title, Description: t.Description}
	d.TaskOnly, _ = t.Meta[rpc.TaskOnly].(bool)
	why, bad := t.Meta[rpc.Unusable].(string)
	switch {
	case bad:
		return d, errors.New(clip.Bytes(rpc.PlainText(why), 200))
	case t.Name == "" || len(t.Name) > MaxToolName || !utf8.ValidString(t.Name):
		return d, fmt.Errorf("a name has 1 to %d characters", MaxToolName)
	case strings.ContainsFunc(t.Name, rpc.IsControl) || strings.ContainsFunc(t.Name, unicode.IsSpace):
		return d, errors.New("its name holds a character that cannot be seen")
	case len(t.Description) > maxDescription || len(t.Title) > maxDescription:
		return d, fmt.Errorf("its description has more than %d bytes", maxDescription)
	}
	d.Title, d.Description = rpc.PlainText(t.Title), rpc.PlainText(t.Description)
	var err error
	if d.Input, err = SchemaText(t.InputSchema); err != nil {
		return d, fmt.Errorf("its schema %w", err)
	}
	if d.Output, err = SchemaText(t.OutputSchema); err != nil {
		return d, fmt.Errorf("the schema of its output %w", err)
	}
	if a := t.Annotations; a != nil {
		d.ReadOnlyHint, d.IdempotentHint, d.DestructiveHint, d.OpenWorldHint = a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint, a.OpenWorldHint
	}
	return d, nil
}

// SchemaText returns a schema as canonical JSON, within bounds.
func SchemaText(schema any) (json.RawMessage, error) {
	if a, is := schema.(aside); is {
		schema = a.schema
	}
	if schema == nil {
		return nil, nil
	}
	if depth(schema, 0) > maxSchemaDepth {
		return nil, fmt.Errorf("is nested deeper than %d", maxSchemaDepth)
	}
	if _, is := schema.(map[string]any); !is {
		return nil, errors.New("is not an object")
	}
	text, err := json.Marshal(schema)
	if err == nil {
		text, err = journal.Canonical(text)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("has more than %d bytes", maxSchema)
	}
	return text, nil
}

// depth is how deep v is nested. It stops counting beyond the bound.
func depth(v any, above int) int {
	if above > maxSchemaDepth {
		return above
	}
	deepest := above
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e, above+1))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e, above+1))
		}
	}
	return deepest
}

// showName is a name from outside for people. It is not empty: that would mean the
// whole server.
func showName(t *mcp.Tool) string {
	if t == nil || t.Name == "" {
		return "(without a name)"
	}
	return clip.Bytes(strings.ReplaceAll(rpc.PlainText(t.Name), "\n", " "), MaxToolName)
}

// changes says in what two definitions of one tool differ, for a person.
func changes(old, now config.ServerTool) string {
	var parts []string
	for _, c := range []struct {
		what string
		is   bool
	}{
		{"title", old.Title != now.Title},
		{"description", old.Description != now.Description},
		{"schema", string(old.Input) != string(now.Input)},
		{"output schema", string(old.Output) != string(now.Output)},
		{"hints", old.ReadOnlyHint != now.ReadOnlyHint || old.IdempotentHint != now.IdempotentHint ||
			!equalHints(old.DestructiveHint, now.DestructiveHint) || !equalHints(old.OpenWorldHint, now.OpenWorldHint)},
	} {
		if c.is {
			parts = append(parts, c.what)
		}
	}
	return strings.Join(parts, ", ")
}

func equalHints(a, b *bool) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// Separator stands between the names of server and tool. Nothing splits a name at
// it: see [Servers.Original].
const Separator = "__"
