package emulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Gate says who decides whether a tool is called, and which. It only concerns
// models without tool calling of their own. Under a grammar a small model takes
// the shortest way, not the right one, so for it we decide, by the words that
// request and tool have in common. Every decision is a Warning event with its
// figures. A demanded call is always made.
type Gate string

// The gates.
const (
	// GateSmall decides for models that are known to be small. It is what an
	// empty Gate means.
	GateSmall Gate = "small"
	// GateOn decides for every model that is held to a schema.
	GateOn Gate = "on"
	// GateOff leaves it to the model.
	GateOff Gate = "off"
)

// small is the number of parameters up to which a model counts as small.
const small = 1_000_000_000

// The least that a tool must have in common with a request to be called
// without being demanded, and with a part of a request to be called for that
// part. Of the questions of a public set that want a call these keep 94 of
// 100, of those that want none they turn away 78; see docs/emulation.md.
const (
	leastFit         = 0.25
	leastClauseFit   = 0.3
	leastClauseWords = 3   // that say something; less is a part of what was asked for
	leastShortFit    = 0.5 // unless it fits as well as this
)

// maxRounds is how often tools are called for one request of the user before
// an answer in text is due.
const maxRounds = 8

// verdict is what the gate decided.
type verdict struct {
	// tools are those to call, in this order; none means to answer in text.
	tools []llm.ToolDef
	// why is the decision in words, with its figures.
	why string
}

// turn is the last request of the user and what was done for it since.
type turn struct {
	text   string // the request, with the one before where it goes on from it
	calls  []llm.Call
	rounds int
	done   bool // results have come
	// known is what the conversation says: requests and results.
	known string
}

// maxKnown bounds how much of a conversation is searched for values.
const maxKnown = 16 << 10

func lastTurn(messages []llm.Message) turn {
	var t turn
	var known []string
	before := ""
	for _, m := range messages {
		if text := strings.TrimSpace(m.Text()); m.Role == llm.RoleUser && text != "" {
			before, t = t.text, turn{text: text}
			known = append(known, text)
		}
		if calls := m.Calls(); len(calls) > 0 {
			t.calls = append(t.calls, calls...)
			t.rounds++
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				t.done = true
				known = append(known, r.Text())
			}
		}
	}
	if before != "" && goesOn(t.text) {
		t.text = before + "\n" + t.text
	}
	t.known = strings.Join(known, "\n")
	if len(t.known) > maxKnown {
		t.known = t.known[len(t.known)-maxKnown:]
	}
	return t
}

