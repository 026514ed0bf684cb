package admit

import (
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// outputLimit is the output that the fields of a request allow. It considers every name and depth, because a host may
// read any of them.
type outputLimit struct {
	tokens  int  // the largest limit of an answer; 0 if there is none
	open    bool // a field asks for unlimited output
	Answers int  // the largest number of answers; 0 if unspecified
	size    int  // size of the body
	guessed int  // tokens of the predicted output; they are read as input, and rejected ones are charged as output
}

// add records a known field. A number that no host accepts is an error with the client's spelling of the name.
func (a *outputLimit) add(m *vendorField, name, value []byte) error {
	n, whole := js.Int(value)
	if m.meaning == allowsAnswers {
		if !whole || n < 1 || n > mostAnswers {
			return exchange.Invalid("%.60s has to be a whole number from 1 to %d", name, mostAnswers)
		}
		a.Answers = max(a.Answers, int(n))
		return nil
	}
	if !whole || n < -2 {
		return exchange.Invalid("%.60s must be a whole number of tokens; -1 means no limit", name)
	}
	a.bound(m.name, n)
	return nil
}

// bound records a limit of the answer length.
func (a *outputLimit) bound(name string, n int64) {
	switch {
	case n > 0:
		a.tokens = max(a.tokens, int(min(n, largestOutput)))
	case n < 0 || hasWord(name, mostWords):
		a.open = true // local servers use -1 or -2 for no limit, and some also 0
	}
}

// Hosts limit answers with many different fields, but their names have common words: reasoning.max_tokens,
// thinking.budget_tokens, chat_template_kwargs.thinking_budget, max_seq_len. So a number counts as a length if its name
// has one of lengthWords, and as a number of answers if its name has one of answersWords. A name with one of otherWords
// does not count. Names are folded by [js.FoldField].
var (
	lengthWords  = []string{"token", "length", "budget", "predict", "genlen", "seqlen", "maxlen", "minlen", "maxoutput", "maxcompletion"}
	answersWords = []string{"beam", "sequences", "completions", "generations", "candidate", "samples", "choices", "bestof"}
	otherWords   = []string{"context", "prompt", "input", "penalty", "cache", "logprob", "keep", "tokenid", "auth"}
	mostWords    = []string{"max", "predict"} // in these names 0 may mean no limit; in others, such as thinking or a least length, it does not
)

// freeFields and freeWords are names, and words in names, of fields with content, labels or schemas. Names inside these
// fields are arbitrary.
var (
	freeFields = []string{"messages", "contents", "content", "system", "systeminstruction", "instructions", "prompt", "metadata", "litellmmetadata", "logitbias", "format", "documents", "user"}
	freeWords  = []string{"schema", "tool", "function", "json", "grammar", "responseformat"}
)

func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// look records the output that a field allows, at any depth and under any name. It rejects nothing, because an unknown
// field may mean something else.
func (a *outputLimit) look(key, value []byte, depth int) {
	name, kind := string(new(room).folded(key)), js.Kind(value)
	switch {
	case name == "prediction":
		a.guessed += TokensOf(len(value))
	case slices.Contains(freeFields, name), name == "input" && kind != '{', hasWord(name, freeWords):
	case kind != '{' && kind != '[':
		a.guess(name, value)
	case depth == mostNested:
		a.tokens = largestOutput // the fields inside are not checked, so assume the most
	case kind == '{':
		for key, value := range js.Members(value) {
			a.look(key, value, depth+1)
		}
	default:
		for value := range js.Elements(value) {
			if kind := js.Kind(value); kind == '{' || kind == '[' {
				a.look(nil, value, depth+1)
			}
		}
	}
}

// guess records a value according to the words in its name. It also accepts numbers in quotes and fractions, because
// servers do.
func (a *outputLimit) guess(name string, value []byte) {
	length := hasWord(name, lengthWords)
	if !length && name != "n" && !hasWord(name, answersWords) || hasWord(name, otherWords) {
		return
	}
	text := string(value)
	if js.Kind(value) == '"' {
		text = strings.TrimSpace(js.Text(value))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f) {
		return
	}
	n := int64(math.Ceil(max(-1, min(f, largestOutput))))
	if length {
		a.bound(name, n)
	} else {
		a.Answers = max(a.Answers, int(n))
	}
}

// output returns the output tokens that a request reserves for budgets, and the usual number, for limits per minute. If
// the request sets no limit, budgets reserve the expected number. Both cover all requested answers, and neither exceeds
// the maximum output of the model.
func (a outputLimit) output(req *llm.Request, info catalog.Model, expected int) (most, usual int) {
	answers := max(min(req.N, mostAnswers), a.Answers, 1)
	gives := largestOutput
	if info.MaxOutput > 0 {
		gives = min(info.MaxOutput, largestOutput)
	}
	said := min(max(req.MaxTokens, a.tokens), gives)
	if said > 0 && !a.open {
		return (said + a.guessed) * answers, (said + a.guessed) * answers
	}
	usual = max(said, min(defaultOutput, gives))
	most = max(said, min(expected, gives))
	if expected == maxOutput && info.MaxOutput == 0 {
		most = usual
	}
	return (most + a.guessed) * answers, (usual + a.guessed) * answers
}

// longToken is the usual length of long tokens, in bytes.
const longToken = 5

// read estimates the input tokens of the whole body, except files. It includes white space and fields that only some
// servers read.
func (a *outputLimit) read(req *llm.Request) int {
	files := 0
	for _, msg := range req.Messages {
		files += fileBytes(msg.Parts)
	}
	return max(0, a.size-files) / longToken
}

// fileBytes returns the encoded size of the files in parts.
func fileBytes(parts []llm.Part) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Media:
			n += base64.StdEncoding.EncodedLen(len(p.Data))
		case llm.Result:
			n += fileBytes(p.Parts)
		}
	}
	return n
}
