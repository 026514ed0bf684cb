package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// FinderName is the name of the tool that finds tools; see [Set.Finder].
const FinderName = "find_tools"

// mostFound is the maximum number of tools that one search finds.
const mostFound = 5

// Finder returns a read-only tool, find_tools, with which a model finds tools of the set. It leaves out the tools that
// offered reports; with nil it finds any. It changes nothing: the program that runs the conversation offers the found
// tools, as [Ranker.Follow] does.
func (s *Set) Finder(offered func(name string) bool) Tool {
	t := New(FinderName, "Find tools that are not in your list. Say in a few words what the tool should do, such as \"send an e-mail\". "+
		"It returns up to 5 tools, which you can call in your next turn. Use it if none of your tools fits; it runs nothing and changes nothing.",
		schema.Schema(`{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":500,"description":"what the tool should do, in a few words","examples":["send an e-mail"]}},"required":["query"],"additionalProperties":false}`),
		func(_ context.Context, args json.RawMessage) (Output, error) { return s.search(args, offered) })
	t.Effects = ReadOnly | Idempotent
	return t
}

// search answers a call of find_tools.
func (s *Set) search(args json.RawMessage, offered func(name string) bool) (Output, error) {
	r := s.Ranker()
	found := r.Found(args, offered)
	if len(found) == 0 {
		return Text("No other tool fits. Say it in other words, or go on without one."), nil
	}
	var text strings.Builder
	if r.fits(args) {
		text.WriteString("You can call these tools in your next turn:")
	} else {
		text.WriteString("No other tool has these words. The nearest in meaning, which you can call in your next turn if one of them fits:")
	}
	for _, i := range found {
		fmt.Fprintf(&text, "\n- %s: %s", r.defs[i].Name, firstSentence(r.defs[i].Description))
	}
	return Text(text.String()), nil
}

// Found returns the indices of the definitions that a call of find_tools with
// these arguments finds, best first. It leaves out the definitions that offered
// reports; with nil, none.
func (r *Ranker) Found(args json.RawMessage, offered func(name string) bool) []int {
	var in struct{ Query string }
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	var places []int
	take := func(i int) {
		name := r.defs[i].Name
		if len(places) < mostFound && name != FinderName && (offered == nil || !offered(name)) && !slices.Contains(places, i) {
			places = append(places, i)
		}
	}
	if r.index.Fit(in.Query) == 0 { // by exact words; a name may have another form of a word
		for _, i := range r.named(in.Query) {
			take(i)
		}
	}
	for _, h := range r.index.Search(in.Query, 0) {
		take(h.Doc)
	}
	return places
}

// fits reports whether a definition has words of a query of find_tools, or a name that is
// like one.
func (r *Ranker) fits(args json.RawMessage) bool {
	var in struct{ Query string }
	return json.Unmarshal(args, &in) == nil && (r.index.Fit(in.Query) > 0 || len(r.named(in.Query)) > 0)
}

// leastAlike is the minimum length of a common prefix of two words that count as the same, such as feed and feeder.
const leastAlike = 4

// named returns the places of the definitions whose names have a word that begins with a
// word of the query, or the other way round.
func (r *Ranker) named(query string) []int {
	asked := strings.FieldsFunc(strings.ToLower(query), notLetter)
	var places []int
	for i, d := range r.defs {
		words := strings.FieldsFunc(strings.ToLower(d.Name), notLetter)
		if slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(asked, func(q string) bool {
				return min(len(w), len(q)) >= leastAlike && (strings.HasPrefix(w, q) || strings.HasPrefix(q, w))
			})
		}) {
			places = append(places, i)
		}
	}
	return places
}

func notLetter(c rune) bool { return !unicode.IsLetter(c) }

// longestSentence limits the part of a description in a search result, in bytes.
const longestSentence = 200

// firstSentence returns the beginning of a description, on one line.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return clip.Bytes(s, longestSentence)
}

// Searches returns the calls of find_tools in a message of a conversation that have
// succeeded.
func Searches(conversation []llm.Message, m llm.Message) []llm.Call {
	var calls []llm.Call
	for _, c := range m.Calls() {
		if c.Name == FinderName && succeeded(conversation, c.ID) {
			calls = append(calls, c)
		}
	}
	return calls
}

// succeeded reports whether a conversation has the result of a call, which did
// not fail.
func succeeded(conversation []llm.Message, id string) bool {
	for _, m := range conversation {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok && r.CallID == id {
				return !r.Failed
			}
		}
	}
	return false
}

