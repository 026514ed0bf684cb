package loose

import "testing"

// Expressions of numbers come to what they do in Python.
func TestArithmetic(t *testing.T) {
	for word, want := range map[string]string{
		"60*2": "120", "1/2": "0.5", "2 + 3 * 4": "14", "(2+3)*4": "20", "2**3**2": "512", "-2**2": "-4", "10 // 3": "3", "-7 % 3": "2",
		"1e3*2": "2000", "1_000-1": "999", "2*-3": "-6", "0.1+0.2": "0.30000000000000004", "4/2": "2",
		"5": "", "-5": "", "1/0": "", "2**2000": "", "x*2": "", "2*": "", "(2": "", "2-3)": "", "2024-05-01": "", "1.2.3-1": "", "": "", "9007199254740993*3": "",
	} {
		if got, ok := arithmetic(word); got != want || ok != (want != "") {
			t.Errorf("%s comes to %q, want %q", word, got, want)
		}
	}
}
