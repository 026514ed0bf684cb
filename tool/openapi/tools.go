package openapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// Loss is a feature of an operation that its tool lacks, or implements differently.
type Loss struct {
	Operation string `json:"operation"`       // like "GET /things/{id}"
	Where     string `json:"where,omitempty"` // a parameter, or a path into the body
	What      string `json:"what"`
	// Omitted reports that the operation did not become a tool.
	Omitted bool `json:"omitted,omitempty"`
}

// String returns the loss in one line.
func (l Loss) String() string {
	where := l.Operation
	if l.Where != "" {
		where += ", " + l.Where
	}
	if l.Omitted {
		return where + ": left out, because " + l.What
	}
	return where + ": " + l.What
}

// builder makes tools of a document.
type builder struct {
	d      *Document
	c      Config
	source string
	losses []Loss
	at     string // the operation at work

	schemes map[string]securityScheme
}

func (b *builder) lose(where, what string) {
	l := Loss{Operation: b.at, Where: where, What: what}
	if !slices.Contains(b.losses, l) {
		b.losses = append(b.losses, l)
	}
}

// Tools returns the operations that c chooses as tools, in the order of their
// paths, and the losses. source names the document, for people. An operation
// that cannot be a tool is a loss, not an error.
func (d *Document) Tools(c Config, source string) ([]tool.Tool, []Loss, error) {
	if err := c.check(); err != nil {
		return nil, nil, fmt.Errorf("openapi: %w", err)
	}
	b := &builder{d: d, c: c, source: source, schemes: d.schemes()}
	for scheme := range c.Auth {
		if _, ok := b.schemes[scheme]; !ok {
			return nil, nil, fmt.Errorf("openapi: auth: the document has no security scheme %s%s", scheme, b.knownSchemes())
		}
	}
	var out []tool.Tool
	count, chosen := 0, 0
	for _, path := range slices.Sorted(keys(d.paths)) {
		node, err := d.resolve(d.paths[path])
		if err != nil {
			if !strings.HasPrefix(path, "x-") {
				b.at = path
				b.omit(err)
			}
			continue
		}
		for _, method := range methods {
			opNode, ok := node[strings.ToLower(method)]
			if !ok {
				continue
			}
			if count++; count > maxOperations {
				return nil, nil, fmt.Errorf("openapi: more than %d operations", maxOperations)
			}
			b.at = method + " " + path
			t, is, err := b.operation(method, path, node, opNode)
			if is {
				chosen++
			}
			if is && err != nil {
				b.omit(err)
			} else if is {
				out = append(out, t)
			}
		}
	}
	if chosen == 0 {
		return nil, b.losses, fmt.Errorf("openapi: none of its %d operations is chosen by operations, tags or paths", count)
	}
	slices.SortStableFunc(out, func(a, b tool.Tool) int { return strings.Compare(a.Name, b.Name) })
	return unique(out), b.losses, nil
}

// omit records that the current operation does not become a tool.
func (b *builder) omit(err error) {
	what := err.Error()
	if errors.Is(err, errHole) {
		what = "a part of it is " + what
	}
	b.losses = append(b.losses, Loss{Operation: b.at, What: what, Omitted: true})
}

// operation reads one operation, if it is chosen.
func (b *builder) operation(method, path string, itemNode map[string]any, opNode any) (t tool.Tool, chosen bool, err error) {
	var op operationObject
	if err := b.d.decode(opNode, &op); err != nil {
		return t, b.c.chosen("", method, path, nil), err
	}
	if !b.c.chosen(op.ID, method, path, op.Tags) {
		return t, false, nil
	}
	var item pathItem
	if err := b.d.decode(itemNode, &item); err != nil {
		return t, true, err
	}
	t, err = b.tool(method, path, &item, &op)
	return t, true, err
}

