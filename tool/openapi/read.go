package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/tool/internal/outgoing"
)

// The limits of a document.
const (
	maxBytes      = 32 << 20
	maxDepth      = 200
	maxNodes      = 4_000_000
	maxOperations = 10_000
	maxHops       = 32 // from reference to reference
)

// Document is an OpenAPI document. It does not change.
type Document struct {
	Title, Version string // of the API
	Format         string // the version of OpenAPI

	tree     any // the document as JSON, with holes
	paths    map[string]any
	servers  []server
	security []map[string][]string
}

// Is reports whether a text looks like an OpenAPI or Swagger document: an object
// with the key "openapi" or "swagger" and a version. It reads no more than it needs.
func Is(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '{' {
		var head struct {
			OpenAPI, Swagger string
			Info, Paths      json.RawMessage
		}
		if json.Unmarshal(text, &head) != nil {
			return false
		}
		return isVersion(head.OpenAPI) || head.Swagger != ""
	}
	for line := range bytes.Lines(text) {
		for _, key := range []string{"openapi:", "swagger:", `"openapi":`, `'openapi':`} {
			if value, ok := bytes.CutPrefix(line, []byte(key)); ok {
				return isVersion(strings.Trim(strings.TrimSpace(string(value)), `"'`))
			}
		}
	}
	return false
}

// isVersion distinguishes a version from the name of a file.
func isVersion(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == "" || strings.HasPrefix(s, "3.") && strings.Count(s, ".") == 2 && !strings.ContainsAny(s, "/\\")
}

// Parse reads a document.
func Parse(text []byte) (*Document, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("openapi: a document of more than %d bytes", maxBytes)
	}
	text, err := asJSON(text)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	root, _ := tree.(map[string]any)
	format, _ := root["openapi"].(string)
	switch _, old := root["swagger"]; {
	case old:
		return nil, errors.New("openapi: it is in version 2 (Swagger); convert it to version 3, which most tools that write it can do")
	case !strings.HasPrefix(format, "3."):
		return nil, fmt.Errorf("openapi: %q is not a supported version of OpenAPI: 3.0 and 3.1 are", format)
	}
	s := sweeper{root: tree}
	if tree, err = s.sweep(tree, 0); err != nil {
		return nil, err
	}
	return newDocument(tree, format)
}

func newDocument(tree any, format string) (*Document, error) {
	d := &Document{Format: format, tree: tree}
	var head struct {
		Info     struct{ Title, Version any }
		Paths    map[string]any
		Servers  []server
		Security []map[string][]string
	}
	if err := d.decode(tree, &head); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if len(head.Paths) == 0 {
		return nil, errors.New("openapi: it has no paths")
	}
	d.Title, d.Version = outgoing.Plain(head.Info.Title), outgoing.Plain(head.Info.Version)
	d.paths, d.servers, d.security = head.Paths, head.Servers, head.Security
	return d, nil
}

func oneLine(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}

// asJSON returns text as JSON if it is YAML.
func asJSON(text []byte) ([]byte, error) {
	if start := bytes.TrimSpace(text); len(start) == 0 {
		return nil, errors.New("openapi: it is empty")
	} else if start[0] == '{' {
		return text, nil
	}
	if err := yamlcheck.Check(text); err != nil {
		if _, placed := errors.AsType[*yamlcheck.LineError](err); placed {
			return nil, fmt.Errorf("openapi: %w", err)
		}
		return nil, fmt.Errorf("openapi: %w; in JSON it may be longer", err)
	}
	// The parser's own way to JSON breaks some strings and makes strings of some numbers.
	var tree any
	err := yamlcheck.Decode(text, &tree)
	var out []byte
	if err == nil {
		out, err = json.Marshal(tree)
	}
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, fmt.Errorf("openapi: line %d: %s", at.GetToken().Position.Line, at.GetMessage())
		}
		return nil, fmt.Errorf("openapi: %w", oneLine(err))
	}
	return out, nil
}

// hole replaces a reference that leads out of the document, to a missing
// target, or in an endless circle.
const hole = "x-toolpost-hole"

// sweeper removes references that cannot be followed from a document, and
// enforces its limits.
type sweeper struct {
	root  any
	nodes int
}

// numeric are keys of numbers, which the parser of YAML makes strings where they
// have more digits than an integer of 64 bits.
var numeric = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}

func isNumber(text string) bool {
	return len(text) < 64 && json.Valid([]byte(text)) && strings.Trim(text, "-0123456789.eE+") == ""
}

func (s *sweeper) sweep(node any, depth int) (any, error) {
	if s.nodes++; s.nodes > maxNodes {
		return nil, fmt.Errorf("openapi: more than %d values", maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("openapi: more than %d levels", maxDepth)
	}
	var err error
	switch node := node.(type) {
	case map[string]any:
		if ref, ok := node["$ref"].(string); ok && !s.leads(ref) {
			return map[string]any{hole: ref}, nil
		}
		out := make(map[string]any, len(node)) // the tree is read while it is swept
		for key, v := range node {
			if d, ok := v.(map[string]any); ok && key == "discriminator" && d["propertyName"] != nil {
				continue // it does not restrict the values, and refers to other files
			}
			if text, ok := v.(string); ok && slices.Contains(numeric, key) && isNumber(text) {
				v = json.Number(text)
			}
			if out[key], err = s.sweep(v, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(node))
		for i, v := range node {
			if out[i], err = s.sweep(v, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return node, nil
}

// leads reports whether a reference leads to something in the document.
func (s *sweeper) leads(ref string) bool {
	for range maxHops {
		if !strings.HasPrefix(ref, "#/") {
			return false
		}
		target, ok := pointer(s.root, ref)
		if !ok {
			return false
		}
		next, _ := target.(map[string]any)
		further, ok := next["$ref"].(string)
		if !ok {
			return true
		}
		ref = further
	}
	return false
}

// unescape reads a token of a JSON pointer in a reference.
var unescape = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}", "%7b", "{", "%7d", "}", "%20", " ")

// pointer returns the target of "#/a/b" in a tree.
func pointer(tree any, ref string) (any, bool) {
	for token := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		switch node := tree.(type) {
		case map[string]any:
			next, ok := node[unescape.Replace(token)]
			if !ok {
				return nil, false
			}
			tree = next
		case []any:
			var i int
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			tree = node[i]
		default:
			return nil, false
		}
	}
	return tree, true
}
