package agent

import (
	"context"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The model may repeat a call of a page that is no longer in the conversation: the page was cut,
// or summarised, or read by the run outside. Hashes of the calls in such text stay, so that the
// echo guard still finds them.

// echoMemory is what the echo guard of a run knows beyond the messages of its conversation.
type echoMemory struct{ *llm.EchoMemory }

// remember keeps the calls in the outside text of messages that leave the conversation. tools are
// all tools that the run may call.
func (m *echoMemory) remember(tools []llm.ToolDef, messages []llm.Message) {
	m.EchoMemory = emulate.RememberCalls(m.EchoMemory, tools, nil, messages)
}

// outerConversation is what the run knows whose call a run is part of.
type outerConversation struct {
	messages []llm.Message
	echoes   *llm.EchoMemory
}

type outerConversationKey struct{}

// recall sets what the guard knows when a run begins or continues: what the run outside has read,
// what left the conversation before, and what an earlier process knew.
func (m *echoMemory) recall(ctx context.Context, tools []llm.ToolDef, earlier *llm.EchoMemory, left []llm.Message, unknown bool) {
	m.EchoMemory = earlier
	if outer, inside := ctx.Value(outerConversationKey{}).(outerConversation); inside {
		if earlier == nil && outer.echoes != nil {
			memory := *outer.echoes
			memory.Unknown = false // the task is a model's
			m.EchoMemory = &memory
		}
		m.remember(tools, outer.messages)
	}
	if unknown {
		memory := llm.EchoMemory{}
		if m.EchoMemory != nil {
			memory = *m.EchoMemory
		}
		memory.Unknown = true
		m.EchoMemory = &memory
	}
	m.remember(tools, left)
}

// recallParent is recall for a run that begins. If it continues a run that has ended, what that
// run left out still counts, and recallParent returns it.
func (m *echoMemory) recallParent(ctx context.Context, a *Agent, tools []llm.ToolDef) *llm.EchoMemory {
	_, inside := ctx.Value(outerConversationKey{}).(outerConversation)
	if inside || a.Parent == "" || a.Store == nil {
		m.recall(ctx, tools, nil, nil, false)
		return nil
	}
	p, err := readRun(journal.Whole(a.Store.Read(ctx, a.Parent, 0)))
	if err != nil || !p.begun { // it was removed
		m.recall(ctx, tools, nil, nil, false)
		return nil
	}
	m.recall(ctx, tools, p.begin.Echoes, p.left, !p.begin.Origins)
	return m.EchoMemory
}
