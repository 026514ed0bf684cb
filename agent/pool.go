package agent

import "github.com/toolpost/toolpost/catalog"

// Pool is a budget that several agents share: see [Agent.Pool]. It counts what the models of their
// runs read, write and cost from now on in this process, with those of runs inside their calls.
// When it is used up, each run ends as if its own budget were: no further model is asked and no
// further call is begun. An answer that has begun may go beyond it. It is safe for concurrent use.
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
