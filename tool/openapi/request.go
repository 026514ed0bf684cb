package openapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/internal/outgoing"
)

// parameter is the destination of an argument of a call.
type parameter struct {
	arg      string // the name of the argument
	name, in string // of the parameter
	style    string
	explode  bool
	reserved bool // its reserved characters stay unescaped
	json     bool // it is sent as JSON
}

// payload is how the body of a request is sent.
type payload struct {
	media    string
	form     bool
	text     bool
	encoding map[string]parameter // of the fields of a form
}

// operation is the HTTP request of a tool.
type operation struct {
	method, server, path string
	params               []parameter
	body                 *payload
	auth                 []credential
	headers              map[string]string
	secrets              func() []string
}

// request builds the request of a call and puts the arguments where the
// operation wants them. It contains no credentials and may be shown.
func (o *operation) request(ctx context.Context, raw json.RawMessage) (*http.Request, error) {
	args, err := outgoing.Arguments(raw)
	if err != nil {
		return nil, err
	}
	path := o.path
	var query []string
	header := make(http.Header)
	for _, p := range o.params {
		v, ok := args[p.arg]
		if !ok || v == nil && p.in != "path" {
			continue
		}
		switch p.in {
		case "path":
			text := p.inPath(v)
			if plain := strings.Trim(text, "."); text == "" || plain == "" || strings.Contains(text, "//") {
				return nil, tool.Errorf(tool.Validation, "%s cannot be %s: it is part of an address", p.arg, mustJSON(v))
			}
			path = strings.ReplaceAll(path, "{"+p.name+"}", text)
		case "query":
			query = append(query, p.pairs(v)...)
		case "header":
			header.Set(p.name, p.simple(v))
		case "cookie":
			header.Add("Cookie", strings.Join(p.pairs(v), "; "))
		}
	}
	if strings.Contains(path, "{") {
		return nil, tool.Errorf(tool.Validation, "the address %s lacks an argument", path)
	}
	address := strings.TrimRight(o.server, "/") + "/" + strings.TrimLeft(path, "/")
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	body, err := o.encode(args["body"])
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, o.method, address, body)
	if err != nil {
		return nil, tool.Errorf(tool.Validation, "the arguments make no address")
	}
	maps.Copy(req.Header, header)
	if body != nil {
		req.Header.Set("Content-Type", o.body.media)
	}
	req.Header.Set("Accept", "application/json, text/*;q=0.8, */*;q=0.1")
	req.Header.Set("User-Agent", "toolpost")
	return req, nil
}

// encode writes the body, nil if there is none.
func (o *operation) encode(v any) (io.Reader, error) {
	switch {
	case o.body == nil || v == nil:
		return nil, nil
	case o.body.text:
		return strings.NewReader(outgoing.Plain(v)), nil
	case !o.body.form:
		return bytes.NewReader(mustJSON(v)), nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, tool.Errorf(tool.Validation, "body must be an object: it is sent as a form")
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p, ok := o.body.encoding[name]
		if !ok {
			p = parameter{style: "form", explode: true}
		}
		p.name = name
		pairs = append(pairs, p.pairs(fields[name])...)
	}
	return strings.NewReader(strings.Join(pairs, "&")), nil
}

// escape writes a value into a query.
func (p parameter) escape(text string) string {
	out := url.QueryEscape(text)
	if p.reserved {
		for _, c := range ":/?[]@!$'()*,;" {
			out = strings.ReplaceAll(out, url.QueryEscape(string(c)), string(c))
		}
	}
	if p.in == "cookie" {
		return url.PathEscape(text)
	}
	return out
}

// separators separate the items of a list that is one value.
var separators = map[string]string{"form": ",", "spaceDelimited": "%20", "pipeDelimited": "|"}

// pairs returns name=value for a query, a cookie or a form, escaped.
func (p parameter) pairs(v any) []string {
	key := url.QueryEscape(p.name)
	if p.json {
		return []string{key + "=" + p.escape(string(mustJSON(v)))}
	}
	switch v := v.(type) {
	case []any:
		if p.style == "deepObject" {
			return deep(key, v)
		}
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = p.escape(outgoing.Plain(item))
			if p.explode {
				items[i] = key + "=" + items[i]
			}
		}
		if p.explode {
			return items
		}
		return []string{key + "=" + strings.Join(items, cmp.Or(separators[p.style], ","))}
	case map[string]any:
		if p.style == "deepObject" {
			return deep(key, v)
		}
		var items []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p.explode {
				items = append(items, url.QueryEscape(name)+"="+p.escape(outgoing.Plain(v[name])))
			} else {
				items = append(items, p.escape(name), p.escape(outgoing.Plain(v[name])))
			}
		}
		if p.explode {
			return items
		}
		return []string{key + "=" + strings.Join(items, cmp.Or(separators[p.style], ","))}
	}
	return []string{key + "=" + p.escape(outgoing.Plain(v))}
}

// deep writes an object as name[key]=value, and nested values in the same way.
func deep(key string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, deep(key+"%5B"+url.QueryEscape(name)+"%5D", v[name])...)
		}
	case []any:
		for _, item := range v {
			out = append(out, deep(key+"%5B%5D", item)...)
		}
	default:
		out = append(out, key+"="+url.QueryEscape(outgoing.Plain(v)))
	}
	return out
}

// simple writes a value for a header.
func (p parameter) simple(v any) string {
	if p.json {
		return string(mustJSON(v))
	}
	return strings.Join(flat(v, p.explode, outgoing.Plain), ",")
}

// flat returns the items of a list, or the names and values of an object, joined
// by = if exploded.
func flat(v any, explode bool, write func(any) string) []string {
	switch v := v.(type) {
	case []any:
		out := make([]string, len(v))
		for i, item := range v {
			out[i] = write(item)
		}
		return out
	case map[string]any:
		var out []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if explode {
				out = append(out, write(name)+"="+write(v[name]))
			} else {
				out = append(out, write(name), write(v[name]))
			}
		}
		return out
	}
	return []string{write(v)}
}

// inPath writes a value into a path, where every character of it is escaped.
func (p parameter) inPath(v any) string {
	write := func(v any) string { return url.PathEscape(outgoing.Plain(v)) }
	if p.json {
		return url.PathEscape(string(mustJSON(v)))
	}
	items := flat(v, p.explode, write)
	if slices.Contains(items, "") {
		return ""
	}
	switch p.style {
	case "label":
		if p.explode {
			return "." + strings.Join(items, ".")
		}
		return "." + strings.Join(items, ",")
	case "matrix":
		if _, object := v.(map[string]any); p.explode && object {
			return ";" + strings.Join(items, ";")
		}
		if p.explode {
			return ";" + p.name + "=" + strings.Join(items, ";"+p.name+"=")
		}
		return ";" + p.name + "=" + strings.Join(items, ",")
	}
	return strings.Join(items, ",")
}
