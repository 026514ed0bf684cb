package rank

import (
	_ "embed"
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"unicode/utf8"
)

// tableData is one vector of small integers for each of some 28,000 pieces of
// words: the meaning of a text is the sum of the vectors of its pieces. It was
// learned from a language model by the program in train/selector, whose CARD.md
// names the sources. It is used in place, without unpacking.
//
//go:embed table.bin
var tableData string

// Dimensions is the length of the vectors of [Meaning].
const Dimensions = 256

// loaded is the embedded table, read on first use.
var loaded struct {
	once  sync.Once
	table vectors
}

// table returns the embedded table. A program that cannot reach this function does not contain the data, so no variable may
// be initialised with it.
func table() *vectors {
	loaded.once.Do(func() { loaded.table = readTable(tableData) })
	return &loaded.table
}

// vectors are the rows of a table by the pieces they belong to. A piece that
// continues a word begins with "##".
type vectors struct {
	rows   map[string]int32
	widest int    // length of the longest piece
	scales string // float32 of each row
	values string // int8, Dimensions a row
}

// readTable reads the format of train/selector/table.py: a mark, the number of
// rows and their length, the pieces a line each, the scales, the values.
func readTable(data string) vectors {
	const mark = "TPRT1\n"
	number := func(at int) int { return int(binary.LittleEndian.Uint32([]byte(data[at : at+4]))) }
	n := number(len(mark))
	if !strings.HasPrefix(data, mark) || number(len(mark)+4) != Dimensions {
		panic("rank: table.bin is not a table of this program")
	}
	rest := data[len(mark)+8:]
	t := vectors{rows: make(map[string]int32, n)}
	for i := range n {
		piece, after, _ := strings.Cut(rest, "\n")
		t.rows[piece] = int32(i)
		t.widest = max(t.widest, len(piece))
		rest = after
	}
	t.scales, t.values = rest[:4*n], rest[4*n:]
	return t
}

// add adds row i, times weight, to v.
func (t *vectors) add(v []float32, i int32, weight float32) {
	s := t.scales[4*i : 4*i+4]
	weight *= math.Float32frombits(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
	row := t.values[int(i)*Dimensions:][:Dimensions]
	for len(row) >= 4 && len(v) >= 4 { // four at a time takes half as long
		v[0] += weight * signed[row[0]]
		v[1] += weight * signed[row[1]]
		v[2] += weight * signed[row[2]]
		v[3] += weight * signed[row[3]]
		row, v = row[4:], v[4:]
	}
}

// signed has the number of each byte of a row. To look it up takes half as long as to convert it.
var signed = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(int8(i))
	}
	return t
}()

// pieces calls add with the rows that make up a word: the longest piece that
// it begins with, and so on. A word that cannot be put together so has none.
func (t *vectors) pieces(word []byte, add func(row int32)) {
	var rows [maxWord]int32
	var room [2 + 4*maxWord]byte
	n := 0
	for at := 0; at < len(word); {
		prefix := 0
		if at > 0 {
			prefix = copy(room[:], "##")
		}
		end := min(len(word), at+t.widest)
		for ; end > at; end-- {
			copy(room[prefix:], word[at:end])
			if row, ok := t.rows[string(room[:prefix+end-at])]; ok {
				rows[n] = row
				n++
				break
			}
		}
		if end == at || n == len(rows) {
			return
		}
		at = end
	}
	for _, row := range rows[:n] {
		add(row)
	}
}

// addMeaning adds the vectors of the words of text, times weight, to v.
func (t *vectors) addMeaning(v []float32, text string, weight float32) {
	words(text, func(w []byte) {
		t.pieces(plain(w), func(row int32) { t.add(v, row, weight) })
	})
}

// plain returns w without accents, in its own memory: the table has none.
func plain(w []byte) []byte {
	i := 0
	for i < len(w) && w[i] < utf8.RuneSelf {
		i++
	}
	if i == len(w) {
		return w
	}
	out := w[:i]
	for rest := w[i:]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		if k := strings.IndexRune(accented, r); k >= 0 {
			r = rune(unaccented[utf8.RuneCountInString(accented[:k])])
		}
		out = utf8.AppendRune(out, r) // never longer than the bytes read
	}
	return out
}

const (
	accented   = "àáâãäåçèéêëìíîïñòóôõöùúûüýÿāăąćčďēęěğīłńňōőœřśşšťūůűźżž"
	unaccented = "aaaaaaceeeeiiiinooooouuuuyyaaaccdeeegilnnooorssstuuuzzz"
)

// unit brings v to length one; a vector of zeros stays.
func unit(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	f := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= f
	}
}

// dot is the product of two vectors of one length.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
