package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
)

// fits is the minimum similarity of a tool and a request for a call, unless the
// request names the tool.
const fits = 0.2

// maxRounds limits the rounds of tool calls for one request.
const maxRounds = 8

// Offline is a model that calls tools by rule. See the package comment for its
// abilities and limits. The zero value is ready to use.
type Offline struct{}

// Stream answers req. It fails only if ctx is done.
func (Offline) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return play(ctx, answer(req))
}

// pieceLength returns the length of the next piece of a stream.
type pieceLength func() int

// byWords cuts about a word at a time.
func byWords() int { return 12 }

// bySeed cuts pieces of 1 to 40 bytes; the same seed cuts alike.
func bySeed(seed int) pieceLength {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	return func() int { return 1 + r.IntN(40) }
}

// play streams a finished answer in small pieces, as a model would.
func play(ctx context.Context, r *llm.Response) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range r.Events() {
			for _, piece := range pieces(ev, byWords) {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				if !yield(piece, nil) {
					return
				}
			}
		}
	}
}

// pieces cuts a delta as a model's tokens would.
func pieces(ev llm.Event, next pieceLength) []llm.Event {
	var out []llm.Event
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Part != nil && ev.Part.LogProbs != nil { // each token with its own
			for i, s := range tokenTexts(ev.Text) {
				probs := &llm.LogProbs{Form: ev.Part.LogProbs.Form, Tokens: ev.Part.LogProbs.Tokens[i : i+1]}
				out = append(out, llm.TextDelta{Text: s, Part: &llm.Text{LogProbs: probs}})
			}
			return out
		}
		for _, s := range cut(ev.Text, next) {
			out = append(out, llm.TextDelta{Text: s})
		}
		if ev.Part != nil { // data of the vendor about the text, or instead of it
			out = append(out, llm.TextDelta{Part: ev.Part})
		}
	case llm.ThinkingDelta:
		for _, s := range cut(ev.Text, next) {
			out = append(out, llm.ThinkingDelta{Text: s})
		}
		if ev.Part != nil { // the signature comes last
			out = append(out, llm.ThinkingDelta{Part: ev.Part})
		}
	case llm.CallDelta:
		for _, s := range cut(ev.Args, next) {
			out = append(out, llm.CallDelta{ID: ev.ID, Args: s})
		}
	default:
		return []llm.Event{ev}
	}
	return out
}

// cut splits text before each space and after as many bytes as length gives
// at the latest, on the boundaries of runes.
func cut(text string, next pieceLength) []string {
	var out []string
	start, most := 0, next()
	for i, r := range text {
		if i > start && (r == ' ' || i-start >= most) {
			out = append(out, text[start:i])
			start, most = i, next()
		}
	}
	return append(out, text[start:])
}

// turn is the offline model's view of a conversation: the last request of the
// user and the calls and results since.
type turn struct {
	text    string
	asked   string     // text without its fenced blocks
	calls   []llm.Call // made since
	results []llm.Result
	rounds  int
	before  int // calls made in the whole conversation
}

func lastTurn(messages []llm.Message) turn {
	var t turn
	for _, m := range messages {
		if m.Role == llm.RoleUser && m.Text() != "" {
			t = turn{text: m.Text(), asked: unfenced(m.Text()), before: t.before}
		}
		calls := m.Calls()
		t.calls = append(t.calls, calls...)
		t.before += len(calls)
		if len(calls) > 0 {
			t.rounds++
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok && !r.Hosted {
				t.results = append(t.results, r)
			}
		}
	}
	return t
}

// unfenced returns text without its fenced blocks: a file in a request is data
// and contains no instructions. A fence is closed by a fence of at least its
// length, or by the end. If the whole text is fenced, unfenced returns it
// unchanged.
func unfenced(text string) string {
	var b strings.Builder
	open := 0 // length of the fence that is open
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		info := strings.TrimLeft(bare, "`")
		ticks := len(bare) - len(info)
		switch {
		case open == 0 && ticks >= 3 && !strings.Contains(info, "`"):
			open = ticks
		case open == 0:
			b.WriteString(line)
		case ticks >= open && info == "":
			open = 0
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return text
	}
	return b.String()
}

// answer returns the answer to a request.
func answer(req *llm.Request) *llm.Response {
	t := lastTurn(req.Messages)
	if calls := decide(req, t); len(calls) > 0 {
		parts := make([]llm.Part, len(calls))
		for i, c := range calls {
			parts[i] = c
		}
		return respond(req, llm.ToolCalls, parts...)
	}
	if req.Output != nil {
		return respond(req, llm.Stop, llm.Text{Text: structured(req, t)})
	}
	return respond(req, llm.Stop, llm.Text{Text: say(req, t)})
}

