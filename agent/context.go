package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// A cutStep is a way to shorten results: how many of the newest messages of results are
// left alone, and how many characters the others keep.
type cutStep struct{ spare, keep int }

// oldResults and newResults are the steps before a part of the conversation is left out,
// and after.
var (
	oldResults = []cutStep{{2, 400}, {1, 400}}
	newResults = []cutStep{{0, 2000}, {0, 200}}
)

// reduction is something that made a conversation shorter: one of both.
type reduction struct {
	cut     *cutEntry
	compact *compactEntry
}

// shorten cuts results, the oldest first and the newest last, until something could be
// cut: as many as it takes to save that many tokens, by estimate, or with 0 all of a
// step. It reports whether something was cut.
func (l *loop) shorten(ctx context.Context, steps []cutStep, save int) (bool, error) {
	for _, step := range steps {
		cut := cutEntry{Results: make(map[string]int)}
		said := Shortened{}
		c := cutter{step.spare == 0, step.keep, save == 0, save}
		msgs := shortened(l.messages, l.redactor, step.spare, func(r llm.Result) (int, bool) {
			n, keep := c.keeps(r)
			if n == keep {
				return 0, false
			}
			cut.Results[r.CallID] = keep
			said.Calls = append(said.Calls, r.CallID)
			said.Chars += n
			said.Kept += keep
			return keep, true
		})
		if len(said.Calls) == 0 {
			continue
		}
		if err := l.write(ctx, kindCut, cut); err != nil {
			return false, err
		}
		l.messages = msgs
		l.now.view = shortened(l.now.view, l.redactor, 0, cut.of)
		l.emit(said)
		l.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
			"the conversation is longer than the model can take: %d old results were cut from %d to %d characters", len(said.Calls), said.Chars, said.Kept)})
		return true, nil
	}
	return false, nil
}

// cutter decides how much of each result is cut in a step.
type cutter struct {
	newest bool // also the newest, which is cut only as far as needed
	keep   int  // characters
	all    bool // whatever that saves
	save   int  // tokens, still
}

// keeps returns how many characters a result has, and how many of them are kept.
func (c *cutter) keeps(r llm.Result) (n, keep int) {
	text := r.Text()
	n = utf8.RuneCountInString(text)
	if n <= 2*c.keep || !c.all && c.save <= 0 {
		return n, n
	}
	keep = c.keep
	if c.all {
		return n, keep
	}
	tokens := max(llm.EstimateText(text), 1)
	if c.newest { // at least a quarter, so that cutting comes to an end
		keep = max(keep, min(n*3/4, int(float64(n)*(1-float64(c.save)/float64(tokens)))))
	}
	c.save -= int(float64(tokens) * float64(n-keep) / float64(n))
	return n, keep
}

// of returns how many characters of a result are kept.
func (e cutEntry) of(r llm.Result) (int, bool) {
	n, ok := e.Results[r.CallID]
	return n, ok
}

// fit makes the conversation shorter before it is sent, where it is known how much
// the model can take. What only the catalogue says is no reason not to ask. Planned says
// that the hook before the turn was asked.
func (l *loop) fit(ctx context.Context, planned bool) error {
	if l.redo != nil {
		for {
			if again, err := l.reduceAgain(planned); !again || err != nil {
				return err
			}
		}
	}
	l.asksFor = l.size()
	for {
		limit, sure := l.window()
		if limit == 0 || l.corrected(l.asksFor) <= limit {
			return nil
		}
		// there is room for what comes next when it is done
		less, err := l.reduce(ctx, limit, max(l.asksFor-l.estimated(limit-limit/10), 1))
		switch {
		case err != nil:
			return err
		case !less && sure && planned:
			return &llm.Error{Op: "agent", Kind: llm.TooLong, Err: fmt.Errorf("%s; %s can take %d", l.remains(), l.name(), limit)}
		case !less:
			return nil
		}
		l.asksFor = l.size()
	}
}

// remains says how long the question is after all that can be left out of it was.
func (l *loop) remains() string {
	part := func(req llm.Request) int { return l.corrected(llm.EstimateRequest(&req)) }
	return fmt.Sprintf("the question still has about %d tokens when all that can be left out of the conversation is: %d of the instructions (System), %d of tools, %d of messages",
		l.corrected(l.asksFor), part(llm.Request{System: l.now.system}), part(llm.Request{Tools: l.now.tools, Output: l.now.question.Output}), part(llm.Request{Messages: l.conversation()}))
}

// reduce makes the conversation shorter by the mildest way that is left: old results are
// cut, then its oldest part is left out, then new results and at last long texts are
// cut. It reports whether there was a way. Save is how many tokens to save of results; 0
// means all that a step can.
func (l *loop) reduce(ctx context.Context, limit, save int) (bool, error) {
	for _, way := range []func() (bool, error){
		func() (bool, error) { return l.shorten(ctx, oldResults, save) },
		func() (bool, error) { return l.compact(ctx, limit, false) },
		func() (bool, error) { return l.shorten(ctx, newResults, save) },
		func() (bool, error) { return l.compact(ctx, limit, true) },
		func() (bool, error) { return l.trim(ctx) },
	} {
		if less, err := way(); less || err != nil {
			return less, err
		}
	}
	return false, nil
}

