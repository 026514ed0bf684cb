package rank

import "strings"

// The weights of a document's fit: how much the question's own words count
// beside those the document is called by, and what a concept or a word that
// every tool uses counts beside a word that says something.
const (
	askedShare = 0.4
	conceptFit = 0.3
	commonFit  = 0.25
)

// Fit says how much the best document and the question have in common, from 0,
// nothing, to 1: the mean of two shares, of the question's words that the
// document speaks of, and of the words it is called by that the question speaks
// of. It does not depend on how many documents there are, so that one limit
// serves catalogues of any size.
func (x *Index) Fit(text string) float64 {
	answered, meant := make([]float64, len(x.called)), make([]float64, len(x.called))
	total := 0.0
	for _, a := range question(text) {
		w := fitWeight(a.text)
		total += w
		t := x.terms[a.text]
		if t == nil {
			continue
		}
		for _, p := range t.docs {
			answered[p.doc] += w
			if p.head {
				meant[p.doc] += w
			}
		}
	}
	best := 0.0
	for i, called := range x.called {
		if total > 0 && called > 0 {
			best = max(best, askedShare*answered[i]/total+(1-askedShare)*meant[i]/called)
		}
	}
	return best
}

func fitWeight(t string) float64 {
	switch {
	case strings.HasPrefix(t, "~"):
		return conceptFit
	case strings.Contains(t, " "): // a pair is not news beside its two words
		return 0
	case common[t]:
		return commonFit
	}
	return 1
}

// common are words that half of all tools use.
var common = stems(`retrieve fetch obtain return find search look lookup query list show display information info detail
data value result specific specified given certain based function api request service system type name number amount
calculate compute determine check update create make generate set add new current user time date day today year month
location city state country place know tell see way good best first second one two total option different various
particular include including example available allow`)

func stems(text string) map[string]bool {
	m := make(map[string]bool)
	words(text, func(w string) { m[stem(w)] = true })
	return m
}
