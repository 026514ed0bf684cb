package agent

import (
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// window is what the run knows about how much its model can take.
type window struct {
	known   *Windows
	refused int     // tokens of a request that the model found too long, less a quarter; 0 if there was none
	size    int     // estimated tokens of the next request
	factor  float64 // tokens the vendor counts for each estimated token; 0 if unknown
}

// Windows is how much models can take that refused a question as too long; see
// [Agent.Windows]. The zero value knows nothing. It may be used by many runs at once.
type Windows struct {
	mu     sync.Mutex
	tokens map[string]int // of a question, by id of the model
}

// maxWindows bounds how many models are remembered.
const maxWindows = 1_000

// learn remembers that a model may be asked questions of so many tokens.
func (w *Windows) learn(id string, tokens int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tokens == nil || len(w.tokens) >= maxWindows {
		w.tokens = make(map[string]int)
	}
	w.tokens[id] = tokens
}

// of returns how many tokens a question to a model may have; 0 if nothing was learnt.
func (w *Windows) of(id string) int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tokens[id]
}

// Only the counts of requests with at least minCounted tokens are compared with the estimate.
// The factor between the two stays within these bounds.
const (
	minCounted           = 200
	minFactor, maxFactor = 0.5, 2.5
)

// corrected converts an estimate to the count of the model's vendor.
func (w *window) corrected(size int) int {
	if w.factor == 0 {
		return size
	}
	return int(float64(size) * w.factor)
}

// estimated converts a count of the model's vendor to an estimate.
func (w *window) estimated(count int) int {
	if w.factor == 0 {
		return count
	}
	return int(float64(count) / w.factor)
}

// counted learns how the vendor counts from the usage of one request.
func (w *window) counted(u llm.Usage) {
	if w.size >= minCounted && u.Input > 0 {
		w.factor = min(max(float64(u.Input)/float64(w.size), minFactor), maxFactor)
	}
}
