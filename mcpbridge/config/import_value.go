package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// value is a value of a file in JSON, YAML or TOML.
type value struct {
	line  int
	kind  valueKind
	text  string // of a word or another scalar
	items []*value
	pairs []pair
}

type pair struct {
	key  string
	line int
	of   *value
}

type valueKind int

const (
	null    valueKind = iota
	word              // text
	scalar            // a number or a boolean
	mapping           // pairs
	sequence
)

// at returns the value of a key, nil if there is none.
func (v *value) at(path ...string) *value {
	for _, key := range path {
		var next *value
		if v != nil {
			for _, p := range v.pairs {
				if p.key == key {
					next = p.of
					break
				}
			}
		}
		v = next
	}
	return v
}

// valueOf returns a node of YAML or JSON as a value.
func valueOf(n ast.Node) *value {
	v := &value{line: 1}
	if n == nil {
		return v
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		v.line = t.Position.Line
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.AnchorNode:
		return valueOf(n.Value)
	case *ast.TagNode:
		return valueOf(n.Value)
	case *ast.MappingNode:
		v.kind = mapping
		for _, p := range n.Values {
			v.add(p)
		}
	case *ast.MappingValueNode:
		v.kind = mapping
		v.add(n)
	case *ast.SequenceNode:
		v.kind = sequence
		for _, item := range n.Values {
			v.items = append(v.items, valueOf(item))
		}
	case *ast.StringNode, *ast.LiteralNode:
		v.kind = word
		_ = yaml.NodeToValue(n, &v.text) // text is text
	default:
		v.kind = scalar
		v.text = n.GetToken().Value
	}
	return v
}

func (v *value) add(p *ast.MappingValueNode) {
	v.pairs = append(v.pairs, pair{strings.Trim(p.Key.GetToken().Value, `"'`), p.GetToken().Position.Line, valueOf(p.Value)})
}

// read writes a value into a text, a list of texts, a map of texts, a boolean, a number or a duration.
func (v *value) read(to any) error {
	bad := fmt.Errorf("it cannot be read as what it should be")
	switch to := to.(type) {
	case *string:
		if v.kind != word && v.kind != scalar {
			return bad
		}
		*to = v.text
	case *[]string:
		if v.kind != sequence {
			return bad
		}
		out := make([]string, len(v.items))
		for i, item := range v.items {
			if err := item.read(&out[i]); err != nil {
				return err
			}
		}
		*to = out
	case *map[string]string:
		if v.kind != mapping {
			return bad
		}
		out := make(map[string]string)
		for _, p := range v.pairs {
			var text string
			if err := p.of.read(&text); err != nil {
				return err
			}
			out[p.key] = text
		}
		*to = out
	case *time.Duration:
		if v.kind == scalar {
			return v.decode(to)
		}
		d, err := time.ParseDuration(v.text)
		if err != nil {
			return bad
		}
		*to = d
	default:
		if v.kind != scalar {
			return bad
		}
		return v.decode(to)
	}
	return nil
}

func (v *value) decode(to any) error {
	return json.Unmarshal([]byte(strings.ReplaceAll(v.text, "_", "")), to)
}

// holdsNull reports whether a value, or one in it, is null.
func (v *value) holdsNull() bool {
	for _, item := range v.items {
		if item.holdsNull() {
			return true
		}
	}
	for _, p := range v.pairs {
		if p.of.holdsNull() {
			return true
		}
	}
	return v.kind == null
}
