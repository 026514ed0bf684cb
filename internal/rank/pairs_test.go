package rank

import "testing"

// Every pair is found again while the table grows, and no other.
func TestPairsAreFoundInATableThatGrows(t *testing.T) {
	x := newPairTerms(1)
	const n = 300
	for i := range int32(n) {
		for j := range int32(n) {
			if got := x.find(pair{i, j}); got != noTerm {
				t.Fatalf("%d, %d is term %d before it was put", i, j, got)
			}
			x.put(pair{i, j}, i*n+j)
		}
	}
	for i := range int32(n) {
		for j := range int32(n) {
			if got := x.find(pair{i, j}); got != i*n+j {
				t.Fatalf("%d, %d is term %d", i, j, got)
			}
		}
	}
}
