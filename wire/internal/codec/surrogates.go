package codec

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/loss"
)

// Texts of package llm are UTF-8, which has no place for half of a surrogate pair, like "\ud83d" alone in JSON. U+FFFD
// stands in its place, and whoever wrote or reads the text is told. What is passed on as the bytes that came, by a relay or as a
// value that nobody reads, keeps it.

// surrogatesField is the extra field of a request that has some. It says how often U+FFFD itself is in it.
const surrogatesField = loss.Restated + "halves"

const surrogatesDetail = `half of a surrogate pair, like \ud83d alone, is no character; U+FFFD stands in its place`

// countSurrogates notes that a request has halves of pairs.
func (d *Decoder) countSurrogates(body []byte, req *llm.Request) {
	if !d.Surrogates {
		return
	}
	if js.Halves(body) > 0 {
		d.ExtraField(&req.Extra, surrogatesField, strconv.AppendInt(nil, int64(replacements(body)), 10))
	}
}

// replacements counts how often U+FFFD is in a document, as it is or as an escape, which may stand in JSON in a string.
func replacements(v []byte) int {
	return bytes.Count(v, []byte(replacement)) + bytes.Count(bytes.ToLower(v), []byte(`\ufffd`))
}

const replacement = "\ufffd"

// LostSurrogates warns if U+FFFD is in what was written of a request more often than in what the client sent. Arguments and
// schemas, which are carried as they are, keep their halves.
func (e *Encoder) LostSurrogates(req *llm.Request) {
	for _, fields := range req.Extra {
		if n, ok := js.Int(fields[surrogatesField]); ok && replacements(e.Buf) > int(n) {
			e.Lost(llm.Degraded, "text", surrogatesDetail)
		}
	}
}

// sawSurrogates notes whether an event of an answer whose documents have halves holds what stands in their place.
func (a *output) sawSurrogates(ev llm.Event) {
	if !a.replaced {
		a.replaced = strings.Contains(fmt.Sprintf("%s", ev), replacement)
	}
}

// warnSurrogates warns of halves of pairs that were replaced in an answer.
func (a *output) warnSurrogates() {
	if a.replaced {
		a.Warn(llm.Degraded, "text", surrogatesDetail)
	}
}

// SaysReplaced reports whether a warning says that U+FFFD stands in the place of something that is no character. Whoever
// passes on the bytes that were read has no such loss.
func SaysReplaced(ev llm.Event) bool {
	w, ok := ev.(llm.Warning)
	return ok && w.Detail == surrogatesDetail
}
