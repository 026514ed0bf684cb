package rank

import (
	_ "embed"
	"slices"
	"strings"
)

// forTerms calls add with what text is counted under: the stem of each word that
// says something, each pair of neighbours, and the concepts of each word.
func forTerms(text string, add func(term string, weight float64)) {
	prev := ""
	words(text, func(w string) {
		w = trimNumber(w)
		if w == "" || stopWords[w] {
			return
		}
		s := stem(w)
		add(s, 1)
		for _, c := range concepts[s] {
			add(c, conceptWeight)
		}
		if prev != "" {
			add(prev+" "+s, pairWeight)
		}
		prev = s
	})
}

// trimNumber drops what is only a number, and the number of "70kg". "3d" and
// "ec2" are names and stay.
func trimNumber(w string) string {
	rest := strings.TrimLeft(w, "0123456789")
	if len(rest) == 1 {
		return w
	}
	return rest
}

//go:embed concepts.txt
var conceptText string

// concepts are the lines of concepts.txt by the stems that stand on them.
var concepts = readConcepts(conceptText)

func readConcepts(text string) map[string][]string {
	m := make(map[string][]string)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		id := "~"
		words(line, func(w string) {
			if id == "~" {
				id += w
			}
			s := stem(w)
			if !slices.Contains(m[s], id) {
				m[s] = append(m[s], id)
			}
		})
	}
	return m
}

var stopWords = set(`a about above after again all also am an and any are aren as at be because been before being
between both but by can cannot could couldn d did didn do does doesn doing don down during each else ever few for from
further get give given had has hasn have haven having he hello help her here hers hey hi him his how i if in into is isn
it its itself just ll let like m may maybe me might more most must my myself nd need needs no nor not now of off on once
only or other our ours out over own please provide rd re s same shall she should so some such st t th than thank thanks
that the their theirs them then there these they this those through to too tool tools under until up us use used uses
using ve very want wants was wasn we were what when where which while who whom whose why will with within without won
would wouldn you your yours`)

func set(text string) map[string]bool {
	m := make(map[string]bool)
	words(text, func(w string) { m[w] = true })
	return m
}

// Stems returns the stems of the words of text that say something, in order.
func Stems(text string) []string {
	var out []string
	words(text, func(w string) {
		if !stopWords[w] {
			out = append(out, stem(w))
		}
	})
	return out
}
