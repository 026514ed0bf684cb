package catalog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a version as an id writes it, of at most four numbers. The zero
// value means that there is none. Versions are comparable with ==, which tells
// 2 from 2.0; Compare does not.
type Version struct {
	n    uint8
	part [4]uint16
}

// MakeVersion returns the version with these parts; it keeps the first four.
func MakeVersion(parts ...int) Version {
	var v Version
	for _, p := range parts {
		v = v.append(p)
	}
	return v
}

// append returns v with one more part, or v if it is full or p does not fit.
func (v Version) append(p int) Version {
	if int(v.n) == len(v.part) || p < 0 || p > 1<<16-1 {
		return v
	}
	v.part[v.n] = uint16(p)
	v.n++
	return v
}

// IsZero reports whether the version is absent.
func (v Version) IsZero() bool { return v.n == 0 }

// major returns the first number, or 0 for no version.
func (v Version) major() int { return int(v.part[0]) }

// Compare orders versions number by number; missing numbers count as 0, and
// no version comes before all others.
func (v Version) Compare(w Version) int {
	if v.IsZero() || w.IsZero() {
		return cmp.Compare(min(v.n, 1), min(w.n, 1))
	}
	for i := range v.part {
		if c := cmp.Compare(v.part[i], w.part[i]); c != 0 {
			return c
		}
	}
	return 0
}

// String writes the version with dots: "3.5"; empty for no version.
func (v Version) String() string {
	var b []byte
	for i, p := range v.part[:v.n] {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, uint64(p), 10)
	}
	return string(b)
}

// MarshalJSON writes an array of numbers: [3,5]; [] for no version.
func (v Version) MarshalJSON() ([]byte, error) {
	return []byte("[" + strings.ReplaceAll(v.String(), ".", ",") + "]"), nil
}

// parseVersion reads "3.3.1". The empty text gives the zero Version.
func parseVersion(s string) (Version, error) {
	var v Version
	if s == "" {
		return v, nil
	}
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || int(v.n) == len(v.part) {
			return Version{}, fmt.Errorf("%q is not a version such as 3.5", s)
		}
		v = v.append(int(n))
	}
	return v, nil
}

// parseSize reads a parameter count as model names write it: "70b", "1.5b",
// "8x7b", "270m", "1t". A bare number counts billions.
func parseSize(s string) (int64, error) {
	n, unit := readSize([]byte(strings.ToLower(s)))
	switch {
	case n > 0 && unit == 0:
		return int64(n * 1e9), nil
	case n > 0 && sizeUnit(unit) > 0:
		return int64(n * sizeUnit(unit)), nil
	}
	return 0, fmt.Errorf("%q is not a size such as 70b or 8x7b", s)
}

// sizeUnit returns the factor of a unit letter, or 0.
func sizeUnit(unit byte) float64 {
	switch unit {
	case 'm':
		return 1e6
	case 'b':
		return 1e9
	case 't':
		return 1e12
	}
	return 0
}

// readSize reads "1.5b" or "8x7b" and returns the number and its unit, which
// is 0 if the text ends after the number. It returns 0 for anything else.
func readSize(s []byte) (n float64, unit byte) {
	n, s = readFloat(s)
	if len(s) > 1 && s[0] == 'x' {
		experts := n
		if n, s = readFloat(s[1:]); n == 0 {
			return 0, 0
		}
		n *= experts
	}
	switch len(s) {
	case 0:
		return n, 0
	case 1:
		return n, s[0]
	}
	return 0, 0
}

// readFloat reads a short decimal and returns the rest.
func readFloat(s []byte) (float64, []byte) {
	var n, scale float64 = 0, 1
	dot := false
	i := 0
	for ; i < len(s) && i < 12; i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + float64(c-'0')
			if dot {
				scale *= 10
			}
		case c == '.' && !dot && i > 0:
			dot = true
		default:
			return n / scale, s[i:]
		}
	}
	return n / scale, s[i:]
}
