package sim

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// recallName is the model that answers from its request.
const recallName = "recall"

// Recall is a model that knows only the content of its request. It calls tools as [Offline] does. It answers a question
// with the sentence of the request that has its subject, the newest if there are several, or answers that it does not
// know. If System asks for a summary, it copies each sentence that states something: with a name, a number, a date, an
// id, an address or a quotation. It never changes a word. The zero value is ready to use.
type Recall struct{}

// Stream answers req. It fails only if ctx is done.
func (Recall) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return play(ctx, recall(req))
}

// The words of Recall.
const (
	noted   = "Noted."
	unknown = "I do not know."
)

func recall(req *llm.Request) *llm.Response {
	t := lastTurn(req.Messages)
	if system := instructions(req); len(req.Tools) == 0 && strings.Contains(strings.ToLower(system), "summary") {
		return respond(req, llm.Stop, llm.Text{Text: extract(t.text, wordLimit(system))})
	}
	if calls := decide(req, t); len(calls) > 0 {
		return answer(req)
	}
	if len(t.results) > 0 {
		return respond(req, llm.Stop, llm.Text{Text: say(req, t)})
	}
	if !strings.HasSuffix(strings.TrimSpace(t.text), "?") {
		return respond(req, llm.Stop, llm.Text{Text: noted})
	}
	return respond(req, llm.Stop, llm.Text{Text: find(req, t.text)})
}

// instructions returns all instructions of a request, wherever they are.
func instructions(req *llm.Request) string {
	list := []string{req.System}
	for _, m := range req.Messages {
		if m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper {
			list = append(list, m.Text())
		}
	}
	return strings.Join(list, "\n")
}

// find returns the sentence of a request that answers a question.
func find(req *llm.Request, question string) string {
	about := subjects(question)
	best, most := unknown, len(about)
	for _, s := range sentences(everything(req)) {
		if strings.HasSuffix(s, "?") {
			continue
		}
		have := make(map[string]bool)
		for _, w := range words(strings.ToLower(s)) {
			have[w] = true
		}
		n := 0
		for _, w := range about {
			if have[w] {
				n++
			}
		}
		if n >= most && n > 0 {
			best = s
		}
	}
	return best
}

// small are words that a question is not about.
var small = set("what which who whom whose where when how why is are was were the a an of to in on at for did do does has have had it that this i you me my your tell")

// subjects returns the words that a question is about.
func subjects(question string) []string {
	return slices.DeleteFunc(words(strings.ToLower(question)), func(w string) bool { return small[w] })
}

// everything returns the text of a request, oldest first.
func everything(req *llm.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	for _, m := range req.Messages {
		b.WriteByte('\n')
		b.WriteString(m.Text())
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				b.WriteString(r.Text())
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// sentenceEnd is where a sentence ends within a line.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]?\s+`)

// sentences splits text into its sentences.
func sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		for line = strings.TrimSpace(line); line != ""; {
			end := len(line)
			if at := sentenceEnd.FindStringIndex(line); at != nil {
				end = at[1]
			}
			out = append(out, strings.TrimSpace(line[:end]))
			line = line[end:]
		}
	}
	return out
}

// speaker matches the prefix of a message or a list item in a written conversation.
var speaker = regexp.MustCompile(`^(?:(?:user|assistant|system|developer): |call \S+ (?:said|failed): |- )+`)

// made is the line of a call in a written conversation.
var made = regexp.MustCompile(`^(?:- )?call \S+ of \S+ with `)

// extract returns the facts and the calls of a written conversation, each once, in at most
// so many words: the facts first, then the newest calls; 0 means no limit.
func extract(text string, limit int) string {
	var facts, calls []string
	for _, s := range sentences(text) {
		list := &facts
		if made.MatchString(s) {
			s = strings.TrimPrefix(s, "- ")
			list = &calls
		} else if s = speaker.ReplaceAllString(s, ""); !states(s) {
			continue
		}
		if !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	n := 0
	fits := func(s string) bool {
		n += len(strings.Fields(s)) + 1
		return limit == 0 || n <= limit
	}
	out := []string{"Facts"}
	for _, f := range facts {
		if fits(f) {
			out = append(out, "- "+f)
		}
	}
	var latest []string
	for _, c := range slices.Backward(calls) {
		if !fits(c) {
			break
		}
		latest = append(latest, "- "+c)
	}
	slices.Reverse(latest)
	return strings.Join(append(append(out, "Calls"), latest...), "\n")
}

// states reports whether a sentence states a fact. A fact has a number, a date, an address, a quotation, an id, or a
// name that is not only its first word. Questions, requests and remarks in brackets do not count.
func states(sentence string) bool {
	if strings.HasSuffix(sentence, "?") || strings.HasPrefix(sentence, "Please ") || strings.HasPrefix(sentence, "[") || strings.HasPrefix(sentence, "<") {
		return false
	}
	for _, t := range tokenize(sentence) {
		switch {
		case t.kind == word || t.kind == mark || t.text == "I":
		case t.kind != name, t.at > 0, strings.Contains(t.text, " "):
			return true
		}
	}
	return false
}

// atMost matches the length limit in a request for a text.
var atMost = regexp.MustCompile(`at most (\d+) words`)

// wordLimit returns the number of words that a task allows, 0 if it does not limit them.
func wordLimit(task string) int {
	found := atMost.FindStringSubmatch(task)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}
