package agent

import (
	"context"
	"slices"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The model may repeat a call of a page that is no longer in the conversation: the page was cut,
// or summarised, or read by the run outside. Hashes of the calls in such text stay, so that the
// echo guard still finds them.

// remember keeps the calls in the outside text of messages that leave the conversation.
func (l *loop) remember(messages []llm.Message) {
	l.echoes = emulate.RememberCalls(l.echoes, l.knownTools(), nil, messages)
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
		return l.echoes
	}
	return emulate.RememberCalls(l.echoes, l.knownTools(), nil, l.messages)
}

// left returns the messages that a compaction left out or changed.
func (e compactEntry) left(msgs []llm.Message) []llm.Message {
	if e.Messages == nil {
		return nil
	}
	stays := make([]bool, len(msgs))
	for _, r := range *e.Messages {
		for i := max(r.From, 0); r.Message == nil && i < min(r.To, len(msgs)); i++ {
			stays[i] = true
		}
	}
	var out []llm.Message
	for i, m := range msgs {
		if !stays[i] {
			out = append(out, m)
		}
	}
	return out
}

// left returns the messages with results that a cut shortened.
func (e cutEntry) left(msgs []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range msgs {
		if slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			r, ok := p.(llm.Result)
			if ok {
				_, ok = e.of(r)
			}
			return ok
		}) {
			out = append(out, m)
		}
	}
	return out
}

// outerConversation is what the run knows whose call a run is part of.
type outerConversation struct {
	messages []llm.Message
	echoes   *llm.EchoMemory
}

type outerConversationKey struct{}

// withConversation tells runs inside of calls about the conversation of this run.
func (l *loop) withConversation(ctx context.Context) context.Context {
	return context.WithValue(ctx, outerConversationKey{}, outerConversation{slices.Clip(l.messages), l.echoes})
}

// recall sets what the guard knows when a run begins or continues: what the run outside has read,
// what left the conversation before, and what an earlier process knew.
func (l *loop) recall(ctx context.Context, earlier *llm.EchoMemory, left []llm.Message, unknown bool) {
	l.echoes = earlier
	if outer, inside := ctx.Value(outerConversationKey{}).(outerConversation); inside {
		if l.echoes == nil && outer.echoes != nil {
			memory := *outer.echoes
			memory.Unknown = false // the task is a model's
			l.echoes = &memory
		}
		l.remember(outer.messages)
	}
	if unknown {
		memory := llm.EchoMemory{}
		if l.echoes != nil {
			memory = *l.echoes
		}
		memory.Unknown = true
		l.echoes = &memory
	}
	l.remember(left)
}

// recallParent is recall for a run that begins. If it continues a run that has ended, what that
// run left out still counts.
func (l *loop) recallParent(ctx context.Context, a *Agent) {
	_, inside := ctx.Value(outerConversationKey{}).(outerConversation)
	if inside || a.Parent == "" || a.Store == nil {
		l.recall(ctx, nil, nil, false)
		return
	}
	p, err := readRun(journal.Whole(a.Store.Read(ctx, a.Parent, 0)))
	if err != nil || !p.begun { // it was removed
		l.recall(ctx, nil, nil, false)
		return
	}
	l.recall(ctx, p.begin.Echoes, p.left, !p.begin.Origins)
	l.beginning.Echoes = l.echoes
}
