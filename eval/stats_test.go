package eval

import (
	"math"
	"testing"
)

// The intervals are those of R. G. Newcombe, Two-sided confidence intervals for the single proportion (1998), method 3.
func TestWilsonAgreesWithPublishedTable(t *testing.T) {
	for _, c := range []struct {
		hits, of  int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {29, 29, 0.8830, 1}} {
		i := Wilson(c.hits, c.of)
		if math.Abs(i.Low-c.low) > 5e-5 || math.Abs(i.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.hits, c.of, i.Low, i.High, c.low, c.high)
		}
	}
	if i := Wilson(0, 0); i.Low != 0 || i.High != 1 {
		t.Errorf("of nothing: %v to %v", i.Low, i.High)
	}
}

// The probabilities are sums of the binomial distribution with p = 1/2, as tabulated.
func TestMcNemarAgreesWithBinomialTable(t *testing.T) {
	for _, c := range []struct {
		a, b int
		p    float64
	}{{0, 0, 1}, {5, 5, 1}, {0, 5, 0.0625}, {0, 6, 0.03125}, {2, 10, 0.03857421875}, {1, 9, 0.021484375}, {10, 2, 0.03857421875}, {4, 6, 0.75390625}} {
		if p := McNemar(c.a, c.b); math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%d against %d: %v, want %v", c.a, c.b, p, c.p)
		}
	}
}

func TestPassAtK(t *testing.T) {
	for _, c := range []struct {
		k, n, hits int
		one, all   float64
	}{{1, 4, 3, 0.75, 0.75}, {2, 4, 2, 1 - 1.0/6, 1.0 / 6}, {4, 4, 4, 1, 1}, {3, 4, 2, 1, 0}} {
		if one, all := PassAt(c.k, c.n, c.hits), PassAll(c.k, c.n, c.hits); math.Abs(one-c.one) > 1e-12 || math.Abs(all-c.all) > 1e-12 {
			t.Errorf("k %d of %d with %d hits: %v and %v, want %v and %v", c.k, c.n, c.hits, one, all, c.one, c.all)
		}
	}
}

func TestBootstrapIsRepeatable(t *testing.T) {
	d := []float64{1, 0, 0, 1, -1, 0, 1, 1, 0, 0}
	mean, low, high := Bootstrap(d)
	again, low2, high2 := Bootstrap(d)
	if mean != again || low != low2 || high != high2 {
		t.Error("the same differences gave another interval")
	}
	if mean != 0.3 || low > mean || high < mean || low < -0.3 || high > 0.8 {
		t.Errorf("%v, %v to %v", mean, low, high)
	}
}
