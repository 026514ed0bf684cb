package wire

import (
	"strconv"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Texts of package llm are UTF-8, which has no place for half of a surrogate pair, like "\ud83d" alone in JSON. U+FFFD
// stands in its place, and whoever wrote or reads the text is told. What is passed on as the bytes that came, by a relay or as a
// value that nobody reads, keeps it.

// halvesField is the extra field of a request that says how many it has.
const halvesField = restated + "halves"

const halvesDetail = `half of a surrogate pair, like \ud83d alone, is no character; U+FFFD stands in its place`

// countHalves notes that a request has halves of pairs.
func (d *decoder) countHalves(body []byte, req *llm.Request) {
	if !d.surrogates {
		return
	}
	if n := js.Halves(body); n > 0 {
		d.extraNamed(&req.Extra, halvesField, strconv.AppendInt(nil, int64(n), 10))
	}
}

// lostHalves warns if what was written of a request has fewer halves of pairs than the client sent.
func (e *encoder) lostHalves(req *llm.Request) {
	for _, fields := range req.Extra {
		if n, _ := js.Int(fields[halvesField]); n > 0 && js.Halves(e.Buf) < int(n) {
			e.lost(llm.Degraded, "text", halvesDetail)
		}
	}
}

// warnHalves warns of halves of pairs in the documents of an answer.
func (a *answer) warnHalves() {
	if a.halves {
		a.warn(llm.Degraded, "text", halvesDetail)
	}
}
