package rank

import "math"

// noTerm is the place of a term that an index does not have.
const noTerm = int32(-1)

// builder counts the terms of documents. Each different word is examined
// once.
type builder struct {
	words    map[string]word
	rows     []int32 // of the table, those of a word together
	table    *vectors
	stems    map[string]int32
	pairs    map[pair]int32
	last     []int32 // by term, its latest entry, or noTerm
	entries  []entry
	lengths  []float64
	meanings []float32
}

// word is the lookup result of a word: the term of its stem, or noTerm if it is
// a stop word, and its rows of the table.
type word struct{ place, from, to int32 }

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
		words: make(map[string]word, size/80), stems: make(map[string]int32, size/120), pairs: make(map[pair]int32, size/20),
		lengths: make([]float64, len(docs)), last: make([]int32, 0, size/15), entries: make([]entry, 0, size/6),
	}
	if table != nil {
		b.table = table
		b.meanings = make([]float32, len(docs)*Dimensions)
	}
	for i, fields := range docs {
		for _, f := range fields {
			b.add(int32(i), f)
		}
		if table != nil {
			unit(b.meanings[i*Dimensions:][:Dimensions])
		}
	}
	return b
}

// add counts the words of a field and adds up their vectors.
func (b *builder) add(doc int32, f Field) {
	var v []float32
	if b.meanings != nil && f.Meaning > 0 {
		v = b.meanings[int(doc)*Dimensions:][:Dimensions]
	}
	before := noTerm
	words(f.Text, func(text []byte) {
		w, ok := b.words[string(text)]
		if !ok {
			w = b.look(text)
		}
		if v != nil {
			for _, row := range b.rows[w.from:w.to] {
				b.table.add(v, row, float32(f.Meaning))
			}
		}
		if w.place == noTerm {
			return
		}
		b.count(w.place, doc, f.Weight)
		if before != noTerm {
			p := pair{before, w.place}
			place, ok := b.pairs[p]
			if !ok {
				place = b.newTerm()
				b.pairs[p] = place
			}
			b.count(place, doc, pairWeight*f.Weight)
		}
		before = w.place
	})
}

// look returns the term and the rows of a word.
func (b *builder) look(text []byte) word {
	key := string(text)
	w := word{place: noTerm, from: int32(len(b.rows))}
	if b.meanings != nil {
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
	b.words[key] = w
	return w
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
