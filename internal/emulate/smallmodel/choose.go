package smallmodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// The minimum overlap of a tool and a request for a call that is not demanded, and of
// a tool and a part of a request. Of the questions of a public set that want a call,
// these limits keep 93 of 100; of the questions that want none, they turn away 78. See
// docs/emulation.md.
const (
	leastFit         = 0.23
	leastClauseFit   = 0.3
	leastClauseWords = 3   // significant words; a part with fewer belongs to another part
	leastShortFit    = 0.5 // unless it fits as well as this
	leastOtherFit    = 0.4 // of a tool that fits second best, if the best one lacks values
)

// maxRounds is how often tools are called for one request of the user before
// an answer in text is due.
const maxRounds = 8

// Choose returns the tools to call now, in order, and the reason with its
// figures.
func (t *conversation) Choose(tools []llm.ToolDef, choice llm.ToolChoice, one bool) (chosen []llm.ToolDef, reason string) {
	switch forced := choice.Mode == llm.MustCall; {
	case len(tools) == 0:
		return nil, "there is no tool to call"
	case forced && len(tools) == 1:
		return tools, "the call is demanded"
	case forced:
		best, score := pick(tools, t.text)
		return tools[best : best+1], fmt.Sprintf("a call is demanded, and %s fits best (%.2f)", tools[best].Name, score)
	case t.rounds >= maxRounds:
		return nil, fmt.Sprintf("tools were called %d times for this request", t.rounds)
	}
	steps, reason := t.steps(tools)
	if t.done || len(t.calls) > 0 {
		steps = slices.DeleteFunc(slices.Clone(steps), func(d llm.ToolDef) bool {
			return slices.ContainsFunc(t.calls, func(c llm.Call) bool { return c.Name == d.Name })
		})
		if len(steps) == 0 {
			return nil, "the tools that fit were called and have answered"
		}
	}
	if one && len(steps) > 1 {
		steps = steps[:1]
	}
	return steps, reason
}

