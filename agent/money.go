package agent

import (
	"cmp"
	"fmt"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// priced is a model that knows what it costs, like those of package provider.
type priced interface{ Info() catalog.Model }

// maxWrapped bounds how many models around another are looked into.
const maxWrapped = 100

// infoOf returns what a model knows of itself, or the one that it asks, and false if
// neither says.
func infoOf(m llm.Model) (catalog.Model, bool) {
	if p, ok := inner[priced](m); ok {
		return p.Info(), true
	}
	return catalog.Model{}, false
}

// inner returns a model, or the one that it asks, as something that it can do, and false
// if neither can.
func inner[T any](m llm.Model) (T, bool) {
	for range maxWrapped {
		if p, ok := m.(T); ok {
			return p, true
		}
		around, ok := m.(interface{ Unwrap() llm.Model })
		if !ok {
			break // also of nil
		}
		m = around.Unwrap()
	}
	var none T
	return none, false
}

// costOf returns what usage costs with a model, and false if that is not known.
func (a *Agent) costOf(m llm.Model, id string, u llm.Usage) (catalog.Money, bool) {
	if a.Cost != nil {
		return a.Cost(id, u)
	}
	info, ok := infoOf(m)
	if !ok {
		return 0, false
	}
	return info.Cost(u)
}

// affordable refuses to ask a model whose price is not known, if the run or one
// that it is part of has a budget in money.
func (l *loop) affordable(m llm.Model, id string) error {
	l.fallAgain(hookCost)
	for at := l; at != nil && l.cost != nil; at = at.outer {
		if at.Limits.Money == 0 {
			continue
		}
		if _, known := l.cost(m, id, llm.Usage{Input: 1, Output: 1}); !known {
			whose := ""
			if at != l {
				whose = " of run " + at.run + ", which this one is part of,"
			}
			return fmt.Errorf("agent: the budget of %s%s cannot be kept, because the price of %s is not known: set Agent.Cost, or put a price into models.yaml", at.Limits.Money, whose, cmp.Or(id, "the model"))
		}
	}
	return nil
}

// affords checks the models that a run is sure to ask.
func (a *Agent) affords(l *loop) error {
	m, id := a.models(l.turnNo + 1)
	if err := l.affordable(m, id); err != nil {
		return err
	}
	if a.Ladder != nil && a.Ladder.Stronger != nil {
		return l.affordable(a.Ladder.Stronger, a.Ladder.StrongerID)
	}
	return nil
}

// pay counts what an answer cost, for this run and those that it is part of.
func (l *loop) pay(m llm.Model, id string, u llm.Usage) {
	if l.cost == nil {
		l.fallAgain(hookCost)
		return
	}
	sum, known := l.cost(m, id, u)
	if !known {
		l.unpricedPart()
		return
	}
	l.charge(sum)
}

// unpricedPart says that a part of what a run did has no known price, here and in
// the runs that it is part of.
func (l *loop) unpricedPart() {
	for at := l; at != nil; at = at.outer {
		at.unpriced.Store(true)
	}
}

// charge adds to what a run cost.
func (l *loop) charge(sum catalog.Money) {
	for at := l; at != nil; at = at.outer {
		at.spent.Add(int64(sum))
	}
}

// spentMoney is what the models of a run have cost so far, also in runs inside.
func (l *loop) spentMoney(turns int) catalog.Money {
	if l.wasSpent != nil {
		return l.wasSpent(turns)
	}
	return catalog.Money(l.spent.Load())
}

// taken says how many turns there were.
func taken(turns int) string {
	if turns == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", turns)
}

// overspent returns the error of a run that has no money left.
func (l *loop) overspent(turns int) error {
	for at := l; at != nil; at = at.outer {
		limit := at.Limits.Money
		switch spent := at.spentMoney(turns); {
		case limit == 0:
		case at != l && spent >= limit:
			return fmt.Errorf("agent: the budget of %s of run %s is used up: %s were spent", limit, at.run, spent)
		case spent >= limit:
			return fmt.Errorf("agent: the budget of %s is used up: %s were spent in %s", limit, spent, taken(turns))
		case l.unpriced.Load():
			return fmt.Errorf("agent: the budget of %s cannot be kept, because a part of what %s did has no known price", limit, l.name())
		}
	}
	return nil
}