func (b *builder) knownSchemes() string {
	names := slices.Sorted(keys(b.schemes))
	if len(names) == 0 {
		return ", nor any other"
	}
	return "; it has " + strings.Join(names, ", ")
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// unique makes duplicate names of tools unique.
func unique(tools []tool.Tool) []tool.Tool {
	seen := make(map[string]int)
	for i, t := range tools {
		if seen[t.Name]++; seen[t.Name] > 1 {
			tools[i].Name = tool.SafeName(fmt.Sprintf("%.58s_%d", t.Name, seen[t.Name]))
		}
	}
	return tools
}

// tool returns one operation as a tool.
func (b *builder) tool(method, path string, item *pathItem, op *operationObject) (tool.Tool, error) {
	o := &operation{method: method, path: path, headers: b.c.Headers, secrets: b.c.Secrets}
	var err error
	if o.server, err = b.server(item, op); err != nil {
		return tool.Tool{}, err
	}
	conv := &converter{d: b.d, report: b.lose, names: make(map[string]string), defs: make(map[string]any)}
	properties := make(map[string]any)
	var required []string
	if required, err = b.parameters(o, conv, item, op, properties); err != nil {
		return tool.Tool{}, err
	}
	if need, err := b.body(o, conv, op, properties); err != nil {
		return tool.Tool{}, err
	} else if need {
		required = append(required, "body")
	}
	for _, name := range braces(path) {
		if !slices.ContainsFunc(o.params, func(p parameter) bool { return p.in == "path" && p.name == name }) {
			return tool.Tool{}, fmt.Errorf("{%s} of its path is not a parameter", name)
		}
	}
	root := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		root["required"] = required
	}
	input, err := conv.finish(root)
	if err != nil {
		return tool.Tool{}, fmt.Errorf("its schema is not valid: %w", oneLine(err))
	}
	var lack string
	if o.auth, lack = b.credentials(op); lack != "" {
		b.lose("", "it needs credentials ("+lack+"), and auth names no variable for them: it is asked without")
	}
	t := tool.Tool{
		Name: b.name(method, path, op), Description: description(method, path, op), Input: input,
		Origin: tool.File, Source: b.source, Call: o.call, Preview: o.preview,
	}
	if method == http.MethodGet || method == http.MethodHead {
		t.Effects = tool.ReadOnly
	}
	return t, nil
}

// name returns the operation's id, or its method and path, as a name that every
// vendor takes.
func (b *builder) name(method, path string, op *operationObject) string {
	name := op.ID
	if name == "" {
		name = strings.ToLower(method) + "_" + strings.Trim(strings.NewReplacer("/", "_", "{", "", "}", "").Replace(path), "_")
	} else if !tool.ValidName(name) { // readable where that is enough
		if plain := strings.NewReplacer("/", "_", ".", "_", " ", "_", ":", "_").Replace(name); tool.ValidName(plain) {
			name = plain
		}
	}
	if b.c.Prefix != "" {
		name = b.c.Prefix + "__" + name
	}
	return tool.SafeName(name)
}

// maxDescription limits the description of one operation for a model.
const maxDescription = 1000

func description(method, path string, op *operationObject) string {
	text := strings.TrimSpace(op.Summary)
	if more := strings.TrimSpace(op.Description); more != "" && more != text {
		text = strings.TrimSpace(text + "\n" + more)
	}
	if text == "" {
		text = method + " " + path
	}
	text = clip.Runes(text, maxDescription)
	if op.Deprecated {
		text += "\nIt is deprecated."
	}
	return text
}

// server returns the address for the requests of an operation.
func (b *builder) server(item *pathItem, op *operationObject) (string, error) {
	if b.c.Server != "" {
		return b.c.Server, nil
	}
	servers := b.d.servers
	if len(item.Servers) > 0 {
		servers = item.Servers
	}
	if len(op.Servers) > 0 {
		servers = op.Servers
	}
	if len(servers) == 0 {
		return "", errors.New("the document names no server: set one")
	}
	address := servers[0].URL
	for name, v := range servers[0].Variables {
		address = strings.ReplaceAll(address, "{"+name+"}", v.Default)
	}
	if u, err := url.Parse(address); err == nil && !u.IsAbs() {
		return "", fmt.Errorf("the document names the server %q, which is part of an address only: set one", address)
	}
	return address, checkServer(address)
}

// ignoredHeaders are set by other means, as the specification has it.
var ignoredHeaders = []string{"accept", "content-type", "authorization", "user-agent", "host", "cookie"}

// parameters adds the parameters of an operation, those of its path first.
func (b *builder) parameters(o *operation, conv *converter, item *pathItem, op *operationObject, properties map[string]any) (required []string, err error) {
	all, err := b.allParameters(slices.Concat(op.Parameters, item.Parameters)) // the operation's own win
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.In == "header" && slices.Contains(ignoredHeaders, strings.ToLower(p.Name)) {
			continue
		}
		placed, node, err := p.placed()
		if err != nil {
			return nil, err
		}
		for placed.arg = p.Name; properties[placed.arg] != nil || placed.arg == "body"; {
			placed.arg += "_" + p.In
		}
		converted := conv.schema(node, placed.arg)
		if m, ok := converted.(map[string]any); ok && p.Description != "" && m["description"] == nil {
			m["description"] = p.Description
		}
		properties[placed.arg] = converted
		o.params = append(o.params, placed)
		if p.Required || p.In == "path" {
			required = append(required, placed.arg)
		}
	}
	return required, nil
}

