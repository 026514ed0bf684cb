package jsonfix

import (
	"math/big"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// literal is how a word reads in JSON.
type literal struct {
	json  string
	class llm.RepairClass
}

// literals are the words that are values. JSON cannot represent NaN and
// infinities; JavaScript writes null for them.
var literals = map[string]literal{
	"true": {"true", llm.Intact}, "false": {"false", llm.Intact}, "null": {"null", llm.Intact},
	"True": {"true", llm.Syntax}, "False": {"false", llm.Syntax}, "None": {"null", llm.Syntax},
	"TRUE": {"true", llm.Syntax}, "FALSE": {"false", llm.Syntax}, "NULL": {"null", llm.Syntax},
	"Null": {"null", llm.Syntax}, "nil": {"null", llm.Syntax}, "undefined": {"null", llm.Syntax},
	"NaN": {"null", llm.Guess}, "nan": {"null", llm.Guess},
	"Infinity": {"null", llm.Guess}, "-Infinity": {"null", llm.Guess}, "+Infinity": {"null", llm.Guess},
	"inf": {"null", llm.Guess}, "-inf": {"null", llm.Guess},
}

// maxLiteral is more than the length of the longest literal or number in another
// notation. Longer text is not looked up again and again.
const maxLiteral = 64

// stringPrefixes are the letters before a string in Python. All but u give
// its backslashes or braces another meaning, or make it bytes.
var stringPrefixes = map[string]llm.RepairClass{
	"u": llm.Syntax, "U": llm.Syntax, "b": llm.Guess, "B": llm.Guess,
	"r": llm.Guess, "R": llm.Guess, "f": llm.Guess, "F": llm.Guess,
}

// number returns word as a JSON number and how sure that is; Truncation means
// that it is none. Leading zeros make an identifier, like a postcode, unless
// zeros allows them.
func number(word []byte, zeros bool) (string, llm.RepairClass) {
	s := string(word)
	if s == "" || strings.Trim(s, "0123456789+-.xXabcdefABCDEF_n") != "" {
		return "", llm.Truncation
	}
	sign, digits := "", s
	if s[0] == '-' || s[0] == '+' {
		sign, digits = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		if n, ok := new(big.Int).SetString(digits[2:], 16); ok {
			return sign + n.String(), llm.Syntax
		}
		return "", llm.Truncation
	}
	digits = wholeDigits(digits)
	if isNumber(sign+digits) && digits != "0.0" {
		return sign + digits, llm.Syntax
	}
	return guessedNumber(sign, digits, zeros)
}

// wholeDigits adds the zeros that other languages leave out around a point, and
// takes away the n of a big integer.
func wholeDigits(digits string) string {
	if strings.HasPrefix(digits, ".") {
		digits = "0" + digits
	}
	digits = strings.TrimSuffix(digits, "n")
	for _, fix := range []struct{ old, new string }{{".e", ".0e"}, {".E", ".0E"}} {
		digits = strings.Replace(digits, fix.old, fix.new, 1)
	}
	if strings.HasSuffix(digits, ".") {
		digits += "0"
	}
	return digits
}

// guessedNumber is number for a word that becomes a number only after a change
// that may be wrong.
func guessedNumber(sign, digits string, zeros bool) (string, llm.RepairClass) {
	if plain := strings.TrimLeft(digits, "0"); zeros && plain != digits {
		if plain == "" || !isDigit(plain[0]) {
			plain = "0" + plain
		}
		if isNumber(sign + plain) {
			return sign + plain, llm.Guess
		}
	}
	if cut := strings.TrimRight(digits, "eE+-"); cut != digits && isNumber(sign+cut) {
		return sign + cut, llm.Guess
	}
	if plain := strings.ReplaceAll(digits, "_", ""); plain != digits && isNumber(sign+plain) {
		return sign + plain, llm.Guess
	}
	return "", llm.Truncation
}

// isNumber reports whether s is a JSON number.
func isNumber[T string | []byte](s T) bool {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := skipDigits(s, i)
	if digits == i || s[i] == '0' && digits > i+1 {
		return false
	}
	i = digits
	if i < len(s) && s[i] == '.' {
		if digits = skipDigits(s, i+1); digits == i+1 {
			return false
		}
		i = digits
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if digits = skipDigits(s, i); digits == i {
			return false
		}
		i = digits
	}
	return i == len(s)
}

func skipDigits[T string | []byte](s T, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}
