package provider

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// budgets are how many tokens an effort is worth where a vendor counts tokens.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 24576, "xhigh": 32768, "max": 49152}

// efforts are the words for how much a model thinks, the least first.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// room is what an answer gets beyond its thinking.
const room = 4096

// oneMeasure keeps one of a number of tokens and an effort where a format refuses both: the number for models that came
// before the version that knows efforts.
func (p planner) oneMeasure() {
	rules := p.format().Thinking
	r := p.req.Reasoning
	if !rules.OneMeasure || r.Tokens == 0 || r.Effort == "" {
		return
	}
	if v := p.info.ID.Version; !v.IsZero() && v.Compare(rules.EffortSince) < 0 {
		p.warn(llm.Ignored, "reasoning.effort", "%s takes a number of tokens to think, and not an effort as well", p.model)
		setReasoning(p.req, func(r *llm.Reasoning) { r.Effort = "" })
		return
	}
	p.warn(llm.Ignored, "reasoning.budget", "%s takes an effort, and not a number of tokens as well", p.model)
	setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens = 0 })
}

// dropEffort only asks for thinking, and not for how much, where the format has words for that but few models take
// them: those of which the catalogue knows the words. A client of the format itself knows its server best.
func (p planner) dropEffort() {
	if !p.format().Thinking.EffortsKnown || p.asIs || p.info.Efforts != "" || p.req.Reasoning.Effort == "" {
		return
	}
	p.warn(llm.Degraded, "reasoning.effort", "%s is told to think, and not how much: it is not known to take an effort", p.model)
	setReasoning(p.req, func(r *llm.Reasoning) { r.Effort = "" })
}

// nearestBudget returns the thinking budget nearest to n that a model accepts.
func nearestBudget(info *catalog.Model, n int) int {
	if most := info.MaxThinking; most > 0 {
		n = min(n, most)
	}
	return max(n, info.MinThinking)
}

// boundBudget replaces a number of tokens to think by the nearest that the model takes.
func (p planner) boundBudget() {
	asked := p.req.Reasoning.Tokens
	if n := nearestBudget(&p.info, asked); asked > 0 && n != asked {
		p.warn(llm.Degraded, "reasoning.budget", "%s cannot be told to think %d tokens; it is %d", p.model, asked, n)
		setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens = n })
	}
}

// countEffort turns an effort into tokens for models that came before the
// version that knows efforts, unless it is left to the model.
func (p planner) countEffort() {
	since := p.format().Thinking.EffortSince
	r := p.req.Reasoning
	if r.Tokens != 0 || since.IsZero() || p.info.ID.Version.IsZero() || p.info.ID.Version.Compare(since) >= 0 {
		return
	}
	n, ok := budgets[r.Effort]
	if !ok {
		n = budgets["medium"]
	}
	n = nearestBudget(&p.info, n)
	p.warn(llm.Degraded, "reasoning.effort", "%s counts thinking in tokens: %d", p.model, n)
	setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens, r.Effort = n, "" })
}

// nameEffort turns a number of tokens into the nearest effort: for models since the version that takes nothing else, and for
// models that are known to take efforts where the format has nothing else.
func (p planner) nameEffort() {
	rules := p.format().Thinking
	r, since := p.req.Reasoning, rules.EffortOnly
	refused := !since.IsZero() && !p.info.ID.Version.IsZero() && p.info.ID.Version.Compare(since) >= 0
	lacks := !p.has(format.ReasoningTokens) && p.has(format.ReasoningEffort) && (p.info.Efforts != "" || slices.Contains(rules.Families, p.settled.family))
	if r.Tokens <= 0 || !refused && !lacks {
		return
	}
	effort := r.Effort
	for _, word := range []string{"low", "medium", "high"} { // which all that take efforts have
		if r.Effort == "" && (effort == "" || distance(r.Tokens, budgets[word]) < distance(r.Tokens, budgets[effort])) {
			effort = word
		}
	}
	p.warn(llm.Degraded, "reasoning.budget", "%s does not count thinking in tokens; its effort is %s", p.model, effort)
	setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens, r.Effort = 0, effort })
}

