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

// outputLimit is how much output the members of a request allow, whatever they are called and wherever they stand: a host may read any of them.
type outputLimit struct {
	tokens  int  // the largest bound of an answer; 0 if none is said
	open    bool // one of them says that there is no bound
	Answers int  // the largest number of answers; 0 if none is said
	size    int  // of the body
	guessed int  // tokens of the answer that the client expects, which are read, and paid for as output where they are not what comes
}

// add takes note of a member. A number that no host can mean is an error, which names the member as the client wrote it.
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
		return exchange.Invalid("%.60s has to be a whole number of tokens; -1 means no bound", name)
	}
	a.bound(m.name, n)
	return nil
}

// bound takes note of a bound of an answer.
func (a *outputLimit) bound(name string, n int64) {
	switch {
	case n > 0:
		a.tokens = max(a.tokens, int(min(n, largestOutput)))
	case n < 0 || hasWord(name, mostWords):
		a.open = true // which local servers write as -1 or -2, and some read 0 as
	}
}

// Nobody knows all members by which hosts bound answers, but their names say what they are: reasoning.max_tokens, thinking.budget_tokens,
// chat_template_kwargs.thinking_budget, max_seq_len. So each number counts whose name has one of the first words, as a length, or of the next, as a number of
// answers, unless it has one that says otherwise. Names are those of foldMember.
var (
	lengthWords  = []string{"token", "length", "budget", "predict", "genlen", "seqlen", "maxlen", "minlen", "maxoutput", "maxcompletion"}
	answersWords = []string{"beam", "sequences", "completions", "generations", "candidate", "samples", "choices", "bestof"}
	otherWords   = []string{"context", "prompt", "input", "penalty", "cache", "logprob", "keep", "tokenid", "auth"}
	mostWords    = []string{"max", "predict"} // of which 0 may mean no bound; no thinking and no least length are bounds of nothing
)

// freeFields are members, and words in their names, that hold what a model reads or writes, labels, or schemas: there, names are anybody's.
var (
	freeFields = []string{"messages", "contents", "content", "system", "systeminstruction", "instructions", "prompt", "metadata", "litellmmetadata", "logitbias", "format", "documents", "user"}
	freeWords  = []string{"schema", "tool", "function", "json", "grammar", "responseformat"}
)

func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// look takes note of what a member allows, at any depth, whatever it is called. It refuses nothing: what it does not understand may be something else.
func (a *outputLimit) look(key, value []byte, depth int) {
	var room [longestName]byte
	name, kind := string(foldName(&room, key)), js.Kind(value)
	switch {
	case name == "prediction":
		a.guessed += TokensOf(len(value))
	case slices.Contains(freeFields, name), name == "input" && kind != '{', hasWord(name, freeWords):
	case kind != '{' && kind != '[':
		a.guess(name, value)
	case depth == mostNested:
		a.tokens = largestOutput // nobody looks deeper, and it may be there
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

// guess takes note of a value by the words in its name. Servers read numbers also where they stand in quotes or have a fraction.
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

// output returns how many tokens of output a request may use at most, and how many are usual where it does not say so: what it allows, but no more
// than the model gives, for each answer that it wants.
func (a outputLimit) output(req *llm.Request, info catalog.Model) (most, usual int) {
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
	most = usual
	if info.MaxOutput > 0 {
		most = gives
	}
	return (most + a.guessed) * answers, (usual + a.guessed) * answers
}

// longToken is how long tokens are, at the most that is usual.
const longToken = 5

// read is how many tokens the body of a request may have, whatever stands in it: spaces, and members that only some servers read, are read too.
func (a *outputLimit) read(req *llm.Request) int {
	files := 0
	for _, msg := range req.Messages {
		files += fileBytes(msg.Parts)
	}
	return max(0, a.size-files) / longToken
}

// fileBytes is how long the files among parts are in a body.
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
