package shorten

import (
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// noteTokens is room for the notes at the end of a view, and leastBudget is the least
// that a view is made for.
const (
	noteTokens  = 30
	leastBudget = 40
)

// Result returns a view of a result. A short result is returned unchanged.
func Result(text string, o Options) View {
	whole := llm.EstimateText(text)
	most := o.budget(whole)
	if o.Mode == Detailed && o.Tokens == 0 || whole <= most {
		return View{Text: text, Whole: true}
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if o.Tokens == 0 {
		s := show(text, o, whole, most)
		return s.view(s.most + noteTokens)
	}
	most = max(most, leastBudget)
	return show(text, o, whole, max(most-noteTokens, leastBudget/2)).view(most)
}

// show returns a view of about so many tokens.
func show(text string, o Options, whole, budget int) shown {
	root, ok := read(text)
	switch {
	case !ok:
		s := showText(text, o, budget)
		if structured(text) {
			s.lost |= tooLarge
		}
		return s
	case textual(root):
		s := showText(textOf(root), o, budget)
		if root.cut {
			s.lost |= brokenOff
		}
		return s
	}
	return showTree(root, o, whole, budget)
}
