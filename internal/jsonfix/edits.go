package jsonfix

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// maxEdits bounds how many edits are listed one by one. Later ones extend the
// last edit of the same rule and class.
const maxEdits = 4096

// editLog lists the edits made so far.
type editLog []llm.Repair

func (l *editLog) add(e llm.Repair) {
	for k := maxEdits; k < len(*l); k++ { // one more per rule and class, at most
		if last := &(*l)[k]; last.Rule == e.Rule && last.Class == e.Class {
			last.End = e.End
			return
		}
	}
	if *l == nil {
		*l = make(editLog, 0, 8)
	}
	*l = append(*l, e)
}

// extend moves the end of the last edit.
func (l editLog) extend(end int) { l[len(l)-1].End = end }

// last returns the rule of the last edit.
func (l editLog) last() string {
	if len(l) == 0 {
		return ""
	}
	return l[len(l)-1].Rule
}

// sort puts the edits into the order of the text.
func (l editLog) sort() {
	slices.SortStableFunc(l, func(a, b llm.Repair) int { return cmp.Compare(a.Start, b.Start) })
}

// SyntaxError reports where and why a text cannot be read as JSON.
type SyntaxError struct {
	Offset  int // in the text, plus Base
	Problem string
}

// Error returns the problem and its offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Problem, e.Offset) }
