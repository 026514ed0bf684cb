package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/llm"
)

// cutResults plans to shorten results. It returns nil if there is nothing to shorten.
func (r *reducer) cutResults(ctx context.Context, steps []compaction.Step) (*reduction, error) {
	cut, report := compaction.CutResults(r.messages, steps, r.save)
	if len(report.Calls) == 0 {
		return nil, nil
	}
	if err := r.write(ctx, kindCut, cut); err != nil {
		return nil, err
	}
	r.emit(Shortened(report))
	r.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
		"the conversation is longer than the model can take: %d old results were cut from %d to %d characters", len(report.Calls), report.Chars, report.Kept)})
	return &reduction{cut: &cut}, nil
}

// fit makes the conversation shorter before it is sent, if the size of the model's window is
// known. If only the catalog has a size, a request that stays too long is sent anyway. planned
// reports whether the hook BeforeTurn has been called.
func (l *loop) fit(ctx context.Context, planned bool) error {
	for {
		less, err := l.reduce(ctx, planned, func() (*reduction, error) {
			r := &reducer{loop: l}
			l.window.size = r.size()
			var sure bool
			if r.limit, sure = r.windowLimit(); r.limit == 0 || l.window.corrected(l.window.size) <= r.limit {
				return nil, nil
			}
			// A tenth of the window is for the next messages.
			r.save = max(l.window.size-l.window.estimated(r.limit-r.limit/10), 1)
			way, err := r.shorter(ctx)
			if way == nil && err == nil && sure && planned {
				err = &llm.Error{Op: "agent", Kind: llm.TooLong, Err: fmt.Errorf("%s; %s can take %d", r.sizeReport(), l.turn.modelName(), r.limit)}
			}
			return way, err
		})
		if !less || err != nil {
			return err
		}
	}
}

// reduce makes the conversation shorter in the way that compute returns, and reports whether
// there was one.
func (l *loop) reduce(ctx context.Context, planned bool, compute func() (*reduction, error)) (bool, error) {
	d := l.decision(kindCut)
	d.planned = planned
	r, err := decide(ctx, l.effects, d, compute)
	if r == nil || err != nil {
		return false, err
	}
	if r.cut != nil {
		l.echoes.remember(l.knownTools(), r.cut.Changed(l.messages))
		l.messages = r.cut.Apply(l.messages, l.clean)
		l.turn.view = r.cut.Apply(l.turn.view, l.clean)
		return true, nil
	}
	l.echoes.remember(l.knownTools(), r.compact.left(l.messages))
	if l.messages, err = r.compact.apply(l.messages); err != nil {
		return false, err
	}
	l.turn.viewed = len(l.messages)
	return true, l.exhausted(ctx, l.turn.n-1)
}

// sizeReport describes the size of the request after everything that can be left out is gone.
func (r *reducer) sizeReport() string {
	part := func(req llm.Request) int { return r.window.corrected(llm.EstimateRequest(&req)) }
	return fmt.Sprintf("the question still has about %d tokens when all that can be left out of the conversation is: %d of the instructions (System), %d of tools, %d of messages",
		r.window.corrected(r.window.size), part(llm.Request{System: r.turn.system}), part(llm.Request{Tools: r.turn.tools, Output: r.turn.settings.Output}), part(llm.Request{Messages: r.turn.conversation(r.messages)}))
}

// shorter plans to make the conversation shorter by the mildest way that is left: cut old
// results, leave the oldest part out, cut new results, and last cut long texts. It returns nil
// if there is no way.
func (r *reducer) shorter(ctx context.Context) (*reduction, error) {
	for _, way := range []func() (*reduction, error){
		func() (*reduction, error) { return r.cutResults(ctx, compaction.OldResults) },
		func() (*reduction, error) { return r.compact(ctx, false) },
		func() (*reduction, error) { return r.cutResults(ctx, compaction.NewResults) },
		func() (*reduction, error) { return r.compact(ctx, true) },
		func() (*reduction, error) { return r.trim(ctx) },
	} {
		if plan, err := way(); plan != nil || err != nil {
			return plan, err
		}
	}
	return nil, nil
}

// refusedAsTooLong makes a conversation shorter that the model refused as too long, whatever
// the known size of its window is. It reports whether there was a way.
func (l *loop) refusedAsTooLong(ctx context.Context) (bool, error) {
	return l.reduce(ctx, true, func() (*reduction, error) {
		r := &reducer{loop: l}
		if plan, err := r.cutResults(ctx, compaction.OldResults); plan != nil || err != nil {
			return plan, err
		}
		l.window.refused = max(l.window.corrected(l.window.size)*3/4, 1)
		l.window.known.learn(l.turn.model, l.window.refused)
		r.limit = l.window.refused
		return r.shorter(ctx)
	})
}

// windowLimit returns how many tokens a request may have, 0 if that is unknown, and whether
// the program set the limit. A request that was refused is a limit, too.
func (r *reducer) windowLimit() (tokens int, sure bool) {
	m, id := r.turnModel()
	if info, ok := infoOf(m); r.Limits.Context > 0 {
		tokens, sure = r.Limits.Context, true
	} else if ok && info.Known() {
		answer := cmp.Or(r.turn.settings.MaxTokens, info.MaxOutput)
		tokens = info.ContextWindow - min(answer, info.ContextWindow/4)
	}
	for _, bound := range []int{r.window.refused, r.window.known.of(cmp.Or(r.turn.model, id))} {
		if bound > 0 && (tokens == 0 || bound < tokens) {
			tokens = bound
		}
	}
	return tokens, sure
}

// size estimates the tokens of the next question.
func (r *reducer) size() int {
	return llm.EstimateRequest(&llm.Request{System: r.turn.system, Messages: r.turn.conversation(r.messages), Tools: r.turn.tools, Output: r.turn.settings.Output})
}
