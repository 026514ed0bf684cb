package gateway

import (
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// allowance is how much output the members of a request allow, whatever they are called and wherever they stand: a host may read any of them.
type allowance struct {
	tokens  int  // the largest bound of an answer; 0 if none is said
	open    bool // one of them says that there is no bound
	answers int  // the largest number of answers; 0 if none is said
}

// add takes note of a member. A number that no host can mean is an error, which names the member as the client wrote it.
func (a *allowance) add(m *vendorMember, name, value []byte) error {
	n, whole := js.Int(value)
	if m.meaning == allowsAnswers {
		if !whole || n < 1 || n > mostAnswers {
			return invalid("%.60s has to be a whole number from 1 to %d", name, mostAnswers)
		}
		a.answers = max(a.answers, int(n))
		return nil
	}
	switch {
	case !whole || n < -2:
		return invalid("%.60s has to be a whole number of tokens; -1 means no bound", name)
	case n <= 0:
		a.open = true // which local servers write as -1 or -2, and some read 0 as
	default:
		a.tokens = max(a.tokens, int(min(n, largestOutput)))
	}
	return nil
}

// output returns how many tokens of output a request may use at most, and how many are usual where it does not say so: what it allows, but no more
// than the model gives, for each answer that it wants.
func (a allowance) output(req *llm.Request, info catalog.Model) (most, usual int) {
	answers := min(max(req.N, a.answers, 1), mostAnswers)
	gives := largestOutput
	if info.MaxOutput > 0 {
		gives = min(info.MaxOutput, largestOutput)
	}
	said := min(max(req.MaxTokens, a.tokens), gives)
	if said > 0 && !a.open {
		return said * answers, said * answers
	}
	usual = max(said, min(defaultOutput, gives))
	most = usual
	if info.MaxOutput > 0 {
		most = gives
	}
	return most * answers, usual * answers
}
