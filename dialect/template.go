package dialect

import (
	"cmp"
	"github.com/toolpost/toolpost/dialect/spec"
	"slices"
	"strings"
)

// FromTemplate finds the dialect of a model in its chat template (Jinja as in
// tokenizer_config.json, or Go's as in Ollama) by the markers that are in
// it. The template is searched, not run. why names the markers; both are empty
// if the template shows no dialect, as those of models without tools do.
func (l *List) FromTemplate(text string) (name, why string) {
	for _, t := range l.tells {
		if t.fits(text) {
			return t.dialect, "the template contains " + strings.Join(t.All, " and ")
		}
	}
	return "", ""
}

// tell is a sign and the dialect it is of.
type tell struct {
	dialect string
	spec.Tell
}

// tellsOf returns the signs of all dialects in the order in which they are
// tried; the first that fits wins.
func tellsOf(rows []spec.Dialect) (list []tell) {
	for _, d := range rows {
		for _, t := range d.Tells {
			list = append(list, tell{d.Name, t})
		}
	}
	slices.SortStableFunc(list, func(a, b tell) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

func (t tell) fits(text string) bool {
	for _, s := range t.All {
		if !strings.Contains(text, s) {
			return false
		}
	}
	return true
}
