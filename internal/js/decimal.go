package js

import (
	"bytes"
	"strconv"
)

// AppendDecimal appends the exact value of a JSON number in normal form: 666, 666.0 and 6.66e2 all become 666e0. A number
// with an exponent of more than 15 digits stays unchanged. The work is linear.
func AppendDecimal(dst, literal []byte) []byte {
	mantissa, exponent, shift := literal, []byte(nil), 0
	if i := bytes.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], bytes.TrimPrefix(literal[i+1:], []byte("+"))
	}
	if len(exponent) > 0 {
		sign, digits := 1, exponent
		if digits[0] == '-' {
			sign, digits = -1, digits[1:]
		}
		digits = bytes.TrimLeft(digits, "0")
		if len(digits) > 15 {
			return append(dst, literal...)
		}
		n, _ := strconv.Atoi("0" + string(digits))
		shift = sign * n
	}
	mantissa, negative := bytes.CutPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	start := len(dst)
	if negative {
		dst = append(dst, '-')
	}
	first := len(dst)
	if whole = bytes.TrimLeft(whole, "0"); len(whole) == 0 {
		zeros := len(fraction)
		fraction = bytes.TrimLeft(fraction, "0")
		shift -= zeros - len(fraction)
	}
	dst = append(append(dst, whole...), fraction...)
	shift -= len(fraction)
	end := len(dst)
	for end > first && dst[end-1] == '0' {
		end--
		shift++
	}
	if dst = dst[:end]; end == first {
		return append(dst[:start], '0')
	}
	return strconv.AppendInt(append(dst, 'e'), int64(shift), 10)
}
