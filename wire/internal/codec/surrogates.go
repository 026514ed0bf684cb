package codec

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// Texts of package llm are UTF-8, which cannot encode half of a surrogate pair, like "\ud83d" alone in JSON. U+FFFD
// replaces it, with a warning. Bytes that a relay or an opaque value copies keep it.

// surrogatesField is the extra field of a request that has such halves. Its value counts the U+FFFD in the request.
const surrogatesField = loss.Restated + "halves"

// countSurrogates notes that a request has halves of pairs.
func (d *Decoder) countSurrogates(body []byte, req *llm.Request) {
	if !d.Surrogates {
		return
	}
	if js.Halves(body) > 0 {
		d.ExtraField(&req.Extra, surrogatesField, strconv.AppendInt(nil, int64(replacements(body)), 10))
	}
}

// replacements counts U+FFFD in a document, literal or as an escape, which may be inside a JSON string.
func replacements(v []byte) int {
	return bytes.Count(v, []byte(replacement)) + bytes.Count(bytes.ToLower(v), []byte(`\ufffd`))
}

const replacement = "\ufffd"

// LostSurrogates warns if the encoded request has more U+FFFD than the client's. Arguments and schemas are copied
// unchanged and keep their halves.
func (e *Encoder) LostSurrogates(req *llm.Request) {
	for _, fields := range req.Extra {
		if n, ok := js.Int(fields[surrogatesField]); ok && replacements(e.Buf) > int(n) {
			e.Lost(llm.Degraded, "text", loss.Surrogates)
		}
	}
}

// sawSurrogates notes whether an event has U+FFFD, for an answer whose documents have halves.
func (a *output) sawSurrogates(ev llm.Event) {
	if !a.replaced {
		a.replaced = strings.Contains(fmt.Sprintf("%s", ev), replacement)
	}
}

// warnSurrogates warns of halves of pairs that were replaced in an answer.
func (a *output) warnSurrogates() {
	if a.replaced {
		a.Warn(llm.Degraded, "text", loss.Surrogates)
	}
}
