package agent

import (
	"context"
	"slices"

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

// knownTools returns the definitions of all tools that the run may call.
func (l *loop) knownTools() []llm.ToolDef {
	known := slices.Clip(l.tools.all)
	if l.agent != nil {
		for _, d := range l.agent.set().Defs() {
			if !l.tools.told(d.Name) {
				known = append(known, d)
			}
		}
	}
	return known
}

// requestEchoes returns what the guard knows for the next request. A hook may have taken messages
// out of it.
func (l *loop) requestEchoes() *llm.EchoMemory {
	if l.turn.view == nil {
		return l.echoes.EchoMemory
	}
	return emulate.RememberCalls(l.echoes.EchoMemory, l.knownTools(), nil, l.messages)
}

// outerConversation is what the run knows whose call a run is part of.
type outerConversation struct {
	messages []llm.Message
	echoes   *llm.EchoMemory
}

type outerConversationKey struct{}

// withConversation tells runs inside of calls about the conversation of this run.
func (l *loop) withConversation(ctx context.Context) context.Context {
	return context.WithValue(ctx, outerConversationKey{}, outerConversation{slices.Clip(l.messages), l.echoes.EchoMemory})
}

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
