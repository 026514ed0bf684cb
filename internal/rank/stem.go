package rank

import "strings"

// Stem returns the part of an English word that its inflections share, by the
// rules of M. F. Porter ("An algorithm for suffix stripping", 1980). It wants
// lower case and leaves words with other letters alone.
func stem(w string) string {
	if len(w) < 3 || !ascii(w) {
		return w
	}
	w = plural(w)
	w = pastAndProgressive(w)
	if s, ok := strings.CutSuffix(w, "y"); ok && hasVowel(s) {
		w = s + "i"
	}
	w = replaceSuffix(w, step2, 0)
	w = replaceSuffix(w, step3, 0)
	w = dropSuffix(w)
	return finish(w)
}

func ascii(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

func plural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

func pastAndProgressive(w string) string {
	if s, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(s) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	s, ok := strings.CutSuffix(w, "ed")
	if !ok {
		s, ok = strings.CutSuffix(w, "ing")
	}
	if !ok || !hasVowel(s) {
		return w
	}
	switch n := len(s); {
	case strings.HasSuffix(s, "at"), strings.HasSuffix(s, "bl"), strings.HasSuffix(s, "iz"):
		return s + "e"
	case n > 1 && s[n-1] == s[n-2] && !vowel(s, n-1) && !strings.ContainsRune("lsz", rune(s[n-1])):
		return s[:n-1]
	case measure(s) == 1 && endsCVC(s):
		return s + "e"
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

// replaceSuffix replaces the first suffix of the table that fits, if what is
// left has more than m pairs of vowels and consonants.
func replaceSuffix(w string, table []suffix, m int) string {
	for _, x := range table {
		if s, ok := strings.CutSuffix(w, x.from); ok {
			if measure(s) > m {
				return s + x.to
			}
			return w
		}
	}
	return w
}

// dropSuffix drops the longest suffix of step4 that leaves enough.
func dropSuffix(w string) string {
	longest := ""
	for _, x := range step4 {
		if len(x) > len(longest) && strings.HasSuffix(w, x) {
			longest = x
		}
	}
	s := strings.TrimSuffix(w, longest)
	if longest == "" || measure(s) < 2 || longest == "ion" && !strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "t") {
		return w
	}
	return s
}

func finish(w string) string {
	if s, ok := strings.CutSuffix(w, "e"); ok {
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
func vowel(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !vowel(w, i-1)
	}
	return false
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if vowel(w, i) {
			return true
		}
	}
	return false
}

// measure counts how often a consonant follows a vowel.
func measure(w string) int {
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
func endsCVC(w string) bool {
	n := len(w)
	return n > 2 && !vowel(w, n-1) && vowel(w, n-2) && !vowel(w, n-3) && w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'y'
}
