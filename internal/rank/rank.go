// Package rank says how well texts fit a question, by their words alone: no
// model, no network, the same answer everywhere.
//
// It is BM25 over weighted fields, on stems, with two additions. Words are also
// counted under the everyday concepts they belong to ("flight" and "airfare"),
// so that a question finds a text that says the same in other words. And
// [Index.Fit] says whether the best text has enough in common with the question
// to be worth anything.
package rank

import (
	"cmp"
	"math"
	"slices"
)

// Field is a piece of a document that counts Weight times. The first field of a
// document is what it is called by.
type Field struct {
	Text   string
	Weight float64
}

// Hit is a document that shares something with a question.
type Hit struct {
	Doc   int     // its position among the documents
	Score float64 // greater is better; comparable within one question only
}

// Index holds documents for questions. It does not change and is safe for
// concurrent use.
type Index struct {
	terms map[string]*term
	// called is the weight of the words each document is called by.
	called []float64
}

type term struct {
	idf  float64
	docs []posting // in order
}

type posting struct {
	doc   int32
	count float32 // weighted, normalised by length
	head  bool    // the document is called by it
}

// The constants of BM25, and the weights of concepts and of pairs of
// neighbours beside words, which count 1. They were fitted to two public sets
// of questions at once; the test prints the figures, and no figure moves by
// more than two points when one constant is halved or doubled.
const (
	saturation    = 0.9
	lengthShare   = 0.5 // how much a long document is held against it
	conceptWeight = 0.35
	pairWeight    = 0.5
)

// New returns an index of documents, each the sum of its fields.
func New(docs [][]Field) *Index {
	x := &Index{terms: make(map[string]*term), called: make([]float64, len(docs))}
	lengths := make([]float64, len(docs))
	total := 0.0
	for i, fields := range docs {
		lengths[i] = x.add(int32(i), fields)
		total += lengths[i]
	}
	average := max(total/float64(max(len(docs), 1)), 1)
	for _, t := range x.terms {
		n := float64(len(t.docs))
		t.idf = math.Log(1 + (float64(len(docs))-n+0.5)/(n+0.5))
		for i := range t.docs {
			p := &t.docs[i]
			p.count /= float32(1 - lengthShare + lengthShare*lengths[p.doc]/average)
		}
	}
	return x
}

// add counts the terms of a document and returns its length.
func (x *Index) add(doc int32, fields []Field) float64 {
	length := 0.0
	for i, f := range fields {
		forTerms(f.Text, func(text string, w float64) {
			t := x.terms[text]
			if t == nil {
				t = new(term)
				x.terms[text] = t
			}
			if n := len(t.docs); n == 0 || t.docs[n-1].doc != doc {
				t.docs = append(t.docs, posting{doc: doc})
			}
			p := &t.docs[len(t.docs)-1]
			p.count += float32(w * f.Weight)
			length += w * f.Weight
			if i == 0 && !p.head {
				p.head = true
				x.called[doc] += fitWeight(text)
			}
		})
	}
	return length
}

// asked is a term of a question and how often it is there.
type asked struct {
	text  string
	count float64
}

// question returns the terms of a question, each once, in order of appearance:
// sums of floating-point numbers depend on their order.
func question(text string) []asked {
	var out []asked
	place := make(map[string]int)
	forTerms(text, func(t string, w float64) {
		i, ok := place[t]
		if !ok {
			i = len(out)
			place[t] = i
			out = append(out, asked{text: t})
		}
		out[i].count += w
	})
	return out
}

// Search returns the documents that share a word or a concept with the
// question, best first, at most k; k below 1 means all. Documents that fit
// equally well stay in their order.
func (x *Index) Search(text string, k int) []Hit {
	scores := make([]float64, len(x.called))
	for _, a := range question(text) {
		t := x.terms[a.text]
		if t == nil {
			continue
		}
		w := t.idf * 2 * a.count / (1 + a.count) // said thrice is not asked for thrice as much
		for _, p := range t.docs {
			n := float64(p.count)
			scores[p.doc] += w * n * (saturation + 1) / (n + saturation)
		}
	}
	var hits []Hit
	for i, s := range scores {
		if s > 0 {
			hits = append(hits, Hit{i, s})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	if k > 0 && len(hits) > k {
		hits = hits[:k]
	}
	return hits
}
