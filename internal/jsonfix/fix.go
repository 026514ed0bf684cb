package jsonfix

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Fix reads a whole text as one JSON value and lists every edit it took. A
// valid text is returned as it is, without the white space around it.
func Fix(text string) (value json.RawMessage, edits []llm.Repair, err error) {
	if trimmed := strings.TrimSpace(text); json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed), nil, nil
	}
	r := Reader{whole: true}
	n := r.Feed(text)
	if !r.done && r.err == nil {
		r.Close()
		n = len(text)
	}
	if r.err == nil && strings.TrimSpace(text[n:]) == "" {
		return json.RawMessage(r.out), r.edits, nil
	}
	if start := strings.IndexAny(text, "{["); start > 0 && r.err != nil {
		value, edits, err2 := Fix(text[start:])
		if err2 == nil {
			for k := range edits {
				edits[k].Start += start
				edits[k].End += start
			}
			return value, append([]llm.Repair{{Rule: "text-before", Class: llm.Guess, End: start}}, edits...), nil
		}
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	r.edit("text-after", llm.Guess, n, len(text))
	return json.RawMessage(r.out), r.edits, nil
}
