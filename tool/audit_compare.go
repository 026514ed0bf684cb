package tool

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/rank"
)

// The similarity, from 0 to 1, at which a model confuses two descriptions; the
// minimum number of words in them; and the maximum number of descriptions with
// a word that is compared, because ubiquitous words do not count as similarity.
const (
	tooAlike   = 0.8
	leastWords = 4
	mostShared = 200
)

// compare compares the definitions with each other: equal names, names that
// become equal, nearly equal descriptions, and references.
func compare(list []*audit) {
	names, plain, texts := make(map[string]int), make(map[string]string), make(map[string]string)
	for _, a := range list {
		name := a.def.Name
		if names[name]++; names[name] > 1 {
			a.finds("duplicate-name", "another tool has the same name", "Rename one, or put them in namespaces.")
		} else if other, ok := plain[letters(name)]; ok {
			a.finds("confusable-name", "its name has the letters of "+other, "Rename one; models mix up names that differ in case, dots or underscores.")
		}
		plain[letters(name)] = name
		if other, ok := texts[a.def.Description]; ok && a.def.Description != "" && other != name {
			a.alike = true
			a.finds("duplicate-description", "it is described in the same words as "+other, "Say what this one does that the other does not.")
		}
		texts[a.def.Description] = name
	}
	for _, a := range list {
		a.refers = a.mentions(names)
	}
	nearly(list)
}

// letters returns the letters and digits of a name, in lower case.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

func (a *audit) finds(rule, problem, fix string) {
	a.others = append(a.others, Finding{Rule: rule, Problem: problem, Fix: fix})
}

// mentions reports whether the description names another tool, by a name that
// is not an ordinary word.
func (a *audit) mentions(names map[string]int) bool {
	for word := range strings.FieldsSeq(a.def.Description) {
		if word = strings.Trim(word, ".,;:()`\"'"); len(word) > 1 && names[word] > 0 && word != a.def.Name && strings.ContainsFunc(word[1:], func(r rune) bool { return !unicode.IsLower(r) }) {
			return true
		}
	}
	return false
}

// nearly finds pairs of descriptions that are nearly the same. It compares only
// definitions that share a word which is not common.
func nearly(list []*audit) {
	places := make(map[string][]int)
	words := make([][]string, len(list))
	for i, a := range list {
		words[i] = rank.Stems(a.def.Description)
		slices.Sort(words[i])
		words[i] = slices.Compact(words[i])
		for _, w := range words[i] {
			places[w] = append(places[w], i)
		}
	}
	weight := func(w string) float64 { return math.Log(1 + float64(len(list))/float64(len(places[w]))) }
	norm := make([]float64, len(list))
	for i := range list {
		for _, w := range words[i] {
			norm[i] += weight(w) * weight(w)
		}
	}
	shared := make([]float64, len(list))
	for i, a := range list {
		var met []int
		for _, w := range words[i] {
			if len(places[w]) > mostShared {
				continue
			}
			for _, j := range places[w] {
				if j != i {
					if shared[j] == 0 {
						met = append(met, j)
					}
					shared[j] += weight(w) * weight(w)
				}
			}
		}
		a.nearest(list, words, met, func(j int) float64 { return shared[j] / math.Sqrt(norm[i]*norm[j]) })
		for _, j := range met {
			shared[j] = 0
		}
	}
}

// nearest reports the definition that is most like this one, if a model will
// confuse the two.
func (a *audit) nearest(list []*audit, words [][]string, met []int, likeness func(int) float64) {
	best, most := -1, tooAlike
	for _, j := range met {
		if l := likeness(j); l >= most && len(words[j]) >= leastWords && list[j].def.Name != a.def.Name && list[j].def.Description != a.def.Description {
			best, most = j, l
		}
	}
	if best >= 0 {
		a.alike = true
		a.finds("near-duplicate", fmt.Sprintf("a model will confuse it with %s: they are described alike (%.0f of 100)", list[best].def.Name, 100*most), "Say in both what the other does not do.")
	}
}
