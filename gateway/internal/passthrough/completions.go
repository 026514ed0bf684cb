package passthrough

import (
	"bytes"
	"cmp"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Completions are text that a model writes for a text, as editors have it fill in what stands between two others. They are passed on as they
// are; what they may use is reserved before, and what they used is counted, as of an answer to a question.

// writtenMembers are the names of members of such requests that say how much is written, beside those of all requests.
var writtenMembers = []string{"prompt", "prompt_embeds", "best_of"}

// mostPrompts bounds the texts of one request.
const mostPrompts = 2048

// writtenRequest returns what a request for completions says, as far as it is paid for.
func (x *Forwarder) writtenRequest(body []byte) (*llm.Request, error) {
	if err := admit.CheckRepeated(body); err != nil {
		return nil, err
	}
	body = js.Trim(body)
	for key := range js.Members(body) {
		if err := cmp.Or(admit.CheckSpelling(key, admit.Weighed), admit.CheckSpelling(key, writtenMembers)); err != nil {
			return nil, err
		}
	}
	x.Streamed = string(js.Get(body, "stream")) == "true"
	prompt, texts := js.Get(body, "prompt"), 0
	for each := range js.Elements(prompt) {
		if kind := js.Kind(each); kind != '"' && kind != '[' && kind != '{' { // the tokens of one text
			texts = 1
			break
		}
		texts++
	}
	for range js.Elements(js.Get(body, "prompt_embeds")) { // vLLM takes texts as vectors beside those
		texts++
	}
	if texts > mostPrompts {
		return nil, exchange.Invalid("prompt has more than %d texts", mostPrompts)
	}
	x.Spent.SetAnswers(max(x.Output.Answers, 1) * max(texts, 1))
	return &llm.Request{Model: x.Model, Messages: []llm.Message{llm.User(string(prompt)), llm.User(js.Text(js.Get(body, "suffix")))}}, nil
}

// mostWritten is what such a request may use at most.
func (x *Forwarder) mostWritten(req *llm.Request, info catalog.Model) (claim access.Claim) {
	x.Spent.AddMost(&claim, x.Spent.MostRead(req), req, info)
	_, known := info.Price.Cost(llm.Usage{Input: 1, Output: 1})
	claim.Unpriced = !known
	return claim
}

// maxWrittenLine bounds a line of a stream that is read for what it says. A longer one only counts.
const maxWrittenLine = 1 << 20

// writtenStream reads a stream of completions that is passed on, however it is cut.
type writtenStream struct {
	line  []byte // that has no end yet
	over  int    // bytes of a line that is too long
	text  int    // bytes that the model wrote
	usage []byte // what the upstream says was used
}

// add reads the next bytes.
func (s *writtenStream) add(b []byte) {
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		if len(s.line)+len(line) > maxWrittenLine {
			s.over += len(s.line) + len(line)
			s.line = s.line[:0]
		} else {
			s.line = append(s.line, line...)
		}
		if !ended {
			return
		}
		s.read(s.line)
		s.text, s.over, s.line, b = s.text+s.over, 0, s.line[:0], rest
	}
}

// end reads a last line without its end.
func (s *writtenStream) end() { s.add([]byte("\n")) }

func (s *writtenStream) read(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if data = js.Trim(data); !ok || !js.Valid(data) {
		return
	}
	s.text += writtenIn(data)
	if usage := js.Get(data, "usage"); js.Kind(usage) == '{' {
		s.usage = append(s.usage[:0], data...)
	}
}

// writtenIn is how many bytes a document of completions says that the model wrote.
func writtenIn(v []byte) (n int) {
	for choice := range js.Elements(js.Get(v, "choices")) {
		n += len(js.Text(js.Get(choice, "text")))
	}
	return n
}

// countWritten takes note of what completions used: what the upstream says, or what their text tells.
func (x *Forwarder) countWritten(status int, s *writtenStream) {
	complete := status/100 == 2
	x.Spent.SetComplete(complete)
	if !complete { // a refused request costs nothing
		x.Spent.Close()
		return
	}
	var said []byte
	body, whole := x.Writer.Copy.Bytes()
	switch {
	case s != nil:
		s.end()
		said = s.usage
		x.Spent.SetText(s.text)
	case !whole: // it is too long to be read
		x.Spent.SetText(maxUsage)
	case js.Valid(body):
		said = js.Trim(body)
		x.Spent.SetText(writtenIn(said))
	}
	x.Usage.Input, x.Usage.Output = firstNumber(said, usedIn), firstNumber(said, saidIn)
	if x.Rights == nil {
		x.Spent.CountTokens(x.Usage)
		return
	}
	x.Spent.BookUsage(x.Usage)
}
