package yamlcheck

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse parses YAML that passed [Check] and expands its merge keys (<<) as YAML defines them: a key of a mapping itself
// wins over a merged key, and of several merged mappings the first that has a key wins. A duplicate key in a mapping
// itself is an error. Values that cannot be merged stay unchanged; the reader refuses them.
func Parse(text []byte) (*ast.File, error) { return parse(text, false) }

// ParsePlain is Parse for readers that look at single values: it replaces an anchor and its aliases with the value of
// the anchor. An alias without an anchor stays.
func ParsePlain(text []byte) (*ast.File, error) { return parse(text, true) }

// Decode checks YAML and reads its document into a value, with merge keys expanded. A file without a document does not
// change the value.
func Decode(text []byte, into any) error {
	if err := Check(text); err != nil {
		return err
	}
	file, err := Parse(text)
	if err != nil {
		return err
	}
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			return yaml.NodeToValue(doc.Body, into)
		}
	}
	return nil
}

func parse(text []byte, plain bool) (*ast.File, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	m := merger{anchors: make(map[string]ast.Node), plain: plain}
	for _, doc := range file.Docs {
		doc.Body = m.node(doc.Body)
	}
	return file, nil
}

// merger expands the merge keys of a document.
type merger struct {
	anchors map[string]ast.Node // their values, expanded
	plain   bool                // see ParsePlain
}

// node returns a value with its merge keys expanded.
func (m *merger) node(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			pair.Value = m.node(pair.Value)
		}
		n.Values = m.merged(n.Values)
	case *ast.MappingValueNode:
		n.Value = m.node(n.Value)
		if pairs := m.merged([]*ast.MappingValueNode{n}); len(pairs) != 1 || pairs[0] != n {
			return ast.Mapping(n.GetToken(), false, pairs...)
		}
	case *ast.SequenceNode:
		for i, v := range n.Values {
			n.Values[i] = m.node(v)
		}
	case *ast.TagNode:
		n.Value = m.node(n.Value)
	case *ast.AnchorNode:
		n.Value = m.node(n.Value)
		named := n.Value
		if alias, is := named.(*ast.AliasNode); is { // of an earlier anchor, or of itself, which is null
			named = m.anchors[alias.Value.String()]
		}
		m.anchors[n.Name.String()] = named
		if m.plain && named != nil {
			return named
		}
	case *ast.AliasNode:
		if named := m.anchors[n.Value.String()]; m.plain && named != nil {
			return named
		}
	}
	return n
}

// merged returns the pairs of a mapping including the merged pairs.
func (m *merger) merged(pairs []*ast.MappingValueNode) []*ast.MappingValueNode {
	has := map[string]bool{}
	merges := false
	for _, pair := range pairs {
		if pair.Key.IsMergeKey() {
			merges = true
		} else {
			has[keyOf(pair)] = true
		}
	}
	if !merges {
		return pairs
	}
	var out []*ast.MappingValueNode
	for _, pair := range pairs {
		more, ok := m.mergeable(pair.Value)
		if !pair.Key.IsMergeKey() || !ok {
			out = append(out, pair)
			continue
		}
		for _, other := range more {
			if key := keyOf(other); !has[key] {
				has[key] = true
				out = append(out, other)
			}
		}
	}
	return out
}

// mergeable returns the pairs that a merge key names, in order of precedence, and whether it names only mappings.
func (m *merger) mergeable(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.AliasNode:
		named := m.anchors[n.Value.String()]
		switch named.(type) {
		case *ast.SequenceNode, *ast.AliasNode:
			return nil, false
		}
		return m.mergeable(named)
	case *ast.AnchorNode:
		return m.mergeable(n.Value)
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if _, list := v.(*ast.SequenceNode); list {
				return nil, false
			}
			more, ok := m.mergeable(v)
			if !ok {
				return nil, false
			}
			pairs = append(pairs, more...)
		}
		return pairs, true
	}
	return nil, false
}

// keyOf is the key of a pair in its reader's form.
func keyOf(pair *ast.MappingValueNode) string {
	if s, ok := pair.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return pair.Key.String()
}
