package passthrough

import (
	"bytes"
	"cmp"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Legacy completions let a model continue a text, or fill the gap between two texts, as editors do. They are forwarded
// unchanged. Their possible usage is reserved before, and their actual usage is counted, as for chat requests.

// writtenMembers are the fields of completion requests that affect the amount of output, in addition to those of all
// requests.
var writtenMembers = admit.SpellingsOf("prompt", "prompt_embeds", "best_of")

// mostPrompts limits the prompts of one request.
const mostPrompts = 2048

// writtenRequest returns the parts of a completion request that affect its cost.
func (x *Forwarder) writtenRequest(body []byte) (*llm.Request, error) {
	if err := admit.CheckRepeated(body); err != nil {
		return nil, err
	}
	body = js.Trim(body)
	for key := range js.Members(body) {
		if err := cmp.Or(admit.Weighed.Check(key), writtenMembers.Check(key)); err != nil {
			return nil, err
		}
	}
	prompt, texts := js.Get(body, "prompt"), 0
	for each := range js.Elements(prompt) {
		if kind := js.Kind(each); kind != '"' && kind != '[' && kind != '{' { // the tokens of one text
			texts = 1
			break
		}
		texts++
	}
	for range js.Elements(js.Get(body, "prompt_embeds")) { // vLLM accepts prompts as vectors in addition to texts
		texts++
	}
	if texts > mostPrompts {
		return nil, exchange.Invalid("prompt has more than %d texts", mostPrompts)
	}
	x.Spent.SetAnswers(max(x.Output.Answers, 1) * max(texts, 1))
	return &llm.Request{Model: x.Model, Messages: []llm.Message{llm.User(string(prompt)), llm.User(js.Text(js.Get(body, "suffix")))}}, nil
}

// mostWritten returns the most that a completion request may use.
func (x *Forwarder) mostWritten(req *llm.Request, info catalog.Model) (claim access.Claim) {
	x.Spent.AddMost(&claim, x.Spent.MostRead(req), req, info)
	_, known := info.Price.Cost(llm.Usage{Input: 1, Output: 1})
	claim.Unpriced = !known
	return claim
}

// maxWrittenLine limits the lines of a stream that are parsed. Longer lines are only counted.
const maxWrittenLine = 1 << 20

// writtenStream parses a forwarded stream of completions from chunks of any size.
type writtenStream struct {
	line  []byte // the beginning of an incomplete line
	over  int    // bytes of a line that is too long
	text  int    // bytes that the model wrote
	usage []byte // the data with the usage that the upstream reports
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

// end reads the last line, which may lack a newline.
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

// writtenIn returns how many bytes of output a completion response contains.
func writtenIn(v []byte) (n int) {
	for choice := range js.Elements(js.Get(v, "choices")) {
		n += len(js.Text(js.Get(choice, "text")))
	}
	return n
}

// countWritten records the usage of a completion: as the upstream reports it, otherwise estimated from the text.
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
	case !whole: // too long to parse
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
