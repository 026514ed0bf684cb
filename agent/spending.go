package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// spending counts the tokens and the money of one run. Runs inside its calls add to it while
// it waits for them.
type spending struct {
	run    string
	limits limits
	// price returns the cost of usage with a model, and false if it is unknown.
	price func(m llm.Model, id string, u llm.Usage) (catalog.Money, bool)
	// outer are the budgets that this run is part of: those of the runs in whose calls it is,
	// nearest first, and pools.
	outer []*spending

	usage         llm.Usage
	nestedTokens  atomic.Int64 // of runs inside that are not over
	settledTokens atomic.Int64 // of this run when its calls began
	money         atomic.Int64
	unpriced      atomic.Bool // a part of the cost is unknown
}

type spendingKey struct{}

// enclosing returns the spending of the run whose call ctx belongs to, nil if there is none.
func enclosing(ctx context.Context) *spending {
	s, _ := ctx.Value(spendingKey{}).(*spending)
	return s
}

// within returns the budgets that a run in a call of ctx is part of.
func within(ctx context.Context) []*spending {
	s := enclosing(ctx)
	if s == nil {
		return nil
	}
	return s.all()
}

// all returns s and the budgets that it is part of.
func (s *spending) all() []*spending { return append([]*spending{s}, s.outer...) }

// pooled reports whether s is the spending of a [Pool].
func (s *spending) pooled() bool { return s.run == "" }

// restore continues from the spending on record. A pool counts only what is spent from now on.
func (s *spending) restore(p *recordedRun) {
	s.usage = p.usage
	for _, at := range s.all() {
		if !at.pooled() {
			at.add(p.cost, p.unpriced)
		}
	}
}

// add counts a cost; unpriced reports that another part of it is unknown.
func (s *spending) add(sum catalog.Money, unpriced bool) {
	s.money.Add(int64(sum))
	if unpriced {
		s.unpriced.Store(true)
	}
}

// owner names the run or pool of a budget in an error.
func (s *spending) owner() string {
	if s.pooled() {
		return "the pool"
	}
	return "run " + s.run
}

// cost is the money spent so far, with that of runs inside.
func (s *spending) cost() catalog.Money { return catalog.Money(s.money.Load()) }

// affordable refuses to ask a model without a known price if this run, or a run that it is
// part of, has a budget in money.
func (s *spending) affordable(m llm.Model, id string) error {
	for _, at := range s.all() {
		if at.limits.Money == 0 {
			continue
		}
		if _, known := s.price(m, id, llm.Usage{Input: 1, Output: 1}); !known {
			whose := ""
			if at != s {
				whose = " of " + at.owner() + ", which this one is part of,"
			}
			return fmt.Errorf("agent: the budget of %s%s cannot be kept, because the price of %s is not known: set Agent.Cost, or put a price into models.yaml", at.limits.Money, whose, cmp.Or(id, "the model"))
		}
	}
	return nil
}

// asked counts the usage of an answer, for this run and the runs that it is part of. They
// get the final usage when the call is over.
func (s *spending) asked(m llm.Model, id string, u llm.Usage) {
	s.usage = s.usage.Add(u)
	if !u.IsZero() {
		sum, known := s.price(m, id, u)
		if !known {
			sum = 0
		}
		s.charge(sum, !known)
	}
	for _, at := range s.outer {
		at.nestedTokens.Add(int64(u.Input + u.Output))
	}
}

// charge adds to the cost of this run and of the runs that it is part of. unpriced reports that
// another part of the cost is unknown.
func (s *spending) charge(sum catalog.Money, unpriced bool) {
	for _, at := range s.all() {
		at.add(sum, unpriced)
	}
}

// settle marks the tokens of the run itself as counted, before its calls run.
func (s *spending) settle() { s.settledTokens.Store(int64(s.usage.Input + s.usage.Output)) }

// addCall adds the usage that a call reported.
func (s *spending) addCall(u *llm.Usage) {
	if u == nil {
		return
	}
	s.usage = s.usage.Add(*u)
	s.settledTokens.Add(int64(u.Input + u.Output))
	if left := s.nestedTokens.Add(-int64(u.Input + u.Output)); left < 0 { // a replay counts no nested tokens
		s.nestedTokens.Store(0)
	}
}

