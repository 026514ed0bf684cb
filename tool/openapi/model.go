package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The parts of a document that tools are made of. Values that may be references or
// schemas stay trees.
type (
	pathItem struct {
		Servers    []server `json:"servers"`
		Parameters []any    `json:"parameters"`
	}
	operationObject struct {
		ID          string                 `json:"operationId"`
		Summary     string                 `json:"summary"`
		Description string                 `json:"description"`
		Tags        []string               `json:"tags"`
		Parameters  []any                  `json:"parameters"`
		RequestBody any                    `json:"requestBody"`
		Deprecated  bool                   `json:"deprecated"`
		Security    *[]map[string][]string `json:"security"`
		Servers     []server               `json:"servers"`
	}
	parameterObject struct {
		Name          string                 `json:"name"`
		In            string                 `json:"in"`
		Description   string                 `json:"description"`
		Required      bool                   `json:"required"`
		Style         string                 `json:"style"`
		Explode       *bool                  `json:"explode"`
		AllowReserved bool                   `json:"allowReserved"`
		Schema        any                    `json:"schema"`
		Content       map[string]mediaObject `json:"content"`
	}
	bodyObject struct {
		Description string                 `json:"description"`
		Required    bool                   `json:"required"`
		Content     map[string]mediaObject `json:"content"`
	}
	mediaObject struct {
		Schema   any                       `json:"schema"`
		Encoding map[string]encodingObject `json:"encoding"`
	}
	encodingObject struct {
		ContentType   string `json:"contentType"`
		Style         string `json:"style"`
		Explode       *bool  `json:"explode"`
		AllowReserved bool   `json:"allowReserved"`
	}
	server struct {
		URL       string                    `json:"url"`
		Variables map[string]serverVariable `json:"variables"`
	}
	serverVariable struct {
		Default string `json:"default"`
	}
	securityScheme struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		In     string `json:"in"`
		Scheme string `json:"scheme"`
	}
)

// methods are the methods of a path, in alphabetical order.
var methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

// errHole is the error for a reference that leads out of the document.
var errHole = errors.New("not in the document")

// resolve follows references to their targets.
func (d *Document) resolve(node any) (map[string]any, error) {
	for range maxHops {
		m, ok := node.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("no object but %.40s", mustJSON(node))
		}
		if _, gone := m[hole]; gone {
			return nil, errHole
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return m, nil
		}
		if node, ok = pointer(d.tree, ref); !ok {
			return nil, errHole
		}
	}
	return nil, errHole
}

// decode reads the target of node into v.
func (d *Document) decode(node, v any) error {
	m, err := d.resolve(node)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(mustJSON(m)))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fmt.Errorf("%s is a %s, which it cannot be", kind.Field, kind.Value)
		}
		return oneLine(err)
	}
	return nil
}

// serialization returns the style of a parameter: its declared style or the default.
func (p *parameterObject) serialization() (style string, explode bool, err error) {
	styles := map[string][]string{
		"path":   {"simple", "label", "matrix"},
		"query":  {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
		"header": {"simple"},
		"cookie": {"form"},
	}[p.In]
	if styles == nil {
		return "", false, fmt.Errorf("its parameter %s is in %q, which is not a place for one", p.Name, p.In)
	}
	if style = styles[0]; p.Style != "" {
		style = p.Style
	}
	if !slices.Contains(styles, style) {
		return "", false, fmt.Errorf("its parameter %s has the style %s, which a %s parameter cannot have", p.Name, style, p.In)
	}
	explode = style == "form" || style == "deepObject"
	if p.Explode != nil {
		explode = *p.Explode
	}
	return style, explode, nil
}

// schemes returns the security schemes of the document.
func (d *Document) schemes() map[string]securityScheme {
	out := make(map[string]securityScheme)
	node, _ := pointer(d.tree, "#/components/securitySchemes")
	all, _ := node.(map[string]any)
	for name, one := range all {
		var s securityScheme
		if d.decode(one, &s) == nil {
			s.Scheme = strings.ToLower(s.Scheme)
			out[name] = s
		}
	}
	return out
}
