package jsonfix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// Reading is one way to read a text as a JSON value.
type Reading struct {
	Value json.RawMessage
	Edits []llm.Repair // in the order of the text
}

// Class returns the most doubtful class among the edits.
func (rd Reading) Class() llm.RepairClass { return llm.Provenance{Repairs: rd.Edits}.Worst() }

// has reports whether the rule is among the edits.
func (rd Reading) has(rule string) bool {
	return slices.ContainsFunc(rd.Edits, func(e llm.Repair) bool { return e.Rule == rule })
}

// container reports whether the value is an object or an array.
func (rd Reading) container() bool { return rd.Value[0] == '{' || rd.Value[0] == '[' }

// scalarWithText reports whether rd is a string or number in the middle of
// other text.
func (rd Reading) scalarWithText() bool { return !rd.container() && rd.has("text-after") }

// empty reports whether rd is only an opening bracket.
func (rd Reading) empty() bool {
	inside := rd.Value[1:max(len(rd.Value)-1, 1)]
	return len(bytes.TrimSpace(inside)) == 0 && rd.has("missing-closer")
}

// compare puts the surer reading first. Of two that are equally sure it prefers
// the object, because braces are rarer in prose than brackets.
func (rd Reading) compare(other Reading) int {
	return cmp.Or(cmp.Compare(rd.Class(), other.Class()), cmp.Compare(other.Value[0], rd.Value[0]))
}
