package provider

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// budgets are how many tokens an effort is worth where a vendor counts tokens.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 24576, "xhigh": 32768, "max": 49152}

// efforts are the words for how much a model thinks, the least first.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// room is what an answer gets beyond its thinking.
const room = 4096

// thinking brings along what thinking demands of the rest of the request. Each
// change is a warning.
func (m *Model) thinking(j *job) {
	if j.req.Reasoning == nil {
		return
	}
	if m.info.Reasoning.Support == catalog.No {
		if !j.req.Reasoning.Off {
			j.warn(llm.Ignored, "reasoning", "%s does not think", m.model)
		}
		j.req.Reasoning = nil
		return
	}
	rules := m.format().Thinking
	m.keepThinkingOn(j)
	if !thinks(j.req) {
		return
	}
	if j.req.Reasoning.Budget < 0 && !rules.Dynamic { // it is left to the model, as without a number
		setReasoning(j.req, func(r *llm.Reasoning) { r.Budget = 0 })
	}
	m.oneMeasure(j, rules)
	m.countEffort(j, rules.EffortSince)
	m.boundBudget(j)
	m.nameEffort(j, rules)
	m.withoutDegree(j, rules.EffortsKnown)
	m.nearestEffort(j, rules.Efforts)
	m.thinkingRoom(j, rules.MinBudget)
	if rules.Families != nil && !slices.Contains(rules.Families, m.settled.family) {
		return
	}
	m.dropSampling(j, rules.NoTopK && j.req.TopK != nil, "top_k", func(r *llm.Request) { r.TopK = nil })
	if rules.MinTopP > 0 {
		m.dropSampling(j, j.req.TopP != nil && *j.req.TopP < rules.MinTopP, "top_p", func(r *llm.Request) { r.TopP = nil })
		m.dropSampling(j, j.req.Temperature != nil && *j.req.Temperature != 1, "temperature", func(r *llm.Request) { r.Temperature = nil })
	}
}

// sampling leaves out what the model refuses of the options that choose among
// its tokens. Each is a warning.
func (m *Model) sampling(j *job) {
	r := j.req
	switch m.info.Sampling {
	case "one":
		if r.Temperature != nil && r.TopP != nil {
			j.warn(llm.Ignored, "top_p", "%s takes either temperature or top_p", m.model)
			r.TopP = nil
		}
	case "none":
		j.drop(samplers, m.model+" allows only the default")
	case "any unless thinking":
		if thinks(r) {
			j.drop(samplers, m.model+" allows only the default while it thinks")
		}
	}
	if m.info.StopSequences.In(m.conditions(r)) == catalog.No {
		j.drop([]string{"stop"}, m.model+" cannot be told where to stop; it goes on")
	}
}

// drop leaves out those of the named options that are asked for, each with a warning that says why.
func (j *job) drop(names []string, why string) {
	for _, o := range options {
		if slices.Contains(names, o.Name) && o.asked(j.req) {
			j.warn(llm.Ignored, o.Name, "%s", why)
			o.clear(j.req)
		}
	}
}

// samplers are the options that choose among the tokens of a model.
var samplers = []string{"temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty"}

// oneMeasure keeps one of a number of tokens and an effort where a format refuses both: the number for models that came
// before the version that knows efforts.
func (m *Model) oneMeasure(j *job, rules wire.ThinkingRules) {
	r := j.req.Reasoning
	if !rules.OneMeasure || r.Budget == 0 || r.Effort == "" {
		return
	}
	if v := m.info.ID.Version; !v.IsZero() && v.Compare(rules.EffortSince) < 0 {
		j.warn(llm.Ignored, "reasoning.effort", "%s takes a number of tokens to think, and not an effort beside it", m.model)
		setReasoning(j.req, func(r *llm.Reasoning) { r.Effort = "" })
		return
	}
	j.warn(llm.Ignored, "reasoning.budget", "%s takes an effort, and not a number of tokens beside it", m.model)
	setReasoning(j.req, func(r *llm.Reasoning) { r.Budget = 0 })
}

// withoutDegree only asks for thinking, and not for how much, where the format has words for that but few models take
// them: those of which the catalogue knows the words. A client of the format itself knows its server best.
func (m *Model) withoutDegree(j *job, known bool) {
	if !known || j.asIs || m.info.Efforts != "" || j.req.Reasoning.Effort == "" {
		return
	}
	j.warn(llm.Degraded, "reasoning.effort", "%s is told to think, and not how much: it is not known to take an effort", m.model)
	setReasoning(j.req, func(r *llm.Reasoning) { r.Effort = "" })
}

// bounded returns the number of tokens to think that is nearest to n of those that the model takes.
func (m *Model) bounded(n int) int {
	if most := m.info.MaxThinking; most > 0 {
		n = min(n, most)
	}
	return max(n, m.info.MinThinking)
}

// boundBudget replaces a number of tokens to think by the nearest that the model takes.
func (m *Model) boundBudget(j *job) {
	asked := j.req.Reasoning.Budget
	if n := m.bounded(asked); asked > 0 && n != asked {
		j.warn(llm.Degraded, "reasoning.budget", "%s cannot be told to think %d tokens; it is %d", m.model, asked, n)
		setReasoning(j.req, func(r *llm.Reasoning) { r.Budget = n })
	}
}

