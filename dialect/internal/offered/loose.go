package offered

import (
	"bytes"

	"github.com/toolpost/toolpost/dialect/internal/loose"
)

// LooseTools gives package loose access to the offered tools.
type LooseTools struct{ N *Names }

func (t LooseTools) Resolve(written string) (string, bool) { return t.N.Resolve(written) }

// Properties returns the parameters of a tool. The result reports false if the schema does not list them.
func (t LooseTools) Properties(name string) ([]string, bool) {
	shape := t.N.Shape(name)
	if shape == nil {
		return nil, false
	}
	i, _ := t.N.Find(name)
	// A schema without "properties" allows any parameters.
	return shape.Properties(), bytes.Contains(t.N.Tools[i].Schema, []byte(`"properties"`))
}

func (t LooseTools) Required(name, key string) bool {
	shape := t.N.Shape(name)
	return shape != nil && shape.Required(key)
}

func (t LooseTools) Kinds(name, key string) loose.Kinds { return t.N.KindsOf(name, key) }

// looseBytes are bytes, in addition to names and brackets, that may begin a line which only package loose reads.
const looseBytes = "(\"'raeiu\\*"

// WrapperCalls are the beginnings of function calls in which models pass the name of a tool.
var WrapperCalls = func() (list []string) {
	for _, wrapper := range loose.Wrappers {
		list = append(list, wrapper+"(", "tools."+wrapper+"(")
	}
	return list
}()

// WrapperFirsts are the first bytes of WrapperCalls, of return and await, and the backslash before an escaped name.
const WrapperFirsts = "pcrieutaf\\"
