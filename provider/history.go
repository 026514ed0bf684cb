package provider

import (
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// repairHistory puts the calls and results of the history in order. Vendors refuse
// requests without a turn of the user, so an empty turn is added if nothing of the
// user's turns is left. A request that is sent unchanged keeps its messages.
func (p planner) repairHistory() {
	said := p.req.Messages
	healed, warnings := history.Repair(said, p.codec.Vendor)
	p.warnings = append(p.warnings, warnings...)
	p.req.Messages = healed
	if slices.ContainsFunc(healed, func(msg llm.Message) bool { return !systemRole(msg.Role) }) || !slices.ContainsFunc(said, func(msg llm.Message) bool { return msg.Role == llm.RoleUser }) {
		return
	}
	if p.asIs {
		p.req.Messages = said
		return
	}
	p.warn(llm.Corrected, "history", "nothing of the conversation can be sent to %s; the user says %q", p.vendor.Name, nothingSaid)
	p.req.Messages = append(slices.Clip(healed), llm.User(nothingSaid))
}

// dropHosted removes the calls that a vendor ran, which a prompt cannot express.
func (p planner) dropHosted() {
	kept, warnings := emulate.WithoutHosted(p.req.Messages)
	p.req.Messages = kept
	p.warnings = append(p.warnings, warnings...)
}

// countCallIDs makes new ids follow those of the history.
func (p planner) countCallIDs() { p.job.codec.Calls = turns.CallsBefore(p.req.Messages) }

// userBegins is a turn of the user that was put first.
const userBegins = "(The conversation begins with your words.)"

// userFirst puts a turn of the user first where the format demands one.
func (p planner) userFirst() {
	if !p.format().UserFirst {
		return
	}
	for i, msg := range p.req.Messages {
		switch msg.Role {
		case llm.RoleSystem, llm.RoleDeveloper:
			continue
		case llm.RoleAssistant:
			p.req.Messages = append(p.req.Messages[:i:i], append([]llm.Message{llm.User(userBegins)}, p.req.Messages[i:]...)...)
			p.warn(llm.Corrected, "history", "the %s format begins with the user, so a turn of the user was put first", p.wire)
		}
		return
	}
}

// oneSystemMessage folds all instructions into one, before all messages, unless the model is known to take more. Many
// servers that imitate a format refuse messages of a developer, a second system message, or one among the messages. A
// message that is the only one stays as it is.
func (p planner) oneSystemMessage() {
	if !p.oneSystem() {
		return
	}
	list := p.req.Messages
	first := slices.IndexFunc(list, func(msg llm.Message) bool { return !systemRole(msg.Role) })
	if first < 0 {
		first = len(list)
	}
	moved := slices.ContainsFunc(list[first:], func(msg llm.Message) bool { return systemRole(msg.Role) })
	if !moved && (first == 0 || first == 1 && p.req.System == "" && list[0].Role == llm.RoleSystem) {
		return
	}
	p.foldInstructions(p.req.System, "")
	if moved {
		p.warn(llm.Degraded, "system", "%s is not known to take instructions among the messages; they were moved before all messages", p.model)
	}
}

// foldAdded puts the instructions that the other rules added behind those of the caller.
func (p planner) foldAdded() {
	added := p.req.System != "" && slices.ContainsFunc(p.req.Messages, func(msg llm.Message) bool { return systemRole(msg.Role) })
	if added && p.oneSystem() {
		p.foldInstructions("", p.req.System)
	}
}

// oneSystem reports whether the model may take only one system message.
func (p planner) oneSystem() bool {
	return p.format().Imitated && p.info.SystemTurns.Support != catalog.Yes
}

// foldInstructions removes the messages with instructions and puts their text between two texts. What is not text is lost.
func (p planner) foldInstructions(before, after string) {
	p.req.System = before
	lost := false
	p.req.Messages = slices.DeleteFunc(p.req.Messages, func(msg llm.Message) bool {
		if !systemRole(msg.Role) {
			return false
		}
		lost = lost || slices.ContainsFunc(msg.Parts, func(part llm.Part) bool {
			text, ok := part.(llm.Text)
			return !ok || len(text.Extra) > 0
		})
		p.instruct(msg.Text())
		return true
	})
	p.instruct(after)
	if lost {
		p.warn(llm.Ignored, "system", "several instructions became one text for %s; their other parts and the marks of parts, like cache_control, are not sent", p.model)
	}
}

// systemMessages turns instructions among the messages into messages of the user if
// the model does not accept them there. A model that does accepts them after a message
// of the user, if an answer of the model or nothing follows.
func (p planner) systemMessages() {
	if !p.format().SystemFirst {
		return
	}
	list, takes := p.req.Messages, p.info.SystemTurns.Support == catalog.Yes
	first := slices.IndexFunc(list, func(msg llm.Message) bool { return !systemRole(msg.Role) })
	for i := max(first, 0) + 1; first >= 0 && i < len(list); i++ {
		after := list[i-1].Role == llm.RoleUser || list[i-1].Role == llm.RoleTool
		before := i+1 == len(list) || list[i+1].Role == llm.RoleAssistant
		if !systemRole(list[i].Role) || takes && after && before {
			continue
		}
		list[i].Role = llm.RoleUser
		if takes {
			p.warn(llm.Degraded, "system", "%s takes instructions after the user only, and before its answer; this one is said by the user", p.model)
		} else {
			p.warn(llm.Degraded, "system", "%s takes instructions before all messages only; this one is said by the user", p.model)
		}
	}
}

func systemRole(r llm.Role) bool { return r == llm.RoleSystem || r == llm.RoleDeveloper }
