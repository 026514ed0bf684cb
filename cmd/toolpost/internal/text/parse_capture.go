package text

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// capture is an answer as it was caught: plain text, or the body of a vendor's
// response, whose text is read and whose own calls and thinking are kept.
type capture struct {
	format string      // empty: plain text
	chunks []string    // the text as it came
	others []llm.Event // what the vendor delivered as something else
	reason llm.Reason  // why the model stopped; empty if nobody says
}

// openCapture recognises a vendor's response. What is none, or cannot be read
// as one, is plain text.
func openCapture(text string) capture {
	if found, ok := wire.Detect([]byte(beginning(text))); ok {
		c, err := decodeCapture(found.Format, text)
		if err == nil || found.Framing != wire.JSON && len(c.chunks)+len(c.others) > 0 {
			return c
		}
	}
	return capture{chunks: []string{text}}
}

// beginning returns as much of a text as shows whether it is a vendor's stream;
// a JSON document has to be seen whole.
func beginning(text string) string {
	const look = 1 << 20
	if start := strings.TrimLeft(text[:min(len(text), look)], "\ufeff \t\r\n"); len(text) <= look || strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		return text
	}
	return text[:look]
}

// decodeCapture reads a response. A stream that was lost counts as cut off.
func decodeCapture(format, text string) (capture, error) {
	c := capture{format: format, reason: llm.Length}
	for ev, err := range (wire.Codec{Format: format}).DecodeStream(strings.NewReader(text)) {
		if err != nil {
			return c, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			c.chunks = append(c.chunks, ev.Text)
		case llm.Start, llm.KeepAlive:
		case llm.Finish:
			c.reason = ev.Reason
		default:
			c.others = append(c.others, ev)
		}
	}
	return c, nil
}

// text returns the text of the answer.
func (c capture) text() string { return strings.Join(c.chunks, "") }

// feed returns the text in chunks of n bytes, or as it came.
func (c capture) feed(n int) iter.Seq2[string, error] {
	if n > 0 {
		return dialect.Cut(c.text(), n)
	}
	return func(yield func(string, error) bool) {
		for _, chunk := range c.chunks {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}