// Follow selects tools for a conversation, within the budget. It begins with the tools that fit the first user message.
// For each later message it adds the best matches, up to a quarter of the budget, and removes the worst. Tools that are
// pinned, were called or were found with find_tools stay even without room. Text that the library wrote in the user's
// place does not count as a user message.
//
// The indices are in the order of the first selection. A longer conversation therefore appends its tools, and a
// vendor's cache of the prompt stays valid until a tool is dropped. The omitted definitions come best first. The same
// conversation always gives the same selection.
func (r *Ranker) Follow(conversation []llm.Message, b Selection) (kept []int, left []Omitted) {
	f := &following{r: r, b: b.filled(), has: make([]bool, len(r.defs)), stays: make([]bool, len(r.defs))}
	f.stay(r.places(b.Pinned))
	for _, m := range conversation {
		switch m.Role {
		case llm.RoleUser:
			if text := said(m); text != "" {
				f.question(text)
			}
		case llm.RoleAssistant:
			for _, c := range m.Calls() {
				f.stay(r.places([]string{c.Name}))
			}
			f.stay(f.searched(Searches(conversation, m)))
		}
	}
	if !f.asked {
		f.question("")
	}
	return f.kept, f.left
}

// said returns the user's text in a message, without the library's additions.
func said(m llm.Message) string {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool {
		t, ok := p.(llm.Text)
		return ok && t.Ours
	})
	return m.Text()
}

// following is a selection that follows a conversation.
type following struct {
	r          *Ranker
	b          Selection
	kept       []int
	left       []Omitted
	has, stays []bool // kept, and for good
	asked      bool
}

// stay selects tools for good.
func (f *following) stay(places []int) {
	for _, i := range places {
		if !f.has[i] {
			f.kept = append(f.kept, i)
			f.left = slices.DeleteFunc(f.left, func(o Omitted) bool { return o.Name == f.r.defs[i].Name })
		}
		f.has[i], f.stays[i] = true, true
	}
}

// searched returns the results of the searches in one answer.
func (f *following) searched(calls []llm.Call) []int {
	if len(calls) == 0 {
		return nil
	}
	kept := make(map[string]bool)
	for _, i := range f.kept {
		kept[f.r.defs[i].Name] = true
	}
	var places []int
	for _, c := range calls {
		places = append(places, f.r.Found(c.Args, func(name string) bool { return kept[name] })...)
	}
	return places
}

// question selects the tools that fit a question. If all that was selected
// before does not fit in with them, the tools that fit the question worst are
// dropped.
func (f *following) question(text string) {
	ranked := f.r.Rank(text)
	fresh := f.fresh(ranked)
	wanted := slices.Clone(f.stays)
	for _, i := range fresh {
		if wanted[i] = true; !f.has[i] {
			f.has[i] = true
			f.kept = append(f.kept, i)
		}
	}
	f.drop(ranked, wanted)
	f.left = f.left[:0]
	for _, c := range ranked {
		if !f.has[c.Index] {
			f.left = append(f.left, Omitted{c.Name, f.b.CostOf(f.r.defs[c.Index])})
		}
	}
}

// fresh returns the tools that a question needs: for the first question, as
// many as there is room for; for a later one, the best quarter of that. The
// earlier selection then mostly stays.
func (f *following) fresh(ranked []Ranked) []int {
	b, must := f.b, f.kept // present tools stay
	if f.asked {
		b.Tools, b.Cost, must = quarter(b.Tools), quarter(b.Cost), nil
		b.Pinned = nil
	}
	f.asked = true
	places, _ := f.r.within(b, ranked, must)
	return places
}

// quarter returns a quarter of a limit; no limit stays no limit.
func quarter(n int) int {
	if n <= 0 {
		return n
	}
	return max(n/4, 1)
}

// drop makes room: it removes tools that are not wanted, the worst first.
func (f *following) drop(ranked []Ranked, wanted []bool) {
	n, cost := len(f.kept), f.r.cost(f.b, f.kept)
	for _, c := range slices.Backward(ranked) {
		if f.b.holds(n, cost) {
			break
		}
		if i := c.Index; f.has[i] && !wanted[i] {
			f.has[i] = false
			n--
			cost -= f.r.cost(f.b, []int{i})
		}
	}
	f.kept = slices.DeleteFunc(f.kept, func(i int) bool { return !f.has[i] })
}
