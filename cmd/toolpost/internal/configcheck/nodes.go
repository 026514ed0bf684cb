package configcheck

import (
	"github.com/goccy/go-yaml/ast"
)

// Members yields the keys and values of a mapping.
func Members(n ast.Node) func(func(ast.Node, ast.Node) bool) {
	return func(yield func(ast.Node, ast.Node) bool) {
		switch n := n.(type) {
		case *ast.MappingNode:
			for _, v := range n.Values {
				if !yield(v.Key, v.Value) {
					return
				}
			}
		case *ast.MappingValueNode:
			yield(n.Key, n.Value)
		}
	}
}

// Scalar returns the text of a scalar value, "" for a list or a mapping.
func Scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return ""
}

// isMapping reports whether a value is a mapping.
func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}
