package rank

import (
	"math"
	"runtime"
	"sync"
)

// noTerm is the place of a term that an index does not have.
const noTerm = int32(-1)

// builder counts the terms of documents. Each different word is examined
// once.
type builder struct {
	words   map[string]int32 // among the known
	known   []word
	rows    []int32 // of the table, those of a word together
	table   *vectors
	meant   []meant // those of a document together
	ends    []int32 // among them, by document
	stems   map[string]int32
	pairs   pairTerms
	last    []int32 // by term, its latest entry, or noTerm
	entries []entry
	lengths []float64
}

// word is what is known of a word: the term of its stem, or noTerm if it is
// a stop word, its rows of the table, and its latest place among the meant.
type word struct{ place, from, to, meant int32 }

// meant is how much a word counts for the vector of a document.
type meant struct {
	word   int32
	weight float32
}

// entry is the weighted count of a term in a document.
type entry struct {
	term, doc int32
	count     float32
}

func newBuilder(docs [][]Field, table *vectors) *builder {
	size := 0
	for _, fields := range docs {
		for _, f := range fields {
			size += len(f.Text)
		}
	}
	// Typical sizes for descriptions of tools: a growing map has to be copied.
	b := &builder{
		words: make(map[string]int32, size/80), stems: make(map[string]int32, size/120), pairs: newPairTerms(size / 20),
		lengths: make([]float64, len(docs)), last: make([]int32, 0, size/15), entries: make([]entry, 0, size/6),
	}
	if table != nil {
		b.table = table
		b.ends = make([]int32, 0, len(docs))
	}
	for i, fields := range docs {
		for _, f := range fields {
			b.add(int32(i), f)
		}
		if table != nil {
			b.ends = append(b.ends, int32(len(b.meant)))
		}
	}
	return b
}

// add counts the words of a field.
func (b *builder) add(doc int32, f Field) {
	means := b.table != nil && f.Meaning > 0
	first := int32(0) // of the document's words among the meant
	if means && doc > 0 {
		first = b.ends[doc-1]
	}
	before := noTerm
	words(f.Text, func(text []byte) {
		i, ok := b.words[string(text)]
		if !ok {
			i = b.look(text)
		}
		w := &b.known[i]
		switch {
		case !means:
		case w.meant >= first:
			b.meant[w.meant].weight += float32(f.Meaning)
		default:
			w.meant = int32(len(b.meant))
			b.meant = append(b.meant, meant{i, float32(f.Meaning)})
		}
		if w.place == noTerm {
			return
		}
		b.count(w.place, doc, f.Weight)
		if before != noTerm {
			p := pair{before, w.place}
			place := b.pairs.find(p)
			if place == noTerm {
				place = b.newTerm()
				b.pairs.put(p, place)
			}
			b.count(place, doc, pairWeight*f.Weight)
		}
		before = w.place
	})
}

// look finds the term and the rows of a word, and returns its place among the known.
func (b *builder) look(text []byte) int32 {
	key := string(text)
	w := word{place: noTerm, from: int32(len(b.rows)), meant: -1}
	if b.table != nil {
		b.table.pieces(plain([]byte(key)), func(row int32) { b.rows = append(b.rows, row) })
	}
	w.to = int32(len(b.rows))
	if s := sayingStem(text); len(s) > 0 {
		place, ok := b.stems[string(s)]
		if !ok {
			place = b.newTerm()
			b.stems[string(s)] = place
		}
		w.place = place
	}
	i := int32(len(b.known))
	b.known = append(b.known, w)
	b.words[key] = i
	return i
}

// addMeanings adds up the vectors of the documents, on all processors.
func (b *builder) addMeanings() []float32 {
	if b.table == nil {
		return nil
	}
	all := make([]float32, len(b.ends)*Dimensions)
	share := (len(b.ends) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var running sync.WaitGroup
	for from := 0; from < len(b.ends); from += share {
		running.Go(func() {
			for doc := from; doc < min(from+share, len(b.ends)); doc++ {
				b.addMeaning(all[doc*Dimensions:][:Dimensions], doc)
			}
		})
	}
	running.Wait()
	return all
}

// addMeaning adds up the vector of a document.
func (b *builder) addMeaning(v []float32, doc int) {
	from := int32(0)
	if doc > 0 {
		from = b.ends[doc-1]
	}
	for _, m := range b.meant[from:b.ends[doc]] {
		w := &b.known[m.word]
		for _, row := range b.rows[w.from:w.to] {
			b.table.add(v, row, m.weight)
		}
	}
	unit(v)
}

func (b *builder) newTerm() int32 {
	b.last = append(b.last, noTerm)
	return int32(len(b.last) - 1)
}

// count counts a term of a document.
func (b *builder) count(term, doc int32, weight float64) {
	b.lengths[doc] += weight
	if e := b.last[term]; e != noTerm && b.entries[e].doc == doc {
		b.entries[e].count += float32(weight)
		return
	}
	b.last[term] = int32(len(b.entries))
	b.entries = append(b.entries, entry{term, doc, float32(weight)})
}

// sorted returns the terms and the documents of each.
func (b *builder) sorted() ([]term, []posting) {
	total := 0.0
	for _, n := range b.lengths {
		total += n
	}
	docs := float64(len(b.lengths))
	average := max(total/max(docs, 1), 1)
	terms := make([]term, len(b.last))
	for _, e := range b.entries {
		terms[e.term].to++
	}
	at := int32(0)
	for i := range terms {
		t := &terms[i]
		n := float64(t.to)
		t.idf = math.Log(1 + (docs-n+0.5)/(n+0.5))
		t.from, at = at, at+t.to
		t.to = t.from
	}
	postings := make([]posting, len(b.entries))
	for _, e := range b.entries {
		t := &terms[e.term]
		postings[t.to] = posting{e.doc, e.count / float32(1-lengthShare+lengthShare*b.lengths[e.doc]/average)}
		t.to++
	}
	return terms, postings
}