// reduceAgain makes the conversation shorter as the record says, and reports whether it
// says so.
func (l *loop) reduceAgain(planned bool) (bool, error) {
	r, err := l.redo(planned)
	if r == nil || err != nil {
		return false, err
	}
	if r.cut != nil {
		l.messages = shortened(l.messages, nil, 0, r.cut.of)
		l.now.view = shortened(l.now.view, nil, 0, r.cut.of)
		return true, nil
	}
	l.done.Usage = l.done.Usage.Add(r.compact.Used)
	if l.messages, err = r.compact.apply(l.messages); err != nil {
		return false, err
	}
	l.now.from = len(l.messages)
	return true, l.broke(l.turnNo - 1)
}

// refusedAsTooLong makes a conversation shorter that the model found too long, whatever
// is known about its window. It reports whether there was a way.
func (l *loop) refusedAsTooLong(ctx context.Context) (bool, error) {
	if l.redo != nil {
		return l.reduceAgain(true)
	}
	if less, err := l.shorten(ctx, oldResults, 0); less || err != nil {
		return less, err
	}
	l.refusedAt = max(l.corrected(l.asksFor)*3/4, 1)
	l.windows.learn(l.model, l.refusedAt)
	return l.reduce(ctx, l.refusedAt, 0)
}

// window returns how many tokens a question may have, 0 if that is not known, and
// whether the program said so. A question that was refused is a bound, too.
func (l *loop) window() (tokens int, sure bool) {
	m, id := l.turnModel()
	if info, ok := infoOf(m); l.Limits.Context > 0 {
		tokens, sure = l.Limits.Context, true
	} else if ok && info.Known() {
		answer := cmp.Or(l.now.question.MaxTokens, info.MaxOutput)
		tokens = info.ContextWindow - min(answer, info.ContextWindow/4)
	}
	for _, bound := range []int{l.refusedAt, l.windows.of(cmp.Or(l.model, id))} {
		if bound > 0 && (tokens == 0 || bound < tokens) {
			tokens = bound
		}
	}
	return tokens, sure
}

// Windows is how much models can take that refused a question as too long; see
// [Agent.Windows]. The zero value knows nothing. It may be used by many runs at once.
type Windows struct {
	mu     sync.Mutex
	tokens map[string]int // of a question, by id of the model
}

// maxWindows bounds how many models are remembered.
const maxWindows = 1_000

// learn remembers that a model may be asked questions of so many tokens.
func (w *Windows) learn(id string, tokens int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tokens == nil || len(w.tokens) >= maxWindows {
		w.tokens = make(map[string]int)
	}
	w.tokens[id] = tokens
}

// of returns how many tokens a question to a model may have; 0 if nothing was learnt.
func (w *Windows) of(id string) int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tokens[id]
}

// size estimates the tokens of the next question.
func (l *loop) size() int {
	return llm.EstimateRequest(&llm.Request{System: l.now.system, Messages: l.conversation(), Tools: l.now.tools, Output: l.now.question.Output})
}

// What is learnt from the counts of vendors: questions of fewer tokens teach nothing,
// and no vendor is believed to count more or less than this.
const (
	teaches     = 200
	least, most = 0.5, 2.5
)

// corrected is an estimate as the vendor of the model would count.
func (l *loop) corrected(size int) int {
	if l.factor == 0 {
		return size
	}
	return int(float64(size) * l.factor)
}

// estimated is what a count of the vendor would be as an estimate.
func (l *loop) estimated(count int) int {
	if l.factor == 0 {
		return count
	}
	return int(float64(count) / l.factor)
}

// counted learns how the vendor counts from the answer to one question.
func (l *loop) counted(u llm.Usage) {
	if l.asksFor >= teaches && u.Input > 0 {
		l.factor = min(max(float64(u.Input)/float64(l.asksFor), least), most)
	}
}

// shortened returns a copy of a conversation with results cut to what limit
// says, except those in the last spare messages of results. They are cleaned of
// secrets before.
func shortened(msgs []llm.Message, c redactor, spare int, limit func(llm.Result) (int, bool)) []llm.Message {
	if msgs == nil {
		return nil
	}
	groups := 0
	for _, m := range msgs {
		if m.Role == llm.RoleTool {
			groups++
		}
	}
	out := make([]llm.Message, len(msgs))
	for i, m := range msgs {
		out[i] = m
		if m.Role != llm.RoleTool {
			continue
		}
		if groups--; groups < spare {
			continue
		}
		parts := make([]llm.Part, len(m.Parts))
		for j, p := range m.Parts {
			parts[j] = p
			if r, ok := p.(llm.Result); ok {
				if keep, ok := limit(r); ok {
					parts[j] = cutResult(r, c, keep)
				}
			}
		}
		out[i].Parts = parts
	}
	return out
}

// cutResult returns a result with the first keep characters of its text.
func cutResult(r llm.Result, c redactor, keep int) llm.Result {
	if utf8.RuneCountInString(r.Text()) <= keep {
		return r
	}
	text := []rune(c.redact(r.Text()).String())
	keep = min(keep, len(text))
	r.Parts = []llm.Part{llm.Text{Text: fmt.Sprintf("%s\n[result shortened: %d characters -> %d kept, because the conversation had grown too long]",
		string(text[:keep]), len(text), keep)}}
	return r
}
