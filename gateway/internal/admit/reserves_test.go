package admit

import (
	"strconv"
	"testing"
)

// TestReservesAreLearned checks what a request without an output limit reserves: a usual number at first, then the 95th
// percentile of the key and model, or what the configuration says.
func TestReservesAreLearned(t *testing.T) {
	r := new(Reserves)
	if n := r.of("k", "m"); n != defaultOutput {
		t.Error(n)
	}
	for i := range 100 {
		r.learn("k", "m", 200+i%10)
	}
	if n := r.of("k", "m"); n != 209 {
		t.Error(n)
	}
	if r.of("other", "m") != defaultOutput || r.of("k", "other") != defaultOutput {
		t.Error("another key or model learns from it")
	}
	for i := range 2 * maxLengths {
		r.learn("k", strconv.Itoa(i), 10)
	}
	if len(r.answers) > maxLengths {
		t.Errorf("%d estimates are kept", len(r.answers))
	}
	for fixed, want := range map[int]int{700: 700, -1: maxOutput} {
		if n := (&Reserves{Fixed: fixed}).of("k", "m"); n != want {
			t.Errorf("%d: %d", fixed, n)
		}
	}
}

// TestFoldedFieldNames checks that names which servers read as known fields are known, in any case and with letters that
// Unicode folds to ASCII.
func TestFoldedFieldNames(t *testing.T) {
	for _, name := range []string{"service_tier", "Service-Tier", "\u017fervice_tier", "\u017fervice_t\u0131er", "model\u017f", "bac\u212aground", "FALLBAC\u212aS"} {
		if known := fieldOf([]byte(name)) != nil; known != (name != "\u017fervice_t\u0131er") {
			t.Errorf("%q is known: %t", name, known)
		}
	}
}
