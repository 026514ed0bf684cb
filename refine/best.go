package refine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// Best asks a model several times and takes the answer that scores best. How
// often is the program's own wish and not taken from the budget; questions that
// are asked again below share the one budget of the request.
//
// Answers are held back until one is taken. The usage of the answer is that of
// all. A tool is never run for the sake of a score.
type Best struct {
	Model llm.Model
	// Attempts is how often the model is asked in total; 0 means 3.
	Attempts int
	// Score rates an answer from 0 to 1. It is called for one answer at a time. Nil takes the first
	// answer.
	Score func(*llm.Response) float64
	// Threshold is the score that is good enough; 0 means 0.5.
	Threshold float64
	// All asks all the times and takes the best, whatever its score. Without
	// it the first answer at the threshold is taken, or the best one if it
	// reaches half of it.
	All bool
	// Vary changes the request of an attempt, which counts from 0; nil asks
	// the same each time. It may change the request it is given.
	Vary func(attempt int, req *llm.Request)
	// Together asks all at once. It implies All. A panic of the model is an
	// error of that attempt.
	Together bool
}

// BestOf asks m n times, one after the other, and takes the answer with the
// best score, the first among equals.
func BestOf(m llm.Model, n int, score func(*llm.Response) float64) llm.Model {
	return &Best{Model: m, Attempts: n, Score: score, All: true}
}

// Sampled reports which of several answers is taken.
type Sampled struct {
	Scores []float64 `json:"scores"` // of the attempts; -1 for a failed attempt
	Taken  int       `json:"taken"`  // counts from 0; -1 if none is
}

// EventType returns "sampled".
func (Sampled) EventType() string { return "sampled" }

// sample is one attempt.
type sample struct {
	resp  *llm.Response
	score float64
	err   error
}

// Unwrap returns the model that is asked.
func (b *Best) Unwrap() llm.Model { return b.Model }

// Stream asks and yields the answer that is taken.
func (b *Best) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		samples := b.ask(ctx, req)
		taken, err := b.take(samples)
		said := Sampled{Taken: taken}
		var usage llm.Usage
		for _, s := range samples {
			said.Scores = append(said.Scores, s.score)
			usage = usage.Add(s.resp.Finish.Usage)
		}
		if !yield(said, nil) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		resp := samples[taken].resp
		resp.Finish.Usage = usage
		deliver(resp.Events(), nil, yield)
	}
}

func (b *Best) ask(ctx context.Context, req *llm.Request) []sample {
	samples := make([]sample, cmp.Or(max(b.Attempts, 0), defaultAttempts))
	if b.Together {
		var asking sync.WaitGroup
		for i := range samples {
			asking.Go(func() { samples[i] = b.apart(ctx, req, i) })
		}
		asking.Wait()
		for i := range samples {
			b.rate(&samples[i])
		}
		return samples
	}
	for i := range samples {
		samples[i] = b.one(ctx, req, i)
		b.rate(&samples[i])
		if samples[i].err == nil && !b.All && (b.Score == nil || samples[i].score >= b.threshold()) || ctx.Err() != nil {
			return samples[:i+1]
		}
	}
	return samples
}

func (b *Best) one(ctx context.Context, req *llm.Request, i int) sample {
	if b.Vary != nil {
		req = req.Clone()
		b.Vary(i, req)
	}
	var s sample
	s.resp, s.err = llm.Generate(ctx, b.Model, req)
	return s
}

// apart makes one attempt on a separate goroutine. It recovers panics, because no caller can: a
// model that panics has failed.
func (b *Best) apart(ctx context.Context, req *llm.Request, i int) (s sample) {
	defer func() {
		if p := recover(); p != nil {
			s = sample{resp: new(llm.Response), err: &llm.Error{Op: "refine.Best", Kind: llm.Unknown, Err: fmt.Errorf("the model panicked: %v", p)}}
		}
	}()
	return b.one(ctx, req, i)
}

// rate gives an attempt its score.
func (b *Best) rate(s *sample) {
	switch {
	case s.err != nil:
		s.score = -1
	case b.Score == nil:
		s.score = 1
	default:
		s.score = b.Score(s.resp)
	}
}

func (b *Best) threshold() float64 { return cmp.Or(b.Threshold, 0.5) }

// take returns the place of the best answer. It must reach half the threshold
// unless the best is wanted whatever its score.
func (b *Best) take(samples []sample) (int, error) {
	best := -1
	var last error
	for i, s := range samples {
		switch {
		case s.err != nil:
			last = s.err
		case best < 0 || s.score > samples[best].score:
			best = i
		}
	}
	if best >= 0 && (b.All || b.Together || b.Score == nil || samples[best].score >= b.threshold()/2) {
		return best, nil
	}
	if last != nil {
		return -1, last
	}
	return -1, &llm.Error{Op: "refine.Best", Kind: llm.BrokenPromise,
		Err: fmt.Errorf("refine failed after %d attempts: no prediction met threshold %g", len(samples), b.threshold())}
}

// Views makes each attempt look at the task in its own way: an instruction is
// added to the system text. Attempts beyond the list start over.
func Views(instructions ...string) func(int, *llm.Request) {
	list := slices.Clone(instructions)
	return func(i int, req *llm.Request) {
		if len(list) == 0 {
			return
		}
		if req.System != "" {
			req.System += "\n\n"
		}
		req.System += list[i%len(list)]
	}
}

// Temperatures gives each attempt its own temperature. Attempts beyond the list
// start over.
func Temperatures(list ...float64) func(int, *llm.Request) {
	temps := slices.Clone(list)
	return func(i int, req *llm.Request) {
		if len(temps) > 0 {
			t := temps[i%len(temps)]
			req.Temperature = &t
		}
	}
}
