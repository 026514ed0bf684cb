// Package yamlcheck refuses dangerous YAML: aliases that expand a few bytes to gigabytes, aliases that contain
// themselves, nesting that takes the parser quadratic time, and documents after the first, which readers ignore. Every
// reader of YAML from outside calls it first.
package yamlcheck

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const (
	maxBytes = 4 << 20
	maxDepth = 500     // of brackets, and of lists that begin on one line
	maxNodes = 500_000 // with every alias written out
)

// Check returns an error that names the limit if text exceeds one. It does not
// report invalid YAML.
func Check(text []byte) error {
	if len(text) > maxBytes {
		return fmt.Errorf("%d bytes of YAML, and the limit is %d", len(text), maxBytes)
	}
	if line := tooDeep(text); line > 0 {
		return &LineError{Line: line, Problem: fmt.Sprintf("more than %d levels", maxDepth)}
	}
	aliases := bytes.ContainsRune(text, '*')
	if !aliases && !bytes.Contains(text, []byte("---")) && !bytes.Contains(text, []byte("...")) {
		return nil // without aliases, and with a single document
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil // the reader gives a better error
	}
	if line := secondDocument(file); line > 0 {
		return &LineError{Line: line, Problem: "a second document begins here, and only the first would be read"}
	}
	w := writer{anchors: make(map[string]int), open: make(map[string]int)}
	total := 0
	for _, doc := range file.Docs {
		total += w.size(doc.Body)
	}
	if w.circle != nil {
		return w.circle
	}
	if total > maxNodes {
		return fmt.Errorf("its aliases write it out to more than %d values", maxNodes)
	}
	return nil
}

// A LineError is a problem with a known line, for readers with a different form
// for positions.
type LineError struct {
	Line    int // counted from 1
	Problem string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// secondDocument returns the line on which a second document with something in it
// begins, and 0 if there is none.
func secondDocument(file *ast.File) int {
	documents := 0
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if documents++; documents > 1 {
			return doc.Body.GetToken().Position.Line
		}
	}
	return 0
}

// tooDeep returns the line on which brackets, or dashes and question marks that
// begin values within values, nest too deeply, and 0 if none does. It counts brackets in strings
// too, but legitimate files have fewer of them.
func tooDeep(text []byte) int {
	line, open, dashes := 1, 0, 0
	for i, c := range text {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				dashes++
			}
		case '\n':
			line++
			dashes = 0
		}
		if open > maxDepth || dashes > maxDepth {
			return line
		}
	}
	return 0
}

// writer counts the values of a document with its aliases written out.
type writer struct {
	anchors map[string]int // the sizes of their values
	open    map[string]int // anchors whose values are being counted, and how many per name
	circle  error          // an alias inside its own anchor, which readers would read as null
}

// size counts n, up to a bit over maxNodes for each of its parts.
func (w *writer) size(n ast.Node) int {
	total := 1
	add := func(parts ...ast.Node) {
		for _, p := range parts {
			total = min(total+w.size(p), maxNodes+1)
		}
	}
	switch n := n.(type) {
	case nil:
		return 0
	case *ast.MappingNode:
		for _, v := range n.Values {
			add(v)
		}
	case *ast.MappingValueNode:
		add(n.Key, n.Value)
	case *ast.MappingKeyNode:
		add(n.Value)
	case *ast.SequenceNode:
		add(n.Values...)
	case *ast.TagNode:
		add(n.Value)
	case *ast.AnchorNode:
		name := n.Name.String()
		w.open[name]++
		add(n.Value)
		w.open[name]--
		w.anchors[name] = total
	case *ast.AliasNode:
		name := n.Value.String()
		if w.open[name] > 0 && w.circle == nil {
			w.circle = &LineError{Line: n.GetToken().Position.Line, Problem: fmt.Sprintf("*%.64s names what it is a part of", name)}
		}
		total = max(1, w.anchors[name])
	}
	return total
}
