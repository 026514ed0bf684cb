package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// reduction makes a conversation shorter: one of the two is set.
type reduction struct {
	cut     *compaction.Cut
	compact *compactEntry
}

// reducer plans how to make the conversation of a run shorter, for a request of at most limit
// tokens. save is how many tokens of results to save; 0 means as many as possible.
type reducer struct {
	*loop
	limit, save int
}

// Summarize asks the model of the run for a summary of the messages that are left out. It keeps facts,
// calls with their outcome, and open points. It is an [Agent.Compact]. A part that is longer than the
// window is read piece by piece.
func Summarize(ctx context.Context, c Compaction) (string, error) {
	return compaction.Summary{Model: c.Model, Tokens: c.Tokens, Window: c.Window}.Of(ctx, c.Messages)
}

// Compacted reports that the oldest part of the conversation was left out because it
// had outgrown the window, and the text that replaces it. The record keeps the part whole.
type Compacted struct {
	Messages int       `json:"messages"`          // how many were left out
	Tokens   int       `json:"tokens"`            // that they had, by estimate
	Kept     int       `json:"kept"`              // in the text that replaces them
	Summary  string    `json:"summary,omitempty"` // the text that the model reads; "" without a summary
	Usage    llm.Usage `json:"usage,omitzero"`    // of asking for the summary
}

// EventType returns "compacted".
func (Compacted) EventType() string { return "compacted" }

// The shares of the window, in hundredths, that the newest turns, the first task and the
// summary may have after a compaction. The rest is for new messages.
const (
	tailShare    = 25
	taskShare    = 20
	summaryShare = 25
)

// maxSummary bounds the tokens of a summary in a large window: more takes long to write,
// and is read again with every question.
const maxSummary = 8_000

// The texts of the library at the beginning of a part that was left out.
const (
	summaryHead = "[Summary of %d earlier messages, which were left out to save space.]\n"
	cutHead     = "[%d earlier messages were left out here, because the conversation had grown too long.]"
)

// compact plans to leave the oldest part of the conversation out, nil if there is no such
// part. Without force it does so only if that makes enough room.
func (r *reducer) compact(ctx context.Context, force bool) (*reduction, error) {
	if r.turn.view != nil { // a hook decides which messages the model reads
		return nil, nil
	}
	window := r.window.estimated(r.limit)
	fixed := r.window.size - llm.EstimateMessages(r.messages...)
	room := window - fixed
	d := compaction.Divide(r.messages, room*tailShare/100)
	c := Compaction{Turn: r.turn.n, Messages: compaction.Pick(r.messages, d.Out), Window: window}
	tokens := llm.EstimateMessages(c.Messages...)
	c.Tokens = min(room*summaryShare/100, tokens*3/4, maxSummary)
	if m, _ := r.turnModel(); m != nil {
		if info, ok := infoOf(m); ok && info.MaxOutput > 0 {
			c.Tokens = min(c.Tokens, info.MaxOutput/2)
		}
	}
	if c.Tokens < compaction.LeastSummary || force && len(d.Out) < 2 || !force && r.window.size-tokens+c.Tokens > window*9/10 {
		return nil, nil
	}
	text, used, err := r.summary(ctx, c)
	event := Compacted{Messages: len(d.Out), Tokens: tokens, Usage: used}
	if over := r.endsCompaction(ctx, err); over != nil {
		if !used.IsZero() {
			_, werr := r.recordCompaction(ctx, nil, used)
			over = errors.Join(over, werr)
		}
		return nil, over
	}
	instead := llm.Note(fmt.Sprintf(cutHead, len(d.Out)))
	if text != "" {
		instead = llm.Assistant(llm.Text{Text: fmt.Sprintf(summaryHead, len(d.Out)) + text, Origin: llm.OriginOfSummary(c.Messages)})
		event.Summary = text
	} else {
		why := "no function writes one"
		switch {
		case err != nil:
			why = r.redact(err.Error()).Cut(maxTask)
		case r.agent.Compact != nil:
			why = "the summary was empty"
		}
		r.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
			"the conversation is longer than the model can take: its oldest %d messages were left out without a summary: %s", event.Messages, why)})
	}
	event.Kept = llm.EstimateMessages(instead)
	list := d.With(r.messages, instead, d.ShortTask(r.messages, room*taskShare/100, r.clean))
	plan, err := r.recordCompaction(ctx, &list, used)
	if err == nil {
		r.emit(event)
	}
	return plan, err
}

// recordCompaction records a new conversation, or only what a summary used.
func (r *reducer) recordCompaction(ctx context.Context, list *[]compaction.Range, used llm.Usage) (*reduction, error) {
	e := compactEntry{Turn: r.turn.n, Messages: list, Of: len(r.messages), Used: used, Cost: r.spending.cost(), Unpriced: r.spending.unpriced.Load()}
	return &reduction{compact: &e}, r.write(ctx, kindCompact, e)
}

// endsCompaction returns the error that ends the run after a summary was requested.
func (r *reducer) endsCompaction(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case aborted(err):
		return fmt.Errorf("agent: the compaction before turn %d: %w", r.turn.n, err)
	}
	return r.exhausted(ctx, r.turn.n-1)
}

// trim plans to cut the longest text of the conversation to half. It returns nil if there is no
// long text.
func (r *reducer) trim(ctx context.Context) (*reduction, error) {
	if r.turn.view != nil {
		return nil, nil
	}
	list, tokens := compaction.Trim(r.messages, r.clean)
	if list == nil {
		return nil, nil
	}
	r.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
		"the conversation is longer than the model can take: a text of about %d tokens was cut to half", tokens)})
	return r.recordCompaction(ctx, &list, llm.Usage{})
}

// summary asks the hook of the program for the text that replaces a part, and returns the text with
// the usage of the hook. Without a hook, and with an error, the text is empty.
func (r *reducer) summary(ctx context.Context, c Compaction) (text string, used llm.Usage, err error) {
	if r.agent.Compact == nil {
		return "", used, nil
	}
	c = deepCopy(c)
	m, id := r.turnModel()
	asked := &summarizer{l: r.loop, id: id, m: m}
	c.Model = &refine.Retrier{Model: observing.Model(llm.Around(m, asked.stream), id), Attempts: r.Limits.Budget + 1}
	text, err = guarded(ctx, r.loop, hookCompact, func() (string, error) { return r.agent.Compact(ctx, c) })
	used = asked.end()
	if err != nil {
		return "", used, err
	}
	return compaction.CutText(strings.TrimSpace(text), c.Tokens, r.clean), used, nil
}

// summarizer is a model as the hook of a compaction asks it: within the budgets of the run,
// until the hook is over.
type summarizer struct {
	l    *loop
	m    llm.Model
	id   string
	mu   sync.Mutex
	used llm.Usage
	over bool
}

func (s *summarizer) stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := s.may(ctx); err != nil {
			yield(nil, err)
			return
		}
		for ev, err := range s.m.Stream(ctx, req) {
			if f, ok := ev.(llm.Finish); ok {
				s.count(f.Usage)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// may returns why nothing more is asked.
func (s *summarizer) may(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errors.New("agent: the compaction is over")
	}
	return s.l.exhausted(ctx, s.l.turn.n-1)
}

func (s *summarizer) count(u llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.used = s.used.Add(u)
		s.l.spending.asked(s.m, s.id, u)
	}
}

// end returns the usage. Later requests are refused.
func (s *summarizer) end() llm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.used
}
