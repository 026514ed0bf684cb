package provider

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// bounds are those of the model at its host. Who only copies a format has those of its row.
func (p planner) bounds() format.RequestBounds {
	f := p.format()
	b := f.BoundsOf(p.settled.family)
	if b.MakerOnly && !p.vendor.Strict {
		return p.vendor.bounds
	}
	return b
}

// boundOptions brings the numbers and the stop sequences of a request within the bounds. Each change is a warning.
func (p planner) boundOptions() {
	b, r := p.bounds(), p.req
	if most := b.MaxTemperature; most > 0 && r.Temperature != nil && *r.Temperature > most {
		p.warn(llm.Degraded, "temperature", "%s takes at most %g, which is sent in place of %g", p.model, most, *r.Temperature)
		r.Temperature = &most
	}
	if r.MaxTokens > 0 && r.MaxTokens < b.MinTokens {
		p.warn(llm.Degraded, "max_tokens", "the %s format takes no limit below %d, which is sent in place of %d", p.wire, b.MinTokens, r.MaxTokens)
		r.MaxTokens = b.MinTokens
	}
	if n := len(r.Stop); b.SeenStops {
		if r.Stop = slices.DeleteFunc(r.Stop, unseen); len(r.Stop) < n {
			p.warn(llm.Ignored, "stop", "%s takes no stop sequence that is only white space; %d left out", p.model, n-len(r.Stop))
		}
	}
	if n := len(r.Stop); b.MaxStops > 0 && n > b.MaxStops {
		p.warn(llm.Degraded, "stop", "%s takes %d stop sequences; the first are sent, and %d left out", p.vendor.Name, b.MaxStops, n-b.MaxStops)
		r.Stop = r.Stop[:b.MaxStops]
	}
}

// requireTokenLimit gives a request the limit that its format demands, if it has none: all
// that the model can give, or what its window leaves. It is said once. More than
// the model gives is refused by its maker, so it is not asked for.
func (p planner) requireTokenLimit() {
	if !p.format().NeedsLimit {
		return
	}
	if most := p.info.MaxOutput; most > 0 && p.req.MaxTokens > most {
		p.warn(llm.Degraded, "max_tokens", "%s gives at most %d tokens; a larger limit is refused", p.model, most)
		p.req.MaxTokens = most
	}
	if p.req.MaxTokens > 0 {
		return
	}
	p.req.MaxTokens = p.info.MaxOutput
	if p.req.MaxTokens == 0 {
		p.req.MaxTokens = room
	}
	what := "all that the model gives"
	if p.info.MaxOutput == 0 {
		what = "as the limit of the model is not known"
	}
	if left := p.info.ContextWindow - estimate(p.req); p.info.ContextWindow > 0 && left < p.req.MaxTokens {
		p.req.MaxTokens, what = max(left, room), "about what its window leaves"
	}
	if p.sayOnce("max_tokens, " + what) {
		p.warn(llm.Compatibility, "max_tokens", "%s demands a limit for the answer: %d was set, %s", p.vendor.Name, p.req.MaxTokens, what)
	}
}

// estimate returns about how many tokens a request has, rather too many than too few:
// vendors count differently, and refuse requests that are too large.
func estimate(req *llm.Request) int { return llm.EstimateRequest(req) * 3 / 2 }

// sampling leaves out what the model refuses of the options that choose among
// its tokens. Each is a warning.
func (p planner) sampling() {
	r := p.req
	switch p.info.Sampling {
	case "one":
		if r.Temperature != nil && r.TopP != nil {
			p.warn(llm.Ignored, "top_p", "%s takes either temperature or top_p", p.model)
			r.TopP = nil
		}
	case "none":
		p.drop(samplers, p.model+" allows only the default")
	case "any unless thinking":
		if thinks(r) {
			p.drop(samplers, p.model+" allows only the default while it thinks")
		}
	}
	if p.info.StopSequences.In(p.conditions(r)) == catalog.No {
		p.drop([]string{"stop"}, p.model+" cannot be told where to stop; it continues")
	}
}

// drop removes the named options that the request sets, each with a warning that has
// the reason.
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

// samplingWhileThinking drops the sampling options that the vendor refuses while the
// model thinks.
func (p planner) samplingWhileThinking() {
	rules := p.format().Thinking
	if rules.Families != nil && !slices.Contains(rules.Families, p.settled.family) {
		return
	}
	r := p.req
	var names []string
	if rules.NoTopK {
		names = append(names, "top_k")
	}
	if rules.MinTopP > 0 && r.TopP != nil && *r.TopP < rules.MinTopP {
		names = append(names, "top_p")
	}
	if rules.MinTopP > 0 && r.Temperature != nil && *r.Temperature != 1 {
		names = append(names, "temperature")
	}
	for _, name := range names { // in this order
		p.drop([]string{name}, p.model+" allows only the default while it thinks")
	}
}

// unseen reports whether nothing of a text can be seen.
func unseen(s string) bool { return strings.TrimSpace(s) == "" }