// goesOn reports whether a request only makes sense with the one before: "And
// in Rome?".
func goesOn(text string) bool {
	text = strings.ToLower(text)
	if len(strings.Fields(text)) > 8 {
		return false
	}
	for _, start := range []string{"and ", "what about ", "how about ", "now ", "also ", "the same ", "same ", "again"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// decide returns which of the tools are to be called now.
func decide(tools []llm.ToolDef, choice llm.ToolChoice, one bool, t turn) verdict {
	switch forced := choice.Mode == llm.MustCall; {
	case len(tools) == 0:
		return verdict{why: "there is no tool to call"}
	case forced && len(tools) == 1:
		return verdict{tools, "the call is demanded"}
	case forced:
		best, score := pick(tools, t.text)
		return verdict{tools[best : best+1], fmt.Sprintf("a call is demanded, and %s fits best (%.2f)", tools[best].Name, score)}
	case t.rounds >= maxRounds:
		return verdict{why: fmt.Sprintf("tools were called %d times for this request", t.rounds)}
	}
	steps, why := plan(tools, t)
	if t.done || len(t.calls) > 0 {
		steps = slices.DeleteFunc(slices.Clone(steps), func(d llm.ToolDef) bool {
			return slices.ContainsFunc(t.calls, func(c llm.Call) bool { return c.Name == d.Name })
		})
		if len(steps) == 0 {
			return verdict{why: "the tools that fit were called and have answered"}
		}
	}
	if one && len(steps) > 1 {
		steps = steps[:1]
	}
	return verdict{steps, why}
}

// plan returns the tools that a request asks for: one for each of its parts
// where parts fit different tools, else the best one if it fits.
func plan(tools []llm.ToolDef, t turn) ([]llm.ToolDef, string) {
	var steps []llm.ToolDef
	var notes []string
	if named := namedIn(tools, t.text); len(named) > 1 {
		return named, "the request names these tools"
	}
	if at := writer(tools, t.text); at >= 0 {
		return tools[at : at+1], fmt.Sprintf("the request gives a text and the one file to write it to, which %s takes", tools[at].Name)
	}
	if clauses := rank.Clauses(strings.Trim(t.text, " \"'“”\n")); len(clauses) > 1 && len(tools) > 1 {
		for _, clause := range clauses {
			best, score := pick(tools, clause)
			least := leastClauseFit
			if len(rank.Stems(clause)) < leastClauseWords {
				least = leastShortFit
			}
			if score < least || lacks(tools[best], t.known) {
				continue
			}
			if !slices.ContainsFunc(steps, func(d llm.ToolDef) bool { return d.Name == tools[best].Name }) {
				steps = append(steps, tools[best])
				notes = append(notes, fmt.Sprintf("%s fits %q (%.2f)", tools[best].Name, clause, score))
			}
		}
	}
	if len(steps) > 1 {
		return steps, "the request asks for several things: " + strings.Join(notes, ", ")
	}
	best, score := pick(tools, t.text)
	name := tools[best].Name
	switch {
	case score < leastFit:
		return nil, fmt.Sprintf("no tool fits the request: %s comes nearest with %.2f of at least %.2f", name, score, leastFit)
	case lacks(tools[best], t.known):
		return nil, fmt.Sprintf("%s fits the request (%.2f) but needs numbers that the conversation does not have", name, score)
	}
	return tools[best : best+1], fmt.Sprintf("%s fits the request (%.2f, at least %.2f)", name, score, leastFit)
}

// namedIn returns the tools that text calls by their names, in its order. A
// name that is an ordinary word does not count.
func namedIn(tools []llm.ToolDef, text string) []llm.ToolDef {
	lower := strings.ToLower(text)
	var out []llm.ToolDef
	for _, d := range tools {
		if strings.ContainsAny(d.Name, "_-.") && mentions(lower, strings.ToLower(d.Name)) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b llm.ToolDef) int {
		return strings.Index(lower, strings.ToLower(a.Name)) - strings.Index(lower, strings.ToLower(b.Name))
	})
	return out
}

// pick returns the tool that fits text best and how well. A tool that the text
// calls by its name fits perfectly.
func pick(tools []llm.ToolDef, text string) (int, float64) {
	docs := make([][]rank.Field, len(tools))
	if named := namedIn(tools, text); len(named) > 0 {
		return slices.IndexFunc(tools, func(d llm.ToolDef) bool { return d.Name == named[0].Name }), 1
	}
	for i, d := range tools {
		docs[i] = rank.Document(d.Name, d.Description, decode[map[string]any](d.Schema))
	}
	best := 0
	if hits := rank.New(docs).Search(text, 1); len(hits) > 0 {
		best = hits[0].Doc
	}
	return best, rank.New(docs[best : best+1]).Fit(text)
}

// writes are the words with which a request to write a file begins, after those
// of politeness.
var (
	writes = strings.Fields("write create make save put store")
	polite = strings.Fields("please can could would you kindly now then i need want to")
)

// writer returns the tool for a request that is nothing but one text to be
// written to one file: the one that takes a path and a content, and nothing else
// that is required. It returns -1 if the request is another, or no tool or more
// than one is such. The words that tools have in common with such a request say
// little: it is made of the text and the name.
func writer(tools []llm.ToolDef, text string) int {
	e := &evidence{request: text}
	if len(e.paths()) != 1 || len(dictated(text)) != 1 {
		return -1
	}
	for _, clause := range rank.Clauses(text) {
		words := strings.Fields(strings.ToLower(clause))
		for len(words) > 0 && slices.Contains(polite, strings.Trim(words[0], edge)) {
			words = words[1:]
		}
		if len(words) > 0 && !slices.Contains(writes, words[0]) && !strings.Contains(dictated(text)[0], strings.Trim(clause, edge)) {
			return -1
		}
	}
	found := -1
	for i, d := range tools {
		if takesFile(d) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// takesFile reports whether a tool requires a path and a content, and no more.
func takesFile(d llm.ToolDef) bool {
	s := schema.ShapeOf(d.Schema)
	path, content, other := 0, 0, 0
	for _, name := range s.Properties() {
		is := func(set map[string]bool) bool {
			return slices.ContainsFunc(rank.Stems(name), func(w string) bool { return set[w] })
		}
		switch {
		case !s.Required(name):
		case is(places):
			path++
		case is(spelled):
			content++
		default:
			other++
		}
	}
	return path == 1 && content == 1 && other == 0
}

// lacks reports whether a tool needs numbers and the conversation has fewer
// than half of them.
func lacks(d llm.ToolDef, known string) bool {
	need := 0
	s := schema.ShapeOf(d.Schema)
	for _, name := range s.Properties() {
		p := s.Property(name)
		if !s.Required(name) {
			continue
		}
		if numeric(p) || p.Types() == schema.Array && (numeric(p.Item(0)) || p.Item(0) != nil && p.Item(0).Types() == schema.Array) {
			need++
		}
	}
	return need > 0 && 2*spokenOf(numbersIn(known)) < need
}

func numeric(s *schema.Shape) bool {
	return s != nil && s.Types()&^(schema.Integer|schema.Number|schema.Null) == 0
}

// withheld lists the names of tools that are not among the chosen.
func withheld(tools, chosen []llm.ToolDef) []string {
	var out []string
	for _, d := range tools {
		if !slices.ContainsFunc(chosen, func(c llm.ToolDef) bool { return c.Name == d.Name }) {
			out = append(out, d.Name)
		}
	}
	return out
}

// maxNamed bounds how many names a warning lists.
const maxNamed = 20

// warning says what was decided, and which tools the model is not shown.
func (v verdict) warning(tools []llm.ToolDef) llm.Warning {
	detail := v.why
	if hidden := withheld(tools, v.tools); len(hidden) > 0 {
		names := strings.Join(hidden[:min(len(hidden), maxNamed)], ", ")
		if more := len(hidden) - maxNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		detail += "; not shown to the model: " + names
	}
	return llm.Warning{Code: llm.Emulated, Feature: "gate", Detail: detail + "; the gate can be switched off"}
}
