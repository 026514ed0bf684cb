package rank

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// forStems calls add with the stem of each word of text, without stop words.
// The stem is valid until add returns.
func forStems(text string, add func(stem []byte)) {
	words(text, func(w []byte) {
		if s := sayingStem(w); len(s) > 0 {
			add(s)
		}
	})
}

// sayingStem returns the stem of a word in the memory of the word, or nothing
// for a stop word.
func sayingStem(w []byte) []byte {
	w = trimNumber(w)
	if len(w) == 0 || stopWords[string(w)] {
		return nil
	}
	return stemBytes(w)
}

// trimNumber drops plain numbers, and the number of "70kg". "3d" and "ec2" are
// names and stay.
func trimNumber(w []byte) []byte {
	rest := w
	for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		rest = rest[1:]
	}
	if len(rest) == 1 {
		return w
	}
	return rest
}

//go:embed concepts.txt
var conceptText string

// concepts are the lines of concepts.txt by the stems on them. Only [Index.Fit]
// uses them: its limits were determined with them. For the order of documents
// the table of vectors has replaced them.
var concepts = sync.OnceValue(func() map[string][]string { return readConcepts(conceptText) })

func readConcepts(text string) map[string][]string {
	m := make(map[string][]string)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		id := "~"
		words(line, func(w []byte) {
			if id == "~" {
				id += string(w)
			}
			s := string(stemBytes(w))
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
	words(text, func(w []byte) { m[string(w)] = true })
	return m
}

// Stems returns the stems of the words of text in order, without stop words.
func Stems(text string) []string {
	var out []string
	words(text, func(w []byte) {
		if !stopWords[string(w)] {
			out = append(out, string(stemBytes(w)))
		}
	})
	return out
}
