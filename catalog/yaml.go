package catalog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// maxFile limits a file of rules.
const maxFile = 1 << 20

// yamlNode is a position in a YAML file. Reading is strict: unknown keys,
// duplicate keys, anchors, aliases and tags are refused, and every error gives
// file and line.
type yamlNode struct {
	file string
	line int
	node ast.Node // nil for an empty value
}

// readYAML reads a file that holds one document.
func readYAML(file string, data []byte) (yamlNode, error) {
	root := yamlNode{file: file, line: 1}
	if len(data) > maxFile {
		return root, root.errorf("more than %d bytes", maxFile)
	}
	if err := yamlcheck.Check(data); err != nil {
		if at, ok := errors.AsType[*yamlcheck.LineError](err); ok {
			root.line = at.Line
			return root, root.errorf("%s", at.Problem)
		}
		return root, root.errorf("%w", err)
	}
	doc, err := parser.ParseBytes(data, 0)
	if err != nil {
		var at interface {
			GetMessage() string
			GetToken() *token.Token
		}
		if errors.As(err, &at) {
			if t := at.GetToken(); t != nil && t.Position != nil {
				root.line = t.Position.Line
			}
			return root, root.errorf("%s", at.GetMessage())
		}
		return root, root.errorf("%v", err)
	}
	if len(doc.Docs) > 1 {
		return root, root.errorf("more than one document")
	}
	if len(doc.Docs) == 1 {
		root = root.child(doc.Docs[0].Body)
	}
	return root, nil
}

// child returns the place of a value inside n.
func (n yamlNode) child(node ast.Node) yamlNode {
	c := yamlNode{file: n.file, line: n.line, node: node}
	if node == nil {
		return c
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		c.line = t.Position.Line
	}
	if node.Type() == ast.NullType {
		c.node = nil
	}
	return c
}

func (n yamlNode) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", n.file, n.line, fmt.Errorf(format, args...))
}

// entries calls do for every key of a mapping, in order.
func (n yamlNode) entries(do func(key string, n yamlNode) error) error {
	var values []*ast.MappingValueNode
	switch m := n.node.(type) {
	case nil:
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return n.errorf("expected keys and values, found %s", describe(n.node))
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		at := n.child(v.Key)
		var key string
		if err := at.text(&key); err != nil {
			return err
		}
		if seen[key] {
			return at.errorf("the key %q is there twice", key)
		}
		seen[key] = true
		value := at.child(v.Value)
		value.line = at.line // an empty value lacks a position
		if value.node != nil {
			value = n.child(v.Value)
		}
		if err := do(key, value); err != nil {
			return err
		}
	}
	return nil
}

// object reads a mapping whose keys are known.
func (n yamlNode) object(fields map[string]func(yamlNode) error) error {
	return n.entries(func(key string, v yamlNode) error {
		read, ok := fields[key]
		if !ok {
			return v.unknownKey(key, fields)
		}
		return read(v)
	})
}

func (n yamlNode) unknownKey(key string, fields map[string]func(yamlNode) error) error {
	var known []string
	for k := range fields {
		known = append(known, k)
	}
	slices.Sort(known)
	return n.errorf("unknown key %q; known: %s", key, strings.Join(known, ", "))
}

// each calls do for every item of a list.
func (n yamlNode) each(do func(yamlNode) error) error {
	if n.node == nil {
		return nil
	}
	list, ok := n.node.(*ast.SequenceNode)
	if !ok {
		return n.errorf("expected a list, found %s", describe(n.node))
	}
	for _, v := range list.Values {
		if err := do(n.child(v)); err != nil {
			return err
		}
	}
	return nil
}

// text reads a scalar in the spelling of the file.
func (n yamlNode) text(s *string) error {
	switch v := n.node.(type) {
	case *ast.StringNode:
		*s = v.Value
	case *ast.LiteralNode:
		*s = v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		*s = v.GetToken().Value
	default:
		return n.errorf("expected text, found %s", describe(n.node))
	}
	return nil
}

// texts reads a list of texts, or one.
func (n yamlNode) texts(list *[]string) error {
	if _, ok := n.node.(*ast.SequenceNode); !ok && n.node != nil {
		*list = []string{""}
		return n.text(&(*list)[0])
	}
	*list = []string{}
	return n.each(func(n yamlNode) error {
		var s string
		if err := n.text(&s); err != nil {
			return err
		}
		*list = append(*list, s)
		return nil
	})
}

// set reads a list of texts into a set.
func (n yamlNode) set(m map[string]bool) error {
	var list []string
	if err := n.texts(&list); err != nil {
		return err
	}
	for _, s := range list {
		m[s] = true
	}
	return nil
}

func (n yamlNode) bool(b *bool) error {
	v, ok := n.node.(*ast.BoolNode)
	if !ok {
		return n.errorf("expected true or false, found %s", describe(n.node))
	}
	*b = v.Value
	return nil
}

func (n yamlNode) int(i *int) error {
	if v, ok := n.node.(*ast.IntegerNode); ok {
		switch x := v.Value.(type) {
		case int64:
			if x >= 0 && x <= math.MaxInt32 {
				*i = int(x)
				return nil
			}
		case uint64:
			if x <= math.MaxInt32 {
				*i = int(x)
				return nil
			}
		}
	}
	return n.errorf("expected a number from 0 to %d, found %s", math.MaxInt32, describe(n.node))
}

// version reads a version such as 3.5.
func (n yamlNode) version(v *Version) error {
	var s string
	err := n.text(&s)
	if err == nil {
		if *v, err = parseVersion(s); err != nil {
			err = n.errorf("%w", err)
		}
	}
	return err
}

// size reads a size such as 70b.
func (n yamlNode) size(i *int64) error {
	var s string
	err := n.text(&s)
	if err == nil {
		if *i, err = parseSize(s); err != nil {
			err = n.errorf("%w", err)
		}
	}
	return err
}

// describe names a node in an error.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case nil:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return "an anchor, alias or tag, which this file may not use"
	default:
		return fmt.Sprintf("%.40q", n.String())
	}
}

// place returns file and line.
func (n yamlNode) place() string { return fmt.Sprintf("%s:%d", n.file, n.line) }
