package session

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// affordable refuses a model without a known price if there is a budget, because the budget could not be enforced.
func (w *Session) affordable(m llm.Model, id string) error {
	if w.Budgeted == 0 {
		return nil
	}
	if _, known := CostOf(m, id, llm.Usage{Input: 1, Output: 1}); known {
		return nil
	}
	return fmt.Errorf("the budget of %s cannot be kept: the price of %s is not known. Put its price into models.yaml ('toolpost models show %s' shows what is known), or leave the budget out", w.Budgeted, id, id)
}

// costs returns a function for the cost of usage in a turn. It also covers the stronger model, which may be chosen
// during the turn.
func (w *Session) costs() func(id string, u llm.Usage) (catalog.Money, bool) {
	model, asked, better := w.Opened, w.Found.ID, w.better
	return func(id string, u llm.Usage) (catalog.Money, bool) {
		if id == asked || better == nil {
			return CostOf(model, id, u)
		}
		return CostOf(better, id, u)
	}
}

// CostOf returns the cost of usage with a model. Simulated models cost nothing.
func CostOf(m llm.Model, id string, u llm.Usage) (catalog.Money, bool) {
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
