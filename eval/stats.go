package eval

import (
	"math"
	"math/big"
	"math/rand/v2"
)

// Interval is a share with the ends of its 95 % interval.
type Interval struct {
	Hits  int     `json:"hits"`
	Of    int     `json:"of"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// z95 is the 97.5 % point of the normal distribution.
const z95 = 1.959963984540054

// Wilson returns the share of hits with its 95 % score interval (E. B. Wilson, 1927). Of nothing, all is possible.
func Wilson(hits, of int) Interval {
	if of == 0 {
		return Interval{Low: 0, High: 1}
	}
	n, p := float64(of), float64(hits)/float64(of)
	centre := (p + z95*z95/(2*n)) / (1 + z95*z95/n)
	half := z95 / (1 + z95*z95/n) * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	low, high := max(0, centre-half), min(1, centre+half)
	if hits == 0 {
		low = 0
	}
	if hits == of {
		high = 1
	}
	return Interval{Hits: hits, Of: of, Share: p, Low: low, High: high}
}

// McNemar returns the probability of a split at least as uneven as that of the cases that only one of two runs passed,
// if both are equally good: the exact two-sided test.
func McNemar(onlyA, onlyB int) float64 {
	n := onlyA + onlyB
	if n == 0 {
		return 1
	}
	sum, term := new(big.Int), new(big.Int)
	for k := 0; k <= min(onlyA, onlyB); k++ {
		sum.Add(sum, term.Binomial(int64(n), int64(k)))
	}
	tail := new(big.Rat).SetFrac(sum.Lsh(sum, 1), new(big.Int).Lsh(big.NewInt(1), uint(n)))
	p, _ := tail.Float64()
	return min(1, p)
}

// resamples is the number of samples of a bootstrap.
const resamples = 2000

// Bootstrap returns the 95 % interval of the mean of paired differences, by resampling them. The same differences give
// the same interval.
func Bootstrap(differences []float64) (mean, low, high float64) {
	n := len(differences)
	if n == 0 {
		return 0, 0, 0
	}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range n {
			sum += differences[random.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	for _, d := range differences {
		mean += d
	}
	return mean / float64(n), percentile(means, 0.025), percentile(means, 0.975)
}

// PassAt returns the probability that at least one of k answers passes, estimated from n answers of which hits passed.
func PassAt(k, n, hits int) float64 { return 1 - choose(n-hits, k)/choose(n, k) }

// PassAll returns the probability that all of k answers pass, estimated from n answers of which hits passed.
func PassAll(k, n, hits int) float64 { return choose(hits, k) / choose(n, k) }

// choose returns the number of ways to choose k of n as a float; 0 if there are fewer than k.
func choose(n, k int) float64 {
	if n < k {
		return 0
	}
	out := 1.0
	for i := range k {
		out *= float64(n-i) / float64(i+1)
	}
	return out
}
