package compaction

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// Step is a way to shorten results: how many of the newest messages of results are left
// alone, and how many characters the others keep.
type Step struct{ Spare, Keep int }

// OldResults and NewResults are the steps before a part of the conversation is left out,
// and after.
var (
	OldResults = []Step{{2, 400}, {1, 400}}
	NewResults = []Step{{0, 2000}, {0, 200}}
)

// Cut is the number of characters to which results were cut, by call id.
type Cut struct {
	Results map[string]int `json:"results"`
}

// CutReport is the calls whose results were cut, and the characters that the results had and kept.
type CutReport struct {
	Calls       []string
	Chars, Kept int
}

// CutResults shortens results, the oldest first and the newest last, with the first step that
// has an effect. save is how many tokens to save; 0 means as many as possible. The report has no
// calls if there is nothing to shorten.
func CutResults(msgs []llm.Message, steps []Step, save int) (Cut, CutReport) {
	for _, step := range steps {
		cut := Cut{Results: make(map[string]int)}
		var report CutReport
		c := cutter{step.Spare == 0, step.Keep, save == 0, save}
		eachResult(msgs, step.Spare, func(result llm.Result) {
			n, keep := c.keeps(result)
			if n == keep {
				return
			}
			cut.Results[result.CallID] = keep
			report.Calls = append(report.Calls, result.CallID)
			report.Chars += n
			report.Kept += keep
		})
		if len(report.Calls) > 0 {
			return cut, report
		}
	}
	return Cut{}, CutReport{}
}

// Apply returns a copy of a conversation with its results cut. Secrets are redacted before.
func (c Cut) Apply(msgs []llm.Message, redact func(string) string) []llm.Message {
	if msgs == nil {
		return nil
	}
	out := slices.Clone(msgs)
	for i, m := range out {
		if m.Role != llm.RoleTool {
			continue
		}
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			if r, ok := p.(llm.Result); ok {
				if n, ok := c.Results[r.CallID]; ok {
					parts[j] = cutResult(r, redact, n)
				}
			}
		}
		out[i].Parts = parts
	}
	return out
}

// Changed returns the messages with results that a cut shortens.
func (c Cut) Changed(msgs []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range msgs {
		if slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			r, ok := p.(llm.Result)
			if ok {
				_, ok = c.Results[r.CallID]
			}
			return ok
		}) {
			out = append(out, m)
		}
	}
	return out
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
	if c.newest { // at least a quarter, which makes the steps finite
		keep = max(keep, min(n*3/4, int(float64(n)*(1-float64(c.save)/float64(tokens)))))
	}
	c.save -= int(float64(tokens) * float64(n-keep) / float64(n))
	return n, keep
}

// eachResult visits the results of a conversation, except those in the last spare messages
// of results.
func eachResult(msgs []llm.Message, spare int, visit func(llm.Result)) {
	groups := 0
	for _, m := range msgs {
		if m.Role == llm.RoleTool {
			groups++
		}
	}
	for _, m := range msgs {
		if m.Role != llm.RoleTool {
			continue
		}
		if groups--; groups < spare {
			return
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				visit(r)
			}
		}
	}
}

// cutResult returns a result with the first keep characters of its text.
func cutResult(r llm.Result, redact func(string) string, keep int) llm.Result {
	if utf8.RuneCountInString(r.Text()) <= keep {
		return r
	}
	text := []rune(redact(r.Text()))
	keep = min(keep, len(text))
	r.Parts = []llm.Part{llm.Text{Text: fmt.Sprintf("%s\n[result shortened: %d characters -> %d kept, because the conversation had grown too long]",
		string(text[:keep]), len(text), keep)}}
	return r
}