// allParameters reads parameters, the first of a name and a place.
func (b *builder) allParameters(nodes []any) ([]*parameterObject, error) {
	var all []*parameterObject
	for _, node := range nodes {
		p := new(parameterObject)
		if err := b.d.decode(node, p); err != nil {
			return nil, fmt.Errorf("one of its parameters is %w", err)
		}
		if p.Name == "" {
			return nil, errors.New("one of its parameters has no name")
		}
		if !slices.ContainsFunc(all, func(q *parameterObject) bool { return q.Name == p.Name && q.In == p.In }) {
			all = append(all, p)
		}
	}
	return all, nil
}

// placed returns the place and style of a parameter, and its schema.
func (p *parameterObject) placed() (out parameter, schema any, err error) {
	out = parameter{name: p.Name, in: p.In, reserved: p.AllowReserved}
	if out.style, out.explode, err = p.serialization(); err != nil {
		return out, nil, err
	}
	schema = p.Schema
	for media, content := range p.Content {
		if !isJSON(media) {
			return out, nil, fmt.Errorf("its parameter %s is sent as %s", p.Name, media)
		}
		out.json, schema = true, content.Schema
	}
	return out, orAny(schema), nil
}

// orAny is a schema, or that of any value if there is none.
func orAny(schema any) any {
	if schema == nil {
		return map[string]any{}
	}
	return schema
}

func isJSON(media string) bool {
	kind, _, err := mime.ParseMediaType(media)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// body adds the body of an operation, in the first form that can be sent.
func (b *builder) body(o *operation, conv *converter, op *operationObject, properties map[string]any) (required bool, err error) {
	if op.RequestBody == nil {
		return false, nil
	}
	var rb bodyObject
	if err := b.d.decode(op.RequestBody, &rb); err != nil {
		return false, fmt.Errorf("its body is %w", err)
	}
	if len(rb.Content) == 0 {
		return false, errors.New("its body has no content")
	}
	if (o.method == http.MethodGet || o.method == http.MethodHead) && !rb.Required {
		b.lose("body", "a "+o.method+" has none: servers and proxies drop it")
		return false, nil
	}
	medias := slices.Sorted(keys(rb.Content))
	slices.SortStableFunc(medias, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	media := medias[0]
	if rank(media) == unsendable {
		if !rb.Required {
			b.lose("body", "it can only be sent as "+strings.Join(medias, ", ")+", which cannot be written here: the tool sends none")
			return false, nil
		}
		return false, fmt.Errorf("its body can only be sent as %s", strings.Join(medias, ", "))
	}
	if len(medias) > 1 {
		b.lose("body", "it is sent as "+media+" only; the server also takes "+strings.Join(medias[1:], ", "))
	}
	content := rb.Content[media]
	o.body = &payload{media: media, form: rank(media) == asForm, text: rank(media) == asText, encoding: make(map[string]parameter)}
	for name, e := range content.Encoding {
		p := parameter{style: cmp.Or(e.Style, "form"), reserved: e.AllowReserved, json: isJSON(e.ContentType) && e.Style == ""}
		p.explode = p.style == "form" || p.style == "deepObject"
		if e.Explode != nil {
			p.explode = *e.Explode
		}
		o.body.encoding[name] = p
	}
	conv.body = true
	converted := conv.schema(orAny(content.Schema), "body")
	if m, ok := converted.(map[string]any); ok && rb.Description != "" && m["description"] == nil {
		m["description"] = rb.Description
	}
	properties["body"] = converted
	return rb.Required, nil
}

// The forms of a body, the best first.
const (
	asJSONBody = iota
	asForm
	asText
	unsendable
)

func rank(media string) int {
	kind, _, err := mime.ParseMediaType(media)
	switch {
	case isJSON(media):
		return asJSONBody
	case err == nil && kind == "application/x-www-form-urlencoded":
		return asForm
	case err == nil && strings.HasPrefix(kind, "text/"):
		return asText
	}
	return unsendable
}

// braces returns the names in braces of a path.
func braces(path string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return names
		}
		name, tail, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		names, path = append(names, name), tail
	}
}

// call asks the server.
func (o *operation) call(ctx context.Context, raw json.RawMessage) (tool.Output, error) {
	req, err := o.request(ctx, raw)
	if err != nil {
		return tool.Output{}, err
	}
	if err := o.authorise(req); err != nil {
		return tool.Output{}, err
	}
	return builtin.Ask(req, o.secrets())
}

// preview shows the request without credentials.
func (o *operation) preview(ctx context.Context, raw json.RawMessage) (tool.Preview, error) {
	req, err := o.request(ctx, raw)
	if err != nil {
		return tool.Preview{}, err
	}
	return tool.Preview{Request: req.Method + " " + req.URL.String()}, nil
}
