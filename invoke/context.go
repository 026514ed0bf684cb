package invoke

import (
	"context"
	"encoding/json"

	"github.com/toolpost/toolpost/tool"
)

// An execution is the [tool.Runtime] of its tool.

// Info implements [tool.Runtime].
func (e *execution) Info() tool.Info { return e.info }

// mostReports is how many reports wait for somebody to read them.
const mostReports = 64

// Report implements [tool.Runtime].
func (e *execution) Report(p tool.Progress) {
	e.mu.Lock()
	if len(e.progress) < mostReports {
		e.progress = append(e.progress, p)
	}
	e.mu.Unlock()
	e.poke()
}

// promptError is what a tool gets, and must return, for a question that nobody
// has answered yet.
type promptError struct {
	n      int
	prompt tool.Prompt
}

func (e *promptError) Error() string { return "a person has to answer first: " + e.prompt.Message }

// Ask implements [tool.Runtime]. A question that was answered before gets that
// answer; any other ends the attempt.
func (e *execution) Ask(_ context.Context, p tool.Prompt) (json.RawMessage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	for _, a := range e.answers {
		if a.Prompt == e.asked {
			return a.Value, nil
		}
	}
	return nil, &promptError{e.asked, p}
}