// respond wraps parts with a finish and a count of tokens at four bytes each.
func respond(req *llm.Request, reason llm.Reason, parts ...llm.Part) *llm.Response {
	r := &llm.Response{Message: llm.Assistant(parts...)}
	r.Finish = llm.Finish{Reason: reason, Model: "sim/offline", Usage: llm.Usage{Input: inputTokens(req), Output: outputTokens(parts)}}
	return r
}

// decide returns the calls to make now: the calls that the request asks for and
// that have not been made.
func decide(req *llm.Request, t turn) []llm.Call {
	offered := permitted(req)
	if len(offered) == 0 || t.rounds >= maxRounds {
		return nil
	}
	forced := req.Choice.Mode == llm.MustCall && len(t.results) == 0
	var calls []llm.Call
	ids := llm.CallIDs{After: t.before}
	for _, w := range undone(plan(offered, t, forced), t.calls) {
		w.ID = ids.Take("")
		calls = append(calls, w.Call)
		if req.OneCall {
			break
		}
	}
	return calls
}

// undone returns the calls of a plan that have not been made. Each call already
// made counts for one item of the plan, even if later results would give it
// other arguments: no item is done twice.
func undone(plan []wanted, made []llm.Call) []wanted {
	made = slices.Clone(made)
	done := make([]bool, len(plan))
	for _, did := range []func(wanted, llm.Call) bool{wanted.same, wanted.asked} {
		for i, w := range plan {
			at := slices.IndexFunc(made, func(c llm.Call) bool { return did(w, c) })
			if !done[i] && at >= 0 {
				done[i], made = true, slices.Delete(made, at, at+1)
			}
		}
	}
	var out []wanted
	for i, w := range plan {
		if !done[i] {
			out = append(out, w)
		}
	}
	return out
}

// wanted is a call that the request asks for.
type wanted struct {
	llm.Call
	own map[string]any // the arguments that the words asking for it give
}

// asked reports whether c was made for the same request as w: it has the
// arguments that the request itself gives, whatever the others are.
func (w wanted) asked(c llm.Call) bool {
	args := js.Trim(c.Args)
	if c.Name != w.Name || w.Kind == llm.FreeTool || js.Kind(args) != '{' || !js.Valid(args) {
		return false
	}
	for name, v := range w.own {
		want, err := json.Marshal(v)
		if err != nil || !js.Equal(want, js.Get(args, name)) {
			return false
		}
	}
	return true
}

// same reports whether c is this call. Clients may write the arguments in another way when they send them back.
func (w wanted) same(c llm.Call) bool {
	return c.Name == w.Name && js.Equal(c.Args, w.Args)
}

// permitted returns the tools that may be called and that we can fill.
func permitted(req *llm.Request) []llm.ToolDef {
	var out []llm.ToolDef
	for _, d := range req.Tools {
		if d.Kind != llm.HostedTool && req.Choice.Permits(d.Name) {
			out = append(out, d)
		}
	}
	return out
}

