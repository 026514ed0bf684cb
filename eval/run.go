package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The kinds of entries of an evaluation in the journal.
const (
	KindPlan  journal.Kind = "eval.plan"  // Experiment
	KindTrial journal.Kind = "eval.trial" // Trial
)

// Experiment is what an evaluation asks: It is the first entry after the start of its record.
type Experiment struct {
	Suite  string   `json:"suite"`
	Hash   string   `json:"suite_hash"`
	Cases  int      `json:"cases"`
	Models []string `json:"models"`
	Repeat int      `json:"repeat"`
	// Loop is how often a call that cannot run goes back to the model; 0 counts the first answer.
	Loop int `json:"loop,omitempty"`
	// Results is how much of the results of tools the models see.
	Results invoke.Mode `json:"results,omitempty"`
	// Judge is the model that judges answers, "" without one.
	Judge string `json:"judge,omitempty"`
	// Temperature is that of all questions; nil leaves it to the models.
	Temperature *float64 `json:"temperature,omitempty"`
	// Label distinguishes measurements of the same models with the same suite.
	Label string `json:"label,omitempty"`
	// Source is the file or the name from which the suite was read.
	Source string `json:"source,omitempty"`
}

// Run returns the name of the plan's record: the same plan continues the same record. The source does not count.
func (p Experiment) Run() string {
	p.Source = ""
	b, err := json.Marshal(p)
	if err != nil {
		return "eval"
	}
	return "eval-" + hashText(string(b))
}

// Plan returns the plan of running a suite.
func (r *Evaluator) Plan(s *Suite) Experiment {
	return Experiment{
		Suite: s.Name, Hash: s.Hash, Cases: len(s.Cases), Models: r.Models, Repeat: max(1, r.Repeat), Loop: r.Loop, Results: r.Results,
		Judge: r.Judge, Temperature: r.Temperature, Label: r.Label, Source: s.Source,
	}
}

// Evaluator asks models the cases of suites.
type Evaluator struct {
	// Store keeps the answers; it must not be nil.
	Store journal.Store
	// Models are asked every case, Repeat times each; 0 means once.
	Models []string
	Repeat int
	// Open opens a model by its id.
	Open func(id string) (llm.Model, error)
	// Parallel is the number of questions to one vendor at a time; 0 means 4. ParallelOf overrides it for vendors by
	// name, which is the part of the model id in front of the slash.
	Parallel   int
	ParallelOf map[string]int
	// Loop is how often a call that cannot run, or an answer that does not match its schema, goes back to the model with
	// its problem. 0 counts the first answer of cases that are not conversations.
	Loop int
	// Results is how much of the results of tools the models see.
	Results invoke.Mode
	// Judge is the id of the model that judges answers by the rubrics of the suite; it must be set if there are any.
	Judge string
	// Temperature is that of all questions; nil leaves it to the models.
	Temperature *float64
	// Label distinguishes measurements of the same models with the same suite: another label asks again.
	Label string
	// Tokens, Money and Time end the run before a question when they are used up; 0 means no limit.
	Tokens int
	Money  catalog.Money
	Time   time.Duration
	// Cost returns the price of usage, and false if it is unknown; nil knows none.
	Cost func(id string, u llm.Usage) (catalog.Money, bool)
	// Work is the folder for the files of cases; "" means one in the system's folder for temporary files.
	Work string
	// Progress is called after every answer, if it is set.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Done, Total int
	// Failed counts the answers that are not whole because of an error.
	Failed int
	// Left estimates the time until the end; 0 is unknown.
	Left  time.Duration
	Trial *Trial
}

// ErrBudget is the error of a run that ended because a limit of its Evaluator is used up. The same run continues with a
// higher limit.
var ErrBudget = errors.New("eval: the budget of the run is used up")

// MissingError is the error of a run in which some answers could not be had. Running it again asks for them.
type MissingError struct {
	Failed, Total int
	First         string // the case, the model and the error of the first
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("eval: %d of %d answers failed, and the same command asks for them again; the first was of %s", e.Failed, e.Total, e.First)
}

