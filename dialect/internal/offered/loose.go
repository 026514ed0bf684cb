package offered

import (
	"bytes"

	"github.com/toolpost/toolpost/dialect/internal/loose"
)

// LooseTools are the offered tools for package loose.
type LooseTools struct{ N *Names }

func (t LooseTools) Resolve(written string) (string, bool) { return t.N.Resolve(written) }

func (t LooseTools) Properties(name string) ([]string, bool) {
	shape := t.N.Shape(name)
	if shape == nil {
		return nil, false
	}
	i, _ := t.N.Find(name)
	// A schema that says nothing of properties leaves open which there are.
	return shape.Properties(), bytes.Contains(t.N.Tools[i].Schema, []byte(`"properties"`))
}

func (t LooseTools) Required(name, key string) bool {
	shape := t.N.Shape(name)
	return shape != nil && shape.Required(key)
}

func (t LooseTools) Kinds(name, key string) loose.Kinds { return t.N.KindsOf(name, key) }

// looseBytes may begin a line that only package loose reads, besides names and
// brackets.
const looseBytes = "(\"'raeiu\\*"

// WrapperCalls are the functions that models call with the name of a tool.
var WrapperCalls = func() (list []string) {
	for _, wrapper := range loose.Wrappers {
		list = append(list, wrapper+"(", "tools."+wrapper+"(")
	}
	return list
}()

// WrapperFirsts are the first bytes of wrapperCalls, return and await, and the
// backslash before an escaped name.
const WrapperFirsts = "pcrieutaf\\"