// plan reads the request as a whole and by its clauses and returns the calls
// it asks for. If forced, it returns at least one.
func plan(offered []llm.ToolDef, t turn, forced bool) []wanted {
	docs := make([][]rank.Field, len(offered))
	for i, d := range offered {
		var schema map[string]any
		_ = json.Unmarshal(d.Schema, &schema)
		docs[i] = rank.Document(d.Name, d.Description, schema)
	}
	index := rank.New(docs)
	found := knowledge(t)
	var out []wanted
	for _, clause := range joined(rank.Clauses(t.asked), func(text string) (int, bool) { return pick(offered, index, text, false) }) {
		if w, ok := want(offered, index, clause, t.asked, found, false); ok && !slices.ContainsFunc(out, func(o wanted) bool { return o.same(w.Call) }) {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		if w, ok := want(offered, index, t.asked, t.asked, found, forced); ok {
			out = append(out, w)
		}
	}
	return out
}

// pronouns are words with which a clause refers to the clause before.
var pronouns = set("it them there")

// joined joins clauses that ask for one thing: "create a.txt and write hello into
// it" is one, if the same tool does both.
func joined(clauses []string, tool func(string) (int, bool)) []string {
	var out []string
	for _, c := range clauses {
		if n := len(out) - 1; n >= 0 && !refersBack(c) && slices.ContainsFunc(words(c), func(w string) bool { return pronouns[w] }) {
			before, ok := tool(out[n])
			if same, fits := tool(c); ok && fits && same == before {
				out[n] += ", " + c
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// knowledge is the text of the results for this request.
func knowledge(t turn) string {
	var b strings.Builder
	for _, r := range t.results {
		if !r.Failed {
			b.WriteString(r.Text())
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// want returns the call that text asks for: the best tool, if it fits, with
// arguments from the text, then from the results, then from the whole request.
// Without force, a call that lacks a required argument is not made.
func want(offered []llm.ToolDef, index *rank.Index, text, whole, found string, force bool) (wanted, bool) {
	best, ok := pick(offered, index, text, force)
	if !ok {
		return wanted{}, false
	}
	d := offered[best]
	if d.Kind == llm.FreeTool {
		args, _ := json.Marshal(text)
		return wanted{Call: llm.Call{Name: d.Name, Args: args, Kind: d.Kind}}, true
	}
	schema := readSchema(d.Schema)
	about := d.Name + " " + d.Description
	args, missing := fill(schema, text, about, !refersBack(text))
	own := maps.Clone(args)
	maps.DeleteFunc(own, func(name string, _ any) bool { return slices.Contains(missing, name) })
	sources := []string{found, whole}
	if refersBack(text) { // an earlier call has to find it first
		sources = sources[:1]
	}
	for _, source := range sources {
		if len(missing) == 0 {
			break
		}
		more, lacks := fill(schema, source, about, false)
		missing = slices.DeleteFunc(missing, func(name string) bool {
			v, ok := more[name]
			if ok = ok && !slices.Contains(lacks, name); ok {
				args[name] = v
			}
			return ok
		})
	}
	if len(missing) > 0 && !force {
		return wanted{}, false
	}
	placeholders(schema, args)
	raw, err := json.Marshal(args)
	return wanted{Call: llm.Call{Name: d.Name, Args: raw}, own: own}, err == nil
}

// pick returns the best tool for text: the tool that text names, or the tool
// that shares most words with it. Tools that match the first verb of text are
// preferred.
func pick(offered []llm.ToolDef, index *rank.Index, text string, force bool) (int, bool) {
	lower := strings.ToLower(text)
	for i, d := range offered {
		if containsWords(lower, strings.ToLower(d.Name)) {
			return i, true
		}
	}
	hits := index.Search(text, len(offered))
	if verb := leading(lower); verb != "" {
		for _, hit := range hits {
			if w := words(offered[hit.Doc].Name); len(w) > 1 && w[0] == verb {
				return hit.Doc, true
			}
		}
	}
	if len(hits) > 0 && (force || index.Fit(text) >= fits) {
		return hits[0].Doc, true
	}
	return 0, force
}

// backward are words with which a request refers to a future result.
var backward = []string{"it shows", "it finds", "it found", "it names", "it says", "that file", "the result", "the first one"}

// refersBack reports whether text refers to a future result.
func refersBack(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(backward, func(phrase string) bool { return containsWords(lower, phrase) })
}

// polite are words before the verb of a request.
var polite = set("please then also now and first next can could you i want to")

// leading returns the first word of a request that is not polite, which is the verb.
func leading(lower string) string {
	for _, w := range words(lower) {
		if !polite[w] {
			return w
		}
	}
	return ""
}

// placeholders fills required parameters without a known value with the
// plainest value of their type: a forced call must still be valid. Parameters
// that may be null become null.
func placeholders(schema property, args map[string]any) {
	for _, p := range schema.properties {
		v, ok := args[p.name]
		if inner, object := v.(map[string]any); object {
			placeholders(p, inner)
		}
		if !ok && p.listed {
			args[p.name] = plainest(p)
		}
	}
}

func plainest(p property) any {
	switch {
	case p.is("null"):
		return nil
	case len(p.enum) > 0:
		return p.enum[0]
	case p.is("integer"), p.is("number"):
		return 0
	case p.is("boolean"):
		return false
	case p.is("array"):
		return []any{}
	case p.is("object"):
		args := make(map[string]any)
		placeholders(p, args)
		return args
	}
	return ""
}

// structured answers a request for JSON.
func structured(req *llm.Request, t turn) string {
	schema := readSchema(req.Output.Schema)
	args, _ := fill(schema, t.text+"\n"+knowledge(t), "", true)
	placeholders(schema, args)
	b, err := json.Marshal(args)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// shown limits the part of a result that an answer repeats.
const shown = 2000

// say answers with the text of the results.
func say(req *llm.Request, t turn) string {
	if len(t.results) == 0 {
		return silence(req, t)
	}
	names := make(map[string]string)
	for _, c := range t.calls {
		names[c.ID] = c.Name
	}
	var b strings.Builder
	for i, r := range t.results {
		if i > 0 {
			b.WriteByte('\n')
		}
		verb := "says"
		if r.Failed {
			verb = "failed"
		}
		fmt.Fprintf(&b, "%s %s: %s", names[r.CallID], verb, clip.Bytes(r.Text(), shown))
	}
	return b.String()
}

// silence explains why no tool was called.
func silence(req *llm.Request, t turn) string {
	switch offered := permitted(req); {
	case strings.TrimSpace(t.text) == "":
		return "Nothing was asked."
	case len(offered) == 0:
		return "I am an offline stand-in that answers with tools only, and there is no tool I may call."
	default:
		names := make([]string, len(offered))
		for i, d := range offered {
			names[i] = d.Name
		}
		return fmt.Sprintf("I am an offline stand-in that answers with tools only, and none of these fits the request: %s.", clip.Bytes(strings.Join(names, ", "), 300))
	}
}
