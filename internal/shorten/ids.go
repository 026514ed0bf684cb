package shorten

import (
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Nothing tells the ids of a bare list apart, so a view that shows some of them is a
// guess about which will be asked for. Concise views show such lists whole.

// The bounds of a list of ids.
const (
	leastIDs     = 20    // fewer are values like others
	mostIDTokens = 2_000 // tokens of all such lists together; longer ones are cut
)

// bareID reports whether a word is a number that names something: whole, of at least
// five digits.
func bareID(w string) bool {
	if len(w) < 5 || len(w) > 20 {
		return false
	}
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return true
}

// idLine reports whether a line is a list of different ids, with at most a few words.
func idLine(l string) bool {
	if len(l) < leastIDs*5 {
		return false
	}
	ids, others := make(map[string]bool), 0
	for f := range strings.FieldsFuncSeq(l, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' }) {
		if !bareID(f) || ids[f] {
			others++
			continue
		}
		ids[f] = true
	}
	return len(ids) >= leastIDs && others*10 <= len(ids)
}

// idNodes reports whether values are different ids.
func idNodes(kids []*node) bool {
	if len(kids) < leastIDs {
		return false
	}
	ids := make(map[string]bool)
	for _, k := range kids {
		if !k.leaf() || !bareID(k.text) || ids[k.text] {
			return false
		}
		ids[k.text] = true
	}
	return true
}

// joinIDs writes runs of lines that are ids as one line each.
func joinIDs(lines []line) []line {
	var out []line
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && bareID(strings.TrimSpace(lines[j].text)) {
			j++
		}
		if j-i < leastIDs {
			j = max(j, i+1)
			out = append(out, lines[i:j]...)
		} else {
			run := make([]string, 0, j-i)
			for _, l := range lines[i:j] {
				run = append(run, strings.TrimSpace(l.text))
			}
			out = append(out, line{text: strings.Join(run, ","), units: unitsOf(lines[i:j])})
		}
		i = j
	}
	return out
}

// lineTokens is how many tokens the lists of ids among lines have.
func lineTokens(lines []line) int {
	n := 0
	for _, l := range lines {
		n += idTokens(l.text)
	}
	return n
}

func idTokens(l string) int {
	if idLine(l) {
		return llm.EstimateText(l) + 1
	}
	return 0
}

// treeTokens is the same of a tree.
func treeTokens(n *node) int {
	if n.kind == '[' && idNodes(n.kids) {
		sum := 0
		for _, k := range n.kids {
			sum += llm.EstimateText(k.text + ",")
		}
		return sum
	}
	sum := 0
	if n.kind == '"' {
		for l := range strings.SplitSeq(n.text, "\n") {
			sum += idTokens(l)
		}
		return sum
	}
	for _, k := range n.kids {
		sum += treeTokens(k)
	}
	return sum
}

// withIDs returns the budget of a view that shows lists of ids of so many tokens whole,
// and whether it does.
func (o Options) withIDs(budget, whole, ids int) (int, bool) {
	if o.Mode != Concise || o.Tokens > 0 || ids == 0 || ids > mostIDTokens {
		return budget, false
	}
	return o.budget(max(whole-ids, 0)) + ids, true
}
