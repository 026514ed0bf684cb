package agent

import (
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// maxTask bounds the task in the record: the messages hold all of it.
const maxTask = 1000

// task is what the run is about: the last thing a person said.
func (c redactor) task(msgs []llm.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.RoleUser && msgs[i].Text() != "" {
			return c.redact(msgs[i].Text()).Cut(maxTask)
		}
	}
	return ""
}

// redactor is the secrets that are kept out of records and results. Text is
// cleaned of them before it is cut.
type redactor []*journal.Secrets

// redactor returns what the record and the results are kept free of.
func (a *Agent) redactor() redactor {
	c := redactor{journal.SecretsOf(a.Store)}
	if a.Tools != nil {
		c = append(c, a.Tools.Output.Secrets)
	}
	return c
}

func (c redactor) redact(text string) journal.Clean {
	out := (*journal.Secrets)(nil).Clean(text)
	for _, s := range c {
		if s != nil {
			out = s.Clean(out.String())
		}
	}
	return out
}

// clean returns a text without secrets.
func (c redactor) clean(text string) string { return c.redact(text).String() }