// countEffort turns an effort into tokens for models that came before the
// version that knows efforts, unless it is left to the model.
func (m *Model) countEffort(j *job, since catalog.Version) {
	r := j.req.Reasoning
	if r.Budget != 0 || since.IsZero() || m.info.ID.Version.IsZero() || m.info.ID.Version.Compare(since) >= 0 {
		return
	}
	n, ok := budgets[r.Effort]
	if !ok {
		n = budgets["medium"]
	}
	n = m.bounded(n)
	j.warn(llm.Degraded, "reasoning.effort", "%s counts thinking in tokens: %d", m.model, n)
	setReasoning(j.req, func(r *llm.Reasoning) { r.Budget, r.Effort = n, "" })
}

// nameEffort turns a number of tokens into the nearest effort: for models since the version that takes nothing else, and for
// models that are known to take efforts where the format has nothing else.
func (m *Model) nameEffort(j *job, rules wire.ThinkingRules) {
	r, since := j.req.Reasoning, rules.EffortOnly
	refused := !since.IsZero() && !m.info.ID.Version.IsZero() && m.info.ID.Version.Compare(since) >= 0
	lacks := !m.has(wire.ReasoningBudget) && m.has(wire.ReasoningEffort) && (m.info.Efforts != "" || slices.Contains(rules.Families, m.settled.family))
	if r.Budget <= 0 || !refused && !lacks {
		return
	}
	effort := r.Effort
	for _, word := range []string{"low", "medium", "high"} { // which all that take efforts have
		if r.Effort == "" && (effort == "" || distance(r.Budget, budgets[word]) < distance(r.Budget, budgets[effort])) {
			effort = word
		}
	}
	j.warn(llm.Degraded, "reasoning.budget", "%s does not count thinking in tokens; its effort is %s", m.model, effort)
	setReasoning(j.req, func(r *llm.Reasoning) { r.Budget, r.Effort = 0, effort })
}

// nearestEffort replaces a word for how much to think that the format or the model lacks by the nearest that it has.
func (m *Model) nearestEffort(j *job, words []string) {
	r := j.req.Reasoning
	if asked := slices.Index(efforts, r.Effort); asked > 0 {
		if word := m.effortNear(asked, words); word != r.Effort {
			j.warn(llm.Degraded, "reasoning.effort", "%s has no effort %q; it is %s", m.model, r.Effort, word)
			setReasoning(j.req, func(r *llm.Reasoning) { r.Effort = word })
		}
	}
}

// effortNear returns the word nearest to the one in that place of efforts, among those that the format and the model
// have, the lower one of two. A word that nobody restricts is its own.
func (m *Model) effortNear(asked int, words []string) string {
	own, best := strings.Fields(m.info.Efforts), -1
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
func (m *Model) keepThinkingOn(j *job) {
	own := strings.Fields(m.info.Efforts)
	if !j.req.Reasoning.Off || slices.Contains(own, "none") || m.info.MinThinking == 0 && len(own) == 0 {
		return
	}
	least := llm.Reasoning{Budget: m.info.MinThinking}
	if least.Budget == 0 {
		least.Effort = m.effortNear(0, m.format().Thinking.Efforts)
	}
	j.warn(llm.Degraded, "reasoning.off", "%s always thinks; it is told to think as little as it can", m.model)
	j.req.Reasoning = &least
}

// keepThinking has the host give away its thinking in a form that can go back,
// unless it keeps the conversation itself.
func (m *Model) keepThinking(j *job) {
	rules := m.format().Thinking
	own := j.req.Extra[m.wire]
	if m.info.Reasoning.Support != catalog.Yes || slices.ContainsFunc(rules.KeptBy, func(field string) bool { return own[field] != nil }) {
		return
	}
	for field, value := range rules.Keep {
		setExtra(j.req, m.wire, field, value)
	}
}

// thinkingRoom makes the limit of the answer larger than that of its thinking,
// where the limit counts both and thinking has a least number of tokens.
func (m *Model) thinkingRoom(j *job, least int) {
	if least == 0 {
		return
	}
	budget := j.req.Reasoning.Budget
	if budget > 0 && budget < least {
		j.warn(llm.Degraded, "reasoning.budget", "the least is %d tokens", least)
		setReasoning(j.req, func(r *llm.Reasoning) { r.Budget = least })
		budget = least
	}
	most := m.info.MaxOutput - room
	if j.asked.MaxTokens == 0 && j.req.MaxTokens > 0 { // the limit is ours, and cannot grow
		most = j.req.MaxTokens - room
	}
	if budget > most && most >= least {
		j.warn(llm.Degraded, "reasoning.budget", "the most is %d tokens, which leaves %d for the answer", most, room)
		setReasoning(j.req, func(r *llm.Reasoning) { r.Budget = most })
		budget = most
	}
	if budget == 0 || j.req.MaxTokens > budget {
		return
	}
	j.warn(llm.Compatibility, "max_tokens", "the limit counts thinking too and must exceed its budget; it is now %d", budget+room)
	j.req.MaxTokens = budget + room
}

func (m *Model) dropSampling(j *job, set bool, name string, drop func(*llm.Request)) {
	if set {
		j.warn(llm.Ignored, name, "%s allows only the default while it thinks", m.model)
		drop(j.req)
	}
}