// Run asks every model every case and returns the name of the record. Answers that are on record are not asked again.
// It returns an error if answers are missing. The same call then asks only for the missing answers.
func (r *Evaluator) Run(ctx context.Context, s *Suite) (run string, err error) {
	plan := r.Plan(s)
	run = plan.Run()
	if err := r.check(s); err != nil {
		return run, err
	}
	seen, err := r.seen(ctx, run)
	if err != nil || seen.sealed {
		return run, err
	}
	opened := make(map[string]llm.Model, len(r.Models))
	for _, id := range r.Models {
		if opened[id], err = r.Open(id); err != nil {
			return run, err // nothing is recorded yet
		}
	}
	for _, id := range r.others(s) {
		if _, err := r.Open(id); err != nil {
			return run, err
		}
	}
	rec, err := journal.Open(ctx, r.Store, run)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, rec.Close(context.WithoutCancel(ctx))) }()
	if !seen.planned {
		if _, err := rec.Write(ctx, journal.KindStart, journal.Start{Task: "evaluation of " + s.Name}); err != nil {
			return run, err
		}
		if _, err := rec.Write(ctx, KindPlan, plan); err != nil {
			return run, err
		}
	}
	w := &work{Evaluator: r, suite: s, plan: plan, run: run, rec: rec, opened: opened, done: seen.done, before: seen.answered(), start: time.Now(), spent: seen.spent}
	if err := w.all(ctx); err != nil {
		return run, err
	}
	_, err = rec.Seal(ctx)
	return run, err
}

// others returns the models that judge answers and play people.
func (r *Evaluator) others(s *Suite) []string {
	var out []string
	for i := range s.Cases {
		c := &s.Cases[i]
		if c.Expect.Rubric != "" && !slices.Contains(out, r.Judge) {
			out = append(out, r.Judge)
		}
		if c.User != nil && !slices.Contains(out, c.User.Model) {
			out = append(out, c.User.Model)
		}
	}
	return out
}

func (r *Evaluator) check(s *Suite) error {
	if len(r.Models) == 0 {
		return errors.New("eval: no model is named")
	}
	for i, id := range r.Models {
		if slices.Contains(r.Models[:i], id) {
			return fmt.Errorf("eval: model %s is named twice", id)
		}
	}
	for i := range s.Cases {
		if s.Cases[i].Expect.Rubric != "" && r.Judge == "" {
			return fmt.Errorf("eval: case %q needs a judge, and no model is named for it", s.Cases[i].ID)
		}
	}
	return nil
}

// key names a trial within a run.
type key struct {
	Case, Model string
	Repeat      int
}

// recorded is what the record of a run holds already.
type recorded struct {
	planned, sealed bool
	done            map[key]bool
	spent           spending
}

// answered counts the answers that are not asked again.
func (r *recorded) answered() int {
	n := 0
	for _, ok := range r.done {
		if ok {
			n++
		}
	}
	return n
}

func (r *Evaluator) seen(ctx context.Context, run string) (*recorded, error) {
	out := &recorded{done: make(map[key]bool)}
	for e, err := range journal.Whole(r.Store.Read(ctx, run, 1)) {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case KindPlan:
			out.planned = true
		case KindTrial:
			var t Trial
			if err := json.Unmarshal(e.Body, &t); err != nil {
				return nil, fmt.Errorf("eval: entry %d of %s: %w", e.Seq, run, err)
			}
			out.done[key{t.Case, t.Model, t.Repeat}] = t.Error == ""
			out.spent.add(&t)
		case journal.KindSeal:
			out.sealed = true
		}
	}
	return out, nil
}

