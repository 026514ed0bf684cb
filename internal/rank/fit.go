package rank

import "strings"

// The weights of a document's fit. askedShare is the share of the question's
// words; the rest belongs to the words that the document is called by. A
// concept counts conceptFit and a word that every tool uses counts commonFit,
// where a distinctive word counts 1.
const (
	askedShare = 0.4
	conceptFit = 0.3
	commonFit  = 0.25
)

// Fit returns how much the best document and the question have in common, from
// 0, nothing, to 1. It is the mean of two shares: of the question's words,
// those in the document; and of the words that the document is called by, those
// in the question. It does not depend on the number of documents, so one limit
// serves catalogues of any size.
func (x *Index) Fit(text string) float64 {
	f := x.fit()
	answered, meant := make([]float64, len(f.called)), make([]float64, len(f.called))
	total := 0.0
	for _, t := range fitTerms(text) {
		w := fitWeight(t)
		total += w
		for _, m := range f.terms[t] {
			answered[m.doc] += w
			if m.head {
				meant[m.doc] += w
			}
		}
	}
	best := 0.0
	for i, called := range f.called {
		if total > 0 && called > 0 {
			best = max(best, askedShare*answered[i]/total+(1-askedShare)*meant[i]/called)
		}
	}
	return best
}

// fitIndex is the index of Fit: the documents by their words and the
// concepts of these.
type fitIndex struct {
	terms map[string][]mention
	// called is the weight of the words each document is called by.
	called []float64
}

// mention records that a document has a term.
type mention struct {
	doc  int32
	head bool // the document is called by it
}

func newFitIndex(docs [][]Field) *fitIndex {
	f := &fitIndex{make(map[string][]mention), make([]float64, len(docs))}
	for i, fields := range docs {
		for k, field := range fields {
			for _, t := range fitTerms(field.Text) {
				if k == 0 {
					f.called[i] += fitWeight(t)
				}
				if n := len(f.terms[t]); n == 0 || f.terms[t][n-1].doc != int32(i) {
					f.terms[t] = append(f.terms[t], mention{int32(i), k == 0})
				}
			}
		}
	}
	return f
}

// fitTerms returns the stems of text and their concepts, each once, in order of
// appearance.
func fitTerms(text string) []string {
	var out []string
	seen := make(map[string]bool)
	add := func(t string) {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	forStems(text, func(t []byte) {
		add(string(t))
		for _, c := range concepts()[string(t)] {
			add(c)
		}
	})
	return out
}

func fitWeight(t string) float64 {
	switch {
	case strings.HasPrefix(t, "~"):
		return conceptFit
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
	words(text, func(w []byte) { m[string(stemBytes(w))] = true })
	return m
}
