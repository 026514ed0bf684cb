package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// budget returns the limit for the cost of a run's models, 0 if there is none.
func (s *settings) budget() (catalog.Money, error) {
	if s.Budget == "" {
		return 0, nil
	}
	sum, err := catalog.ParseMoney(s.Budget)
	if err == nil && sum == 0 {
		err = errors.New("with a budget of nothing no model can be asked; leave it out for no bound")
	}
	return sum, err
}

// affordable refuses a model without a known price if there is a budget, because the budget could not be enforced.
func (w *wiring) affordable(m llm.Model, id string) error {
	if w.money == 0 {
		return nil
	}
	if _, known := costOf(m, id, llm.Usage{Input: 1, Output: 1}); known {
		return nil
	}
	return fmt.Errorf("the budget of %s cannot be kept: the price of %s is not known. Put its price into models.yaml ('toolpost models show %s' shows what is known), or leave the budget out", w.money, id, id)
}

// costs returns a function for the cost of usage in a turn. It also covers the stronger model, which may be chosen
// during the turn.
func (w *wiring) costs() func(id string, u llm.Usage) (catalog.Money, bool) {
	model, asked, better := w.model, w.found.ID, w.better
	return func(id string, u llm.Usage) (catalog.Money, bool) {
		if id == asked || better == nil {
			return costOf(model, id, u)
		}
		return costOf(better, id, u)
	}
}

// costOf returns the cost of usage with a model. Simulated models cost nothing.
func costOf(m llm.Model, id string, u llm.Usage) (catalog.Money, bool) {
	if strings.HasPrefix(id, simPrefix) {
		return 0, true
	}
	if known, ok := m.(interface{ Info() catalog.Model }); ok {
		return known.Info().Cost(u)
	}
	return 0, false
}

// simPrefix is the prefix of the ids of simulated models.
const simPrefix = "sim/"

// costLine formats the cost of a run. It returns "" if the cost is 0.
func costLine(cost catalog.Money, unpriced bool) string {
	switch {
	case cost == 0:
		return ""
	case unpriced:
		return cost.String() + ", and what has no known price"
	}
	return cost.String()
}