// Trials yields the trials of a run from its record, in the order in which they were recorded. Of a question that was
// asked again after an error, the last one counts, so callers that need one trial each keep the last.
func Trials(ctx context.Context, store journal.Store, run string) func(func(Trial, error) bool) {
	return func(yield func(Trial, error) bool) {
		for e, err := range journal.Whole(store.Read(ctx, run, 1)) {
			var t Trial
			if err == nil && e.Kind != KindTrial {
				continue
			}
			if err == nil {
				err = json.Unmarshal(e.Body, &t)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// ReadPlan returns the plan of a run, and whether the run is complete.
func ReadPlan(ctx context.Context, store journal.Store, run string) (plan Experiment, complete bool, err error) {
	found := false
	for e, err := range journal.Whole(store.Read(ctx, run, 1)) {
		if err != nil {
			return plan, false, err
		}
		switch e.Kind {
		case KindPlan:
			found = true
			if err := json.Unmarshal(e.Body, &plan); err != nil {
				return plan, false, err
			}
		case journal.KindSeal:
			complete = true
		}
	}
	if !found {
		err = fmt.Errorf("eval: %s is not the record of an evaluation", run)
	}
	return plan, complete, err
}

// spending is what a run has used.
type spending struct {
	tokens int
	money  catalog.Money
}

func (s *spending) add(t *Trial) {
	s.tokens += t.Usage.Input + t.Usage.Output + t.Aside.Input + t.Aside.Output
	s.money += t.Cost + t.AsideCost
}

// work is a run in progress.
type work struct {
	*Evaluator
	suite  *Suite
	plan   Experiment
	run    string
	rec    *journal.Recorder
	opened map[string]llm.Model
	done   map[key]bool // as recorded before; not changed
	start  time.Time

	mu     sync.Mutex
	spent  spending
	before int // answers that were recorded before
	asked  int // by this process
	failed int
	why    string           // of the first failure
	ended  map[string]error // models that cannot be asked at all
}

// job is a question to ask.
type job struct {
	c      *Case
	model  string
	opened llm.Model
	repeat int
}

// all asks the missing questions. Each vendor has a few workers.
func (w *work) all(ctx context.Context) error {
	w.ended = make(map[string]error)
	vendors := make(map[string][]string)
	for _, id := range w.Models {
		vendor, _, _ := strings.Cut(id, "/")
		vendors[vendor] = append(vendors[vendor], id)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if w.Time > 0 {
		timer := time.AfterFunc(w.Time, func() { cancel(ErrBudget) })
		defer timer.Stop()
	}
	var running sync.WaitGroup
	for vendor, models := range vendors {
		jobs := make(chan job)
		running.Go(func() {
			defer close(jobs)
			w.feed(ctx, models, jobs)
		})
		for range w.parallel(vendor) {
			running.Go(func() {
				for j := range jobs {
					if err := w.one(ctx, j); err != nil {
						cancel(err)
					}
				}
			})
		}
	}
	running.Wait()
	return w.result(ctx)
}

func (w *work) result(ctx context.Context) error {
	errs := []error{context.Cause(ctx)}
	for _, id := range w.Models {
		if err := w.ended[id]; err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if w.failed > 0 {
		return &MissingError{Failed: w.failed, Total: w.total(), First: w.why}
	}
	return nil
}

func (w *work) total() int { return len(w.suite.Cases) * len(w.Models) * w.plan.Repeat }

// feed hands out the questions to the models of one vendor, until the run ends.
func (w *work) feed(ctx context.Context, models []string, jobs chan<- job) {
	for repeat := 1; repeat <= w.plan.Repeat; repeat++ {
		for i := range w.suite.Cases {
			for _, id := range models {
				c := &w.suite.Cases[i]
				if w.done[key{c.ID, id, repeat}] || w.unusable(id) {
					continue
				}
				select {
				case jobs <- job{c, id, w.opened[id], repeat}:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// parallel returns the number of questions to a vendor at a time.
func (r *Evaluator) parallel(vendor string) int {
	if n := r.ParallelOf[vendor]; n > 0 {
		return n
	}
	if r.Parallel > 0 {
		return r.Parallel
	}
	return 4
}

func (w *work) unusable(model string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended[model] != nil
}

// exhausted reports whether a budget does not allow another question.
func (w *work) exhausted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Tokens > 0 && w.spent.tokens >= w.Tokens || w.Money > 0 && w.spent.money >= w.Money
}

// one asks a question and records the answer. An error ends the run.
func (w *work) one(ctx context.Context, j job) error {
	if ctx.Err() != nil || w.unusable(j.model) {
		return nil
	}
	if w.exhausted() {
		return ErrBudget
	}
	began := time.Now()
	t, err := w.ask(ctx, j)
	if err == nil && j.c.Expect.Rubric != "" && t.Error == "" {
		t.Judged, err = w.judge(ctx, j.c, &t)
		err = t.lack(err)
	}
	if ctx.Err() != nil {
		return nil // given up, not answered
	}
	if err != nil {
		return err
	}
	t.Case, t.Model, t.Repeat, t.Latency = j.c.ID, j.model, j.repeat, time.Since(began).Milliseconds()
	if w.Cost != nil {
		t.Cost, _ = w.Cost(j.model, t.Usage)
	}
	if _, err := w.rec.Write(ctx, KindTrial, t); err != nil {
		return err
	}
	w.report(&t)
	return nil
}

// report counts an answer. A model that cannot be asked at all is left out from here on.
func (w *work) report(t *Trial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	w.spent.add(t)
	if t.Error != "" {
		w.failed++
		w.why = cmp.Or(w.why, fmt.Sprintf("%s, %s: %s", t.Case, t.Model, t.Error))
	}
	if t.Error != "" && (t.Kind == llm.Auth || t.Kind == llm.NotFound) && w.ended[t.Model] == nil {
		w.ended[t.Model] = errors.New(t.Error)
	}
	if w.Progress == nil {
		return
	}
	p := Progress{Done: w.before + w.asked, Total: w.total(), Failed: w.failed, Trial: t}
	if elapsed := time.Since(w.start); w.asked > 0 {
		p.Left = elapsed / time.Duration(w.asked) * time.Duration(p.Total-p.Done)
	}
	w.Progress(p)
}