// nearestEffort replaces a word for how much to think that the format or the model lacks by the nearest that it has.
func (p planner) nearestEffort() {
	r := p.req.Reasoning
	if asked := slices.Index(efforts, r.Effort); asked > 0 {
		if word := effortNear(p.info.Efforts, asked, p.format().Thinking.Efforts); word != r.Effort {
			p.warn(llm.Degraded, "reasoning.effort", "%s has no effort %q; it is %s", p.model, r.Effort, word)
			setReasoning(p.req, func(r *llm.Reasoning) { r.Effort = word })
		}
	}
}

// effortNear returns the effort nearest to the effort at index asked, among the
// efforts that the model and the format have, and the lower of two. Without
// restrictions it is the effort itself.
func effortNear(model string, asked int, words []string) string {
	own, best := strings.Fields(model), -1
	for i, word := range efforts[1:] {
		i++
		if words != nil && !slices.Contains(words, word) || len(own) > 0 && !slices.Contains(own, word) {
			continue
		}
		if best < 0 || distance(i, asked) < distance(best, asked) {
			best = i
		}
	}
	if best < 0 {
		best = asked
	}
	return efforts[best]
}

func distance(a, b int) int { return max(a-b, b-a) }

// keepThinkingOn lets a model think as little as it can where thinking shall be off and cannot be.
func (p planner) keepThinkingOn() {
	own := strings.Fields(p.info.Efforts)
	if !p.req.Reasoning.Off || slices.Contains(own, "none") || p.info.MinThinking == 0 && len(own) == 0 {
		return
	}
	least := llm.Reasoning{Tokens: p.info.MinThinking}
	if least.Tokens == 0 {
		least.Effort = effortNear(p.info.Efforts, 0, p.format().Thinking.Efforts)
	}
	p.warn(llm.Degraded, "reasoning.off", "%s always thinks; it is told to think as little as it can", p.model)
	p.req.Reasoning = &least
}

// returnThinking has the host give away its thinking in a form that can go back,
// unless it keeps the conversation itself.
func (p planner) returnThinking() {
	rules := p.format().Thinking
	own := p.req.Extra[p.wire]
	if p.info.Reasoning.Support != catalog.Yes || slices.ContainsFunc(rules.KeptBy, func(field string) bool { return own[field] != nil }) {
		return
	}
	for field, value := range rules.Keep {
		setExtra(p.req, p.wire, field, value)
	}
}

// raiseTokenLimit makes the limit of the answer larger than that of its thinking,
// where the limit counts both and thinking has a least number of tokens.
func (p planner) raiseTokenLimit() {
	least := p.format().Thinking.MinTokens
	if least == 0 {
		return
	}
	budget := p.req.Reasoning.Tokens
	if budget > 0 && budget < least {
		p.warn(llm.Degraded, "reasoning.budget", "the least is %d tokens", least)
		setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens = least })
		budget = least
	}
	most := p.info.MaxOutput - room
	if p.asked.MaxTokens == 0 && p.req.MaxTokens > 0 { // the limit is ours, and cannot grow
		most = p.req.MaxTokens - room
	}
	if budget > most && most >= least {
		p.warn(llm.Degraded, "reasoning.budget", "the most is %d tokens, which leaves %d for the answer", most, room)
		setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens = most })
		budget = most
	}
	if budget == 0 || p.req.MaxTokens > budget {
		return
	}
	p.warn(llm.Compatibility, "max_tokens", "the limit counts thinking too and must exceed its budget; it is now %d", budget+room)
	p.req.MaxTokens = budget + room
}

// dropReasoning removes the wish to think for a model that does not think.
func (p planner) dropReasoning() {
	if p.req.Reasoning == nil || p.info.Reasoning.Support != catalog.No {
		return
	}
	if !p.req.Reasoning.Off {
		p.warn(llm.Ignored, "reasoning", "%s does not think", p.model)
	}
	p.req.Reasoning = nil
}

// dynamicBudget leaves the budget out if the request leaves it to the model and the
// format cannot express that.
func (p planner) dynamicBudget() {
	if p.req.Reasoning.Tokens < 0 && !p.format().Thinking.Dynamic {
		setReasoning(p.req, func(r *llm.Reasoning) { r.Tokens = 0 })
	}
}
