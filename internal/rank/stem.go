package rank

import "bytes"

// Stem returns the part of an English word that its inflections share, by the
// rules of M. F. Porter ("An algorithm for suffix stripping", 1980). It wants
// lower case and leaves words with other letters alone.
func stem(w string) string { return string(stemBytes([]byte(w))) }

// stemBytes is stem in the memory of w: a stem is never longer than its word.
func stemBytes(w []byte) []byte {
	if len(w) < 3 || !ascii(w) {
		return w
	}
	w = plural(w)
	w = pastAndProgressive(w)
	if n := len(w) - 1; w[n] == 'y' && hasVowel(w[:n]) {
		w[n] = 'i'
	}
	w = replaceSuffix(w, step2, 0)
	w = replaceSuffix(w, step3, 0)
	w = dropSuffix(w)
	return finish(w)
}

func ascii(w []byte) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

func plural(w []byte) []byte {
	switch {
	case ends(w, "sses"), ends(w, "ies"):
		return w[:len(w)-2]
	case ends(w, "ss"), ends(w, "us"), ends(w, "is"):
		return w
	case ends(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

// ends reports whether w ends in suffix.
func ends(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

// cut returns w without suffix and whether it was there.
func cut(w []byte, suffix string) ([]byte, bool) {
	if ends(w, suffix) {
		return w[:len(w)-len(suffix)], true
	}
	return w, false
}

func pastAndProgressive(w []byte) []byte {
	if s, ok := cut(w, "eed"); ok {
		if measure(s) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	s, ok := cut(w, "ed")
	if !ok {
		s, ok = cut(w, "ing")
	}
	if !ok || !hasVowel(s) {
		return w
	}
	switch n := len(s); {
	case ends(s, "at"), ends(s, "bl"), ends(s, "iz"):
		return append(s, 'e')
	case n > 1 && s[n-1] == s[n-2] && !vowel(s, n-1) && bytes.IndexByte([]byte("lsz"), s[n-1]) < 0:
		return s[:n-1]
	case measure(s) == 1 && endsCVC(s):
		return append(s, 'e')
	}
	return s
}

type suffix struct{ from, to string }

var step2 = []suffix{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"abli", "able"},
	{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
	{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"},
	{"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
}

var step3 = []suffix{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

var step4 = []string{
	"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
	"iti", "ous", "ive", "ize",
}

// replaceSuffix replaces the first suffix of the table that fits, if the rest
// has more than m pairs of vowels and consonants.
func replaceSuffix(w []byte, table []suffix, m int) []byte {
	for _, x := range table {
		if s, ok := cut(w, x.from); ok {
			if measure(s) > m {
				return append(s, x.to...)
			}
			return w
		}
	}
	return w
}

// dropSuffix drops the longest suffix of step4 that leaves enough.
func dropSuffix(w []byte) []byte {
	longest := ""
	for _, x := range step4 {
		if len(x) > len(longest) && ends(w, x) {
			longest = x
		}
	}
	s, _ := cut(w, longest)
	if longest == "" || measure(s) < 2 || longest == "ion" && !ends(s, "s") && !ends(s, "t") {
		return w
	}
	return s
}

func finish(w []byte) []byte {
	if s, ok := cut(w, "e"); ok {
		if m := measure(s); m > 1 || m == 1 && !endsCVC(s) {
			w = s
		}
	}
	if n := len(w); n > 1 && w[n-1] == 'l' && w[n-2] == 'l' && measure(w) > 1 {
		w = w[:n-1]
	}
	return w
}

// vowel reports whether the letter at i is one; y is after a consonant.
func vowel(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !vowel(w, i-1)
	}
	return false
}

func hasVowel(w []byte) bool {
	for i := range len(w) {
		if vowel(w, i) {
			return true
		}
	}
	return false
}

// measure counts the consonants that follow a vowel.
func measure(w []byte) int {
	n, after := 0, false
	for i := range len(w) {
		v := vowel(w, i)
		if after && !v {
			n++
		}
		after = v
	}
	return n
}

// endsCVC reports whether w ends consonant, vowel, consonant, the last of
// which is not w, x or y.
func endsCVC(w []byte) bool {
	n := len(w)
	return n > 2 && !vowel(w, n-1) && vowel(w, n-2) && !vowel(w, n-3) && w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'y'
}
