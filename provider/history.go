package provider

import (
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// heal makes the history one that the vendor accepts.
func (m *Model) heal(j *job) {
	m.adopt(j.req.Messages)
	healed, warnings := wire.Heal(j.req.Messages, j.codec.Vendor)
	j.warnings = append(j.warnings, warnings...)
	j.req.Messages = m.someTurn(j, healed)
	if j.route.Kind != Native {
		j.req.Messages, warnings = emulate.WithoutHosted(j.req.Messages)
		j.warnings = append(j.warnings, warnings...)
	}
	m.beginWithUser(j)
	m.systemTurns(j)
	if j.route.Kind == Native {
		m.beginWithThinking(j)
		m.unsigned(j)
	}
}

// someTurn returns the healed messages, with a turn of the user in place of all if nothing is left of what he said:
// vendors refuse requests without any. A request that is sent as its client wrote it keeps its own.
func (m *Model) someTurn(j *job, healed []llm.Message) []llm.Message {
	said := j.req.Messages
	if len(healed) > 0 || !slices.ContainsFunc(said, func(msg llm.Message) bool { return msg.Role == llm.RoleUser }) {
		return healed
	}
	if j.asIs {
		return said
	}
	j.warn(llm.Corrected, "history", "nothing of the conversation can be sent to %s; the user says %q", m.vendor.Name, nothingSaid)
	return []llm.Message{llm.User(nothingSaid)}
}

// beginWithUser puts a turn of the user first where the format demands one.
func (m *Model) beginWithUser(j *job) {
	if !m.format().UserFirst {
		return
	}
	for i, msg := range j.req.Messages {
		switch msg.Role {
		case llm.RoleSystem, llm.RoleDeveloper:
			continue
		case llm.RoleAssistant:
			j.req.Messages = append(j.req.Messages[:i:i], append([]llm.Message{llm.User("(The conversation begins with your words.)")}, j.req.Messages[i:]...)...)
			j.warn(llm.Corrected, "history", "the %s format begins with the user, so a turn of the user was put first", m.wire)
		}
		return
	}
}

// systemTurns has the user say the instructions among the messages where the model takes none there. A model that does
// takes them after a turn of the user, and before one of its own or last.
func (m *Model) systemTurns(j *job) {
	if !m.format().SystemFirst || j.asIs {
		return
	}
	list, takes := j.req.Messages, m.info.SystemTurns.Support == catalog.Yes
	first := slices.IndexFunc(list, func(msg llm.Message) bool { return !systemRole(msg.Role) })
	for i := max(first, 0) + 1; first >= 0 && i < len(list); i++ {
		after := list[i-1].Role == llm.RoleUser || list[i-1].Role == llm.RoleTool
		before := i+1 == len(list) || list[i+1].Role == llm.RoleAssistant
		if !systemRole(list[i].Role) || takes && after && before {
			continue
		}
		list[i].Role = llm.RoleUser
		if takes {
			j.warn(llm.Degraded, "system", "%s takes instructions after the user only, and before its answer; this one is said by the user", m.model)
		} else {
			j.warn(llm.Degraded, "system", "%s takes instructions before all messages only; this one is said by the user", m.model)
		}
	}
}

func systemRole(r llm.Role) bool { return r == llm.RoleSystem || r == llm.RoleDeveloper }

// standIns declares the tools of the history where a request offers none: some
// formats refuse calls of tools that are not declared.
func (m *Model) standIns(j *job) {
	if !m.format().DeclaredCalls || len(j.req.Tools) > 0 || j.route.Kind != Native {
		return
	}
	seen := map[string]bool{}
	for _, msg := range j.req.Messages {
		for _, c := range msg.Calls() {
			if !seen[c.Name] {
				seen[c.Name] = true
				j.req.Tools = append(j.req.Tools, llm.ToolDef{Name: c.Name, Description: fmt.Sprintf("%s was used earlier and is not available now.", c.Name), Schema: []byte(`{"type":"object"}`)})
			}
		}
	}
	if len(j.req.Tools) > 0 {
		j.req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	}
}