// steps returns the tools that the request asks for, and the reason. If parts of
// the request fit different tools, each part gets one. Otherwise it is the tool
// that fits best, if it fits well enough.
func (t *conversation) steps(tools []llm.ToolDef) ([]llm.ToolDef, string) {
	var steps []llm.ToolDef
	var notes []string
	if named := namedIn(tools, t.text); len(named) > 1 {
		return named, "the request names these tools"
	}
	if at := writer(tools, t.text); at >= 0 {
		return tools[at : at+1], fmt.Sprintf("the request gives a text and the one file to write it to, which %s takes", tools[at].Name)
	}
	if clauses := rank.Clauses(strings.Trim(t.text, " \"'“”\n")); len(clauses) > 1 && len(tools) > 1 {
		done := false // a part before names what it is about
		for _, clause := range clauses {
			if at, why := byTask(tools, clause); at >= 0 {
				done = true
				if !slices.ContainsFunc(steps, func(d llm.ToolDef) bool { return d.Name == tools[at].Name }) {
					steps = append(steps, tools[at])
					notes = append(notes, why)
				}
				continue
			}
			if done && answers(clause) {
				continue
			}
			best, score := pick(tools, clause)
			least := leastClauseFit
			if len(rank.Stems(clause)) < leastClauseWords {
				least = leastShortFit
			}
			if score < least || !demands(clause) || lacks(tools[best], t.known) {
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
	if at, why := byTask(tools, t.text); at >= 0 {
		return tools[at : at+1], why
	}
	best, score := pick(tools, t.text)
	name := tools[best].Name
	switch {
	case score < leastFit:
		return nil, fmt.Sprintf("no tool fits the request: %s comes nearest with %.2f of at least %.2f", name, score, leastFit)
	case lacks(tools[best], t.known):
		rest := slices.Delete(slices.Clone(tools), best, best+1)
		if len(rest) > 0 {
			if next, fit := pick(rest, t.text); fit >= leastOtherFit && !lacks(rest[next], t.known) {
				return rest[next : next+1], fmt.Sprintf("%s fits the request (%.2f) but needs what the conversation does not have; %s fits, too (%.2f)", name, score, rest[next].Name, fit)
			}
		}
		return nil, fmt.Sprintf("%s fits the request (%.2f) but needs values that the conversation does not have", name, score)
	}
	return tools[best : best+1], fmt.Sprintf("%s fits the request (%.2f, at least %.2f)", name, score, leastFit)
}

// byTask returns the tool for the file, folder, address, program or text that a request
// names, and the reason. It returns -1 if the request names none, or if no tool takes it.
func byTask(tools []llm.ToolDef, text string) (int, string) {
	t := taskOf(text)
	if t.deed == noDeed {
		return -1, ""
	}
	if !t.sure {
		if best, score := pick(tools, text); score >= leastFit && !lacks(tools[best], text) {
			return -1, ""
		}
	}
	at := forDeed(tools, t.deed, text)
	if at < 0 {
		return -1, ""
	}
	return at, fmt.Sprintf("%s, which %s takes", t.reason, tools[at].Name)
}

// answers reports whether a part of a request only says what to do with the result of
// the part before: "and tell me which one is newest".
func answers(clause string) bool {
	first, _, _ := strings.Cut(strings.ToLower(clause), " ")
	return slices.Contains([]string{"tell", "explain", "summarise", "summarize", "describe", "say", "answer"}, first)
}

// demanding are words with which a part of a request that wants something of its
// own begins.
var demanding = strings.Fields(`find search look show tell get fetch retrieve set book reserve buy purchase order play send make create add convert
calculate compute determine translate check schedule remind list give call open turn start stop write read delete remove update change cancel
compare recommend suggest analyze predict estimate generate draw plot use run ask say what what's how how's when where which who is are do does will lookup turn-on bring take put save store post pay transfer email message query count solve evaluate`)

// demands reports whether a part of a request asks for something itself, instead
// of saying more about the rest.
func demands(clause string) bool {
	words := strings.Fields(strings.ToLower(clause))
	wants := false // "I need a room"
	for len(words) > 0 {
		first := strings.Trim(words[0], wording.Edge)
		if !slices.Contains(polite, first) && !slices.Contains(courteous, first) {
			break
		}
		wants = first == "need" || first == "want"
		words = words[1:]
	}
	if len(words) == 0 || len(words) > 1 && words[1] == "sure" {
		return false
	}
	return slices.Contains(demanding, strings.Trim(words[0], wording.Edge)) || wants && slices.Contains([]string{"a", "an", "some"}, words[0])
}

var courteous = strings.Fields("i'd like also me help us let's we and love am i'm trying going for hey hi next after that finally first")

// namedIn returns the tools that text calls by their names, in its order. A
// name that is an ordinary word does not count.
func namedIn(tools []llm.ToolDef, text string) []llm.ToolDef {
	lower := strings.ToLower(text)
	var out []llm.ToolDef
	for _, d := range tools {
		if strings.ContainsAny(d.Name, "_-.") && wording.Mentions(lower, strings.ToLower(d.Name)) {
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
		docs[i] = rank.Document(d.Name, d.Description, js.Decode[map[string]any](d.Schema))
	}
	best := 0
	if hits := rank.New(docs).Search(text, 2); len(hits) > 0 {
		best = hits[0].Doc
		if len(hits) > 1 && hits[1].Score >= nearlyAsGood*hits[0].Score && unsaid(tools[best].Name, text) && !unsaid(tools[hits[1].Doc].Name, text) {
			best = hits[1].Doc
		}
	}
	score := rank.New(docs[best : best+1]).Fit(text)
	if lists(tools[best], strings.ToLower(text)) {
		score = min(1, score+listedFit)
	}
	return best, score
}

// nearlyAsGood is how well the second tool must fit to be preferred to a tool that
// does something the request does not mention. listedFit is added to the fit of a tool
// if the request has a value from one of its lists.
const (
	nearlyAsGood = 0.6
	listedFit    = 0.15
)

// deeds are the words for the effects of tools, one line for each effect.
var deeds = []map[string]bool{
	stemSet("book reserve reservation booking buy purchase order ticket appointment schedule get"),
	stemSet("pay send transfer payment"),
	stemSet("delete remove cancel clear erase"),
	stemSet("create add new make register insert set up put"),
	stemSet("update change modify edit replace set move reschedule rename"),
	stemSet("play listen hear stream watch start"),
}

// unsaid reports whether the name of a tool mentions an effect that the text does not
// mention.
func unsaid(name, text string) bool {
	stems, said := rank.Stems(name), stemSet(text)
	for _, deed := range deeds {
		if slices.ContainsFunc(stems, func(w string) bool { return deed[w] && !looking[w] }) {
			for w := range deed {
				if said[w] {
					return false
				}
			}
			return true
		}
	}
	return false
}

// looking are words that also occur in the names of tools without effects.
var looking = stemSet("get new ticket appointment order schedule")

// leastListed is how long a value of a list is that says something about the tool.
const leastListed = 4

// lists reports whether a text in lower case says a value of one of the tool's
// lists of values.
func lists(d llm.ToolDef, lower string) bool {
	root := keywordsOf(d.Schema)
	props := keywordsOf(root["properties"])
	for _, p := range props {
		if slices.ContainsFunc(js.Decode[[]json.RawMessage](keywordsOf(p)["enum"]), func(v json.RawMessage) bool {
			return len(js.Decode[string](v)) >= leastListed && says(lower, v)
		}) {
			return true
		}
	}
	return false
}

// writes are the words with which a request to write a file begins, after those
// of politeness.
var (
	writes = strings.Fields("write create make save put store")
	polite = strings.Fields("please can could would you kindly now then i need want to")
)

// writer returns the tool for a request that only asks to write one text to one file:
// the tool that requires a path and a content, and nothing else. It returns -1 for
// other requests, and if there is no such tool or more than one. The overlap of words
// does not help here, because the request consists of the text and the file name.
func writer(tools []llm.ToolDef, text string) int {
	e := &evidence{request: text}
	if len(e.paths()) != 1 || len(dictated(text)) != 1 {
		return -1
	}
	for _, clause := range rank.Clauses(text) {
		words := strings.Fields(strings.ToLower(clause))
		for len(words) > 0 && slices.Contains(polite, strings.Trim(words[0], wording.Edge)) {
			words = words[1:]
		}
		if len(words) == 1 && isPath(strings.TrimRight(words[0], wording.Edge)) { // "to a.txt", after the end of a sentence
			continue
		}
		if len(words) > 0 && !slices.Contains(writes, words[0]) && !wantsFile(words) && !strings.Contains(dictated(text)[0], strings.Trim(clause, wording.Edge)) {
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

// wantsFile reports whether words begin with a file that is not there yet: "a file
// notes.txt with". "The file" is one to be found.
func wantsFile(words []string) bool {
	at := slices.Index(words, "file")
	return at > 0 && words[0] == "a" && !slices.ContainsFunc(words[1:at], func(w string) bool { return w != "new" && w != "text" })
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

// lacks reports whether a tool needs values that the conversation does not have:
// fewer than half of the numbers, or, of values that could be any, fewer words
// that are not the tool's own.
func lacks(d llm.ToolDef, known string) bool {
	numbers, values := 0, 0
	s := schema.ShapeOf(d.Schema)
	root := keywordsOf(d.Schema)
	props := keywordsOf(root["properties"])
	for _, name := range s.Properties() {
		p := s.Property(name)
		if !s.Required(name) {
			continue
		}
		if numeric(p) || p.Types() == schema.Array && (numeric(p.Item(0)) || p.Item(0) != nil && p.Item(0).Types() == schema.Array) {
			numbers++
		}
		if own := keywordsOf(props[name]); !own.has("enum", "const", "default") && p.Types()&^(schema.Boolean|schema.Null) != 0 {
			values++
		}
	}
	if needsAddress(props, s) && !strings.Contains(known, "://") && !strings.Contains(known, "www.") {
		return true
	}
	spoken := wording.Count(wording.Numbers(known))
	return numbers > 0 && 2*spoken < numbers || values > 0 && spoken+foreign(d, known) < values
}

// needsAddress reports whether a tool requires the address of a page.
func needsAddress(props keywords, s *schema.Shape) bool {
	for key := range props {
		name := strings.ToLower(key)
		if s.Required(key) && (name == "url" || name == "uri" || strings.HasSuffix(name, "_url")) {
			return true
		}
	}
	return false
}

// foreign counts the words of a text that say something and that the tool does not
// speak of itself: what its values can be made of. Words side by side count once.
func foreign(d llm.ToolDef, text string) int {
	own := map[string]bool{}
	for _, f := range rank.Document(d.Name, d.Description, js.Decode[map[string]any](d.Schema))[:3] {
		for _, w := range rank.Stems(f.Text) {
			own[w] = true
		}
	}
	n, inside := 0, false
	for _, w := range strings.Fields(text) {
		stems := rank.Stems(w)
		says := slices.ContainsFunc(stems, func(w string) bool { return !own[w] && !asking[w] && !wording.IsDigit(w[0]) })
		if says && !inside {
			n++
		}
		inside = says && strings.TrimRight(w, wording.Edge) == w
	}
	return n
}

// asking are words with which people ask, whatever they ask for.
var asking = stemSet("find search look looking locate show tell know see book buy reserve order purchase want wish would like love get need help please interested interesting good nice best some something someone thing now soon today going go planning trip possible able hello hi hey thanks time really suitable proper available new any")

func numeric(s *schema.Shape) bool {
	return s != nil && s.Types()&^(schema.Integer|schema.Number|schema.Null) == 0
}
