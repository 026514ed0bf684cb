package admit

import (
	"math"
	"slices"
	"sync"
)

// maxOutput is the expected output that means the maximum of the model.
const maxOutput = math.MaxInt

// Reserves is what requests without an output limit reserve of budgets. The zero value learns it: for each key and model,
// 95 of 100 answers so far were not longer. It is safe for concurrent use.
type Reserves struct {
	// Fixed is a number of output tokens in place of the learned one; a negative number means the maximum of the model.
	Fixed int

	mu      sync.Mutex
	answers map[[2]string]*lengths // by key and model
}

// lengths are the output tokens of the last answers.
type lengths struct {
	last [lengthsKept]int32
	n    int
}

const (
	lengthsKept = 64
	lengthsMin  = 8    // answers before the learned number counts
	maxLengths  = 4096 // keys and models
)

// of returns the output tokens to reserve for an answer.
func (r *Reserves) of(key, model string) int {
	switch {
	case r.Fixed > 0:
		return r.Fixed
	case r.Fixed < 0:
		return maxOutput
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.answers[[2]string{key, model}]
	if l == nil || l.n < lengthsMin {
		return defaultOutput
	}
	last := slices.Clone(l.last[:min(l.n, lengthsKept)])
	slices.Sort(last)
	return int(last[(len(last)*95+99)/100-1])
}

// learn records the length of an answer. Clients choose the names of models of wildcard routes, so some are forgotten
// above a limit.
func (r *Reserves) learn(key, model string, output int) {
	if key == "" || output <= 0 || output > largestOutput || r.Fixed != 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := [2]string{key, model}
	l := r.answers[at]
	if l == nil {
		if len(r.answers) >= maxLengths {
			for old := range r.answers {
				delete(r.answers, old)
				break
			}
		}
		if r.answers == nil {
			r.answers = make(map[[2]string]*lengths)
		}
		l = new(lengths)
		r.answers[at] = l
	}
	l.last[l.n%lengthsKept] = int32(output)
	l.n++
}