// exhausted returns the error of a run that has used up its money or its tokens, or those of
// a run that it is part of. cost is the cost of this run, turns its number of answers, and
// name the name of its model.
func (s *spending) exhausted(cost catalog.Money, turns int, name string) error {
	taken := fmt.Sprintf("%d turns", turns)
	if turns == 1 {
		taken = "1 turn"
	}
	for _, at := range s.all() {
		e := &BudgetError{Money: at.limits.Money, Spent: cost, Pool: at.pooled(), in: taken}
		if at != s {
			e.Spent, e.in = at.cost(), ""
			e.of = at.owner()
		}
		switch {
		case e.Money == 0:
		case e.Spent >= e.Money:
			return e
		case s.unpriced.Load():
			return fmt.Errorf("agent: the budget of %s cannot be kept, because a part of what %s did has no known price", e.Money, name)
		}
	}
	for _, at := range s.all() {
		e := &BudgetError{Tokens: at.limits.Tokens, SpentTokens: int(at.tokens(at == s)), Pool: at.pooled(), in: taken}
		if at != s {
			e.of, e.in = at.owner(), ""
		}
		if e.Tokens > 0 && e.SpentTokens >= e.Tokens {
			return e
		}
	}
	return nil
}

// BudgetError is the error of a run whose budget of tokens or money is used up: its own, that of a
// run in whose call it is, or that of a [Pool].
type BudgetError struct {
	// Tokens or Money is the budget, the other is 0.
	Tokens int
	Money  catalog.Money
	// SpentTokens or Spent is what was spent of it.
	SpentTokens int
	Spent       catalog.Money
	Pool        bool // the budget is that of a pool

	of, in string
}

// Error describes the budget and what was spent.
func (e *BudgetError) Error() string {
	budget, spent := e.Money.String(), e.Spent.String()
	if e.Tokens > 0 {
		budget, spent = fmt.Sprintf("%d tokens", e.Tokens), fmt.Sprint(e.SpentTokens)
	}
	if e.of != "" {
		budget += " of " + e.of
	}
	if e.in != "" {
		spent += " were spent in " + e.in
	} else {
		spent += " were spent"
	}
	return fmt.Sprintf("agent: the budget of %s is used up: %s", budget, spent)
}

// tokens returns how many tokens were spent, by the run that asks or by a run that waits for
// it in a call.
func (s *spending) tokens(own bool) int64 {
	if own {
		return int64(s.usage.Input + s.usage.Output)
	}
	return s.settledTokens.Load() + s.nestedTokens.Load()
}

// priced is a model that knows its price, like those of package provider.
type priced interface{ Info() catalog.Model }

// maxWrapped bounds how many models inside a model are tried.
const maxWrapped = 100

// infoOf returns the catalog entry of a model, or of the model that it wraps, and false if
// neither has one.
func infoOf(m llm.Model) (catalog.Model, bool) {
	if p, ok := inner[priced](m); ok {
		return p.Info(), true
	}
	return catalog.Model{}, false
}

// inner returns a model, or the first model that it wraps, that implements T.
func inner[T any](m llm.Model) (T, bool) {
	for range maxWrapped {
		if p, ok := m.(T); ok {
			return p, true
		}
		around, ok := m.(interface{ Unwrap() llm.Model })
		if !ok {
			break // also if m is nil
		}
		m = around.Unwrap()
	}
	var none T
	return none, false
}

// price returns the cost of usage with a model, and false if it is unknown.
func (a *Agent) price(m llm.Model, id string, u llm.Usage) (catalog.Money, bool) {
	if a.Cost != nil {
		return a.Cost(id, u)
	}
	info, ok := infoOf(m)
	if !ok {
		return 0, false
	}
	return info.Cost(u)
}

// affords checks the price of the models that a run will certainly ask.
func (a *Agent) affords(s *spending, turn int) error {
	m, id := a.modelOf(turn)
	if err := s.affordable(m, id); err != nil {
		return err
	}
	if a.Ladder != nil && a.Ladder.Stronger != nil {
		return s.affordable(a.Ladder.Stronger, a.Ladder.StrongerID)
	}
	return nil
}

// Pool is a budget that several agents share: see [Agent.Pool]. It counts what the models of their
// runs read, write and cost from now on in this process, with those of runs inside their calls.
// When it is used up, each run ends with a [BudgetError], as if its own budget were used up: no further
// model is asked and no further call is begun. An answer that has begun may go beyond it. It is safe for concurrent use.
type Pool struct{ spent spending }

// NewPool returns a budget of that many tokens and that much money; 0 means no bound. A model whose
// price is not known is not asked from a pool that bounds money.
func NewPool(tokens int, money catalog.Money) *Pool {
	return &Pool{spending{limits: limits{Tokens: max(tokens, 0), Money: max(money, 0)}}}
}

// Spent returns the tokens and the money that were spent.
func (p *Pool) Spent() (tokens int, money catalog.Money) {
	return int(p.spent.tokens(false)), p.spent.cost()
}

// within adds p to the budgets that a run is part of, unless it is among them.
func (p *Pool) within(s *spending) {
	if p == nil {
		return
	}
	for _, at := range s.outer {
		if at == &p.spent {
			return
		}
	}
	s.outer = append(s.outer, &p.spent)
}
