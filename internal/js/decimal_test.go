package js

import (
	"math/big"
	"strings"
	"testing"
)

// TestAppendDecimal: two numbers have one form if, and only if, they have one value.
func TestAppendDecimal(t *testing.T) {
	numbers := []string{"0", "-0", "0.0", "0e5", "-0.00e-9", "1", "1.0", "1.00", "10e-1", "0.1e1", "0.01E+2", "1000e-3", "1.00000000000000001", "-1", "-1.0",
		"10", "1e1", "1e+01", "100e-1", "666", "666.0", "6.66e2", "66600e-2", "0.666e3", "665", "0.5", "5e-1", "0.05", "0.050", "0.0500e0", "1.05", "10.5", "1.5e0",
		"9007199254740993", "9007199254740993.0", "9007199254740992", "1e400", "10e399", "1e-400", "0.1e-399", "1234567890123456789.75", "1234567890123456800"}
	form := func(s string) string { return string(AppendDecimal([]byte("x"), []byte(s))) }
	value := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		return r
	}
	for _, a := range numbers {
		for _, b := range numbers {
			if same := value(a).Cmp(value(b)) == 0; same != (form(a) == form(b)) {
				t.Errorf("%s and %s: the same is %v, but they are %s and %s", a, b, same, form(a), form(b))
			}
		}
		if _, n := NumberLength(form(a)[1:]); n && form(a) != "x0" {
			t.Errorf("%s is %s", a, form(a))
		}
	}
	if huge := "1e" + strings.Repeat("9", 1000); form(huge) != "x"+huge {
		t.Errorf("a huge exponent became %.80s", form(huge))
	}
}
