package text

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// capture is a captured answer: plain text, or the body of a vendor's response. The text of a response is parsed; its
// own calls and thinking are kept.
type capture struct {
	format string      // empty for plain text
	chunks []string    // the text in its original chunks
	others []llm.Event // the vendor's events without text
	reason llm.Reason  // why the model stopped; empty if unknown
}

// openCapture recognises a vendor's response. Other input, or a response that cannot be decoded, is plain text.
func openCapture(text string) capture {
	if found, ok := wire.Detect([]byte(beginning(text))); ok {
		c, err := decodeCapture(found.Format, text)
		if err == nil || found.Framing != wire.JSON && len(c.chunks)+len(c.others) > 0 {
			return c
		}
	}
	return capture{chunks: []string{text}}
}

// beginning returns enough of a text to detect a vendor's stream. A JSON document is needed completely.
func beginning(text string) string {
	const look = 1 << 20
	if start := strings.TrimLeft(text[:min(len(text), look)], "\ufeff \t\r\n"); len(text) <= look || strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		return text
	}
	return text[:look]
}

// decodeCapture decodes a response. A stream that breaks off counts as cut off.
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

// feed returns the text in chunks of n bytes, or in its original chunks.
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
