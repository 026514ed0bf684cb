// Package rank rates how well texts fit a question. It needs neither a running
// model nor a network, and gives the same answer everywhere.
//
// The rating is a sum of two. Words: BM25 over weighted fields, on stems and
// pairs of them. Meaning: the cosine between the vector of the question and
// that of the text. Each vector is the sum of the vectors of its words in an
// embedded table. A question thereby finds a text with the same meaning in
// other words. In addition, [Index.Fit] rates whether the best text has enough
// in common with the question to be useful.
package rank

import (
	"cmp"
	"slices"
	"sync"
)

// Field is a piece of a document whose words count Weight times, and Meaning
// times in the vector of the document. The first field of a document is what it
// is called by.
type Field struct {
	Text    string
	Weight  float64
	Meaning float64
}

// Hit is a document that shares something with a question.
type Hit struct {
	Doc   int     // its position among the documents
	Score float64 // greater is better; comparable within one question only
}

// Index holds documents for questions. It does not change and is safe for
// concurrent use.
type Index struct {
	stems map[string]int32 // the terms that are stems
	pairs pairTerms
	terms []term
	// postings are the documents of the terms, sorted by term and document.
	postings []posting
	docs     int
	// meanings are the vectors of the documents, of length one, side by side;
	// width is their length.
	meanings []float32
	width    int
	table    *vectors // of the meanings; nil if the caller made them, or words alone count
	fit      func() *fitIndex
	scratch  sync.Pool // of *scratch
}

type pair struct{ first, second int32 }

type term struct {
	idf      float64
	from, to int32 // among the postings
}

type posting struct {
	doc   int32
	count float32 // weighted, normalised by length
}

// The constants of BM25, and the weight of pairs of neighbours relative to
// words, which count 1.
const (
	saturation  = 0.9
	lengthShare = 0.5 // how much the length of a document lowers its score
	pairWeight  = 0.5
)

// mix holds the weights of words and meaning relative to each other.
type mix struct{ words, meaning float64 }

// both, and the weights of fields, were chosen on testdata/selection.txt and one half of the questions of
// the corpus. Any weight of meaning from 40 to 80 does as well; the tests print the figures.
var both = mix{words: 1, meaning: 55}

// leastLikeness is the cosine up to which two texts count as unrelated.
const leastLikeness = 0.1

// New returns an index of documents, each the sum of its fields.
func New(docs [][]Field) *Index {
	x := newIndex(docs, table())
	x.width = Dimensions
	return x
}

// NewByWords is New without meaning: words alone count, and the program need not contain the table.
func NewByWords(docs [][]Field) *Index { return newIndex(docs, nil) }

// NewWith is New with vectors of the documents that the caller made, all of one
// length; they need not be of length one. Questions need vectors too: see
// [Index.SearchWith].
func NewWith(docs [][]Field, meanings [][]float32) *Index {
	x := newIndex(docs, nil)
	for i, m := range meanings {
		if i == 0 {
			x.width = len(m)
			x.meanings = make([]float32, len(docs)*x.width)
		}
		v := x.meanings[i*x.width:][:x.width]
		copy(v, m)
		unit(v)
	}
	return x
}

// newIndex returns an index of documents by their words and, with a table, their vectors.
func newIndex(docs [][]Field, table *vectors) *Index {
	x := &Index{docs: len(docs), table: table}
	x.fit = sync.OnceValue(func() *fitIndex { return newFitIndex(docs) })
	x.scratch.New = func() any { return new(scratch) }
	b := newBuilder(docs, table)
	x.stems, x.pairs, x.meanings = b.stems, b.pairs, b.addMeanings()
	x.terms, x.postings = b.sorted()
	return x
}

// scratch is the memory of a search, kept for the next one.
type scratch struct {
	asked   []asked
	scores  []float64
	meaning []float32
}

// asked is a term of a question and its count.
type asked struct {
	place int32
	count float64
}

// Search returns the documents that have something in common with the question,
// best first, at most k; k below 1 means all. Documents that fit equally well
// stay in their order.
func (x *Index) Search(text string, k int) []Hit { return x.search(text, nil, k, both) }

// SearchWith is [Index.Search] with the vector of the question. If its length
// differs from that of the documents' vectors, words alone count.
func (x *Index) SearchWith(text string, meaning []float32, k int) []Hit {
	return x.search(text, meaning, k, both)
}

func (x *Index) search(text string, meaning []float32, k int, m mix) []Hit {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	s.scores = slices.Grow(s.scores[:0], x.docs)[:x.docs]
	clear(s.scores)
	if x.scoreWords(s, text, m.words) {
		x.scoreMeaning(s, text, meaning, m.meaning)
	}
	n := 0
	for _, score := range s.scores {
		if score > 0 {
			n++
		}
	}
	hits := make([]Hit, 0, n)
	for i, score := range s.scores {
		if score > 0 {
			hits = append(hits, Hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	if k > 0 && len(hits) > k {
		hits = hits[:k]
	}
	return hits
}

// scoreMeaning adds how alike the question and the documents are. Without a
// vector of the question it is looked up.
func (x *Index) scoreMeaning(s *scratch, text string, given []float32, weight float64) {
	s.meaning = slices.Grow(s.meaning[:0], x.width)[:x.width]
	clear(s.meaning)
	switch {
	case given != nil && len(given) == x.width:
		copy(s.meaning, given)
	case given == nil && x.table != nil:
		x.table.addMeaning(s.meaning, text, 1)
	default:
		return
	}
	unit(s.meaning)
	for i := range s.scores {
		likeness := float64(dot(s.meaning, x.meanings[i*x.width:][:x.width]))
		s.scores[i] += weight * max(0, likeness-leastLikeness)
	}
}

// scoreWords adds up the scores of the documents for the question's words and
// reports whether the question has a word other than stop words.
func (x *Index) scoreWords(s *scratch, text string, weight float64) (says bool) {
	s.asked = s.asked[:0]
	before := noTerm
	forStems(text, func(stem []byte) {
		says = true
		place, ok := x.stems[string(stem)]
		if !ok {
			before = noTerm
			return
		}
		s.asked = append(s.asked, asked{place, 1})
		if both := x.pairs.find(pair{before, place}); both != noTerm {
			s.asked = append(s.asked, asked{both, pairWeight})
		}
		before = place
	})
	// Each term once, in a fixed order: sums of floating-point numbers depend
	// on their order.
	slices.SortFunc(s.asked, func(a, b asked) int { return cmp.Compare(a.place, b.place) })
	for i := 0; i < len(s.asked); {
		a := s.asked[i]
		for i++; i < len(s.asked) && s.asked[i].place == a.place; i++ {
			a.count += s.asked[i].count
		}
		t := &x.terms[a.place]
		w := weight * t.idf * 2 * a.count / (1 + a.count) // repetition has diminishing weight
		for _, p := range x.postings[t.from:t.to] {
			n := float64(p.count)
			s.scores[p.doc] += w * n * (saturation + 1) / (n + saturation)
		}
	}
	return says
}
