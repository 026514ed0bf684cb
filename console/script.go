package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// script sends the answers of a run as a script for the simulated model sim/script.
func (p page) script(w http.ResponseWriter) error {
	name, err := p.runName(p.PathValue("run"))
	if err != nil {
		return err
	}
	var b strings.Builder
	n := 0
	for e, err := range journal.Whole(p.Store.Read(p.Context(), name, 1)) {
		if err != nil {
			return err
		}
		var a journal.Answer
		if e.Kind != journal.KindAnswer || e.Decode(&a) != nil {
			continue
		}
		n++
		fmt.Fprintf(&b, "-- %d --\n", n)
		for _, part := range a.Message.Parts {
			switch part := part.(type) {
			case llm.Text:
				if text := strings.TrimSpace(part.Text); text != "" {
					fmt.Fprintf(&b, "text %s\n", strings.ReplaceAll(text, "\n", "\n     "))
				}
			case llm.Call:
				fmt.Fprintf(&b, "call %s %s\n", part.Name, part.Args)
			}
		}
	}
	if n == 0 {
		return notFound("The run has no answers.")
	}
	return sendText(w, b.String())
}
