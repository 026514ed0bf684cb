package gateway

import (
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
)

// The size limits of logged bodies: the default for each kept body, and the most of an answer that is examined.
const (
	defaultKeptBody = 64 << 10
	mostSeen        = 4 << 20
	mostRefusal     = 64 << 10 // for a document where a stream was asked for: an error
)

// bodyLog collects the bodies of a request and its answer for the log.
type bodyLog struct {
	asked  access.KeptBody
	stream llm.Builder      // the streamed answer
	pieces int              // its bytes; 0 if the answer is not streamed
	whole  clientio.Capture // the bytes sent to the client
}

// logs starts a copy of the bodies if the route logs them and there is a log.
func (x *chain) logs(r *route, body []byte) {
	if !r.LogBodies || x.Rights == nil {
		return
	}
	x.bodies = &bodyLog{asked: x.keptBody(x.HTTP.Header.Get("Content-Type"), body)}
	x.bodies.whole.Limit = mostSeen
	if x.Streamed {
		x.bodies.whole.Limit = mostRefusal
	}
	x.Writer.Log = &x.bodies.whole
}

// add takes an event of a stream. The stream is stored as one answer, because a secret may span two pieces.
func (l *bodyLog) add(ev llm.Event) {
	if l == nil {
		return
	}
	if l.pieces += 1 + admit.Written(ev); l.pieces <= mostSeen {
		l.stream.Add(ev)
	}
}

// keepBodies stores the bodies of a finished request with its log entry.
func (x *chain) keepBodies(err error) {
	l := x.bodies
	if l == nil || !x.spent.Admitted() {
		return
	}
	answer := x.keptAnswer()
	if err != nil {
		answer.Note = noted(answer.Note, "the request failed: "+llm.KindOf(err).String())
	}
	if err := x.spent.KeepBodies(access.Bodies{Request: l.asked, Answer: answer}); err != nil {
		x.settings.Log.Warn("what a request asked and was answered could not be written", "id", x.ID, "error", err.Error())
	}
}

// keptAnswer returns the answer in the form of the log.
func (x *chain) keptAnswer() access.KeptBody {
	l := x.bodies
	mediaType := x.W.Header().Get("Content-Type")
	if l.pieces == 0 {
		sent, ok := l.whole.Bytes()
		if !ok {
			return access.KeptBody{Type: mediaType, Size: l.whole.Size, Note: "it is not kept: it is too long to be looked at for secrets"}
		}
		body := x.keptBody(mediaType, sent)
		if body.Size = l.whole.Size; body.Text == "" && x.spent.FromCache() {
			body.Note = "it is not kept: it was given before, in pieces, to a request that has it"
		}
		return body
	}
	text, _, err := x.Codec.EncodeResponse(l.stream.Response())
	if err != nil {
		return access.KeptBody{Type: mediaType, Size: l.whole.Size, Note: "it is not kept: it makes no whole answer"}
	}
	body := x.keptBody(mediaType, text)
	body.Size = l.whole.Size
	body.Note = noted("it was sent in pieces, and is shown as one", body.Note)
	if l.pieces > mostSeen {
		body.Note = noted(body.Note, "its end is missing")
	}
	return body
}

// noted joins notes.
func noted(list ...string) string {
	var said []string
	for _, s := range list {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "; ")
}

// keptBody returns a body in the form of the log: JSON or plain text, redacted and truncated. Other types are only
// named.
func (x *chain) keptBody(mediaType string, body []byte) access.KeptBody {
	out := access.KeptBody{Type: mediaType, Size: int64(len(body))}
	kind, _, _ := mime.ParseMediaType(mediaType)
	var text string
	if clean, ok := x.settings.Secrets.RedactJSON(body); ok {
		text = string(clean)
	} else if kind == "text/plain" && utf8.Valid(body) {
		text = x.settings.Secrets.Clean(string(body)).String()
	} else {
		if len(body) > 0 {
			out.Note = "it is not kept: it is neither JSON nor plain text"
		}
		return out
	}
	text, left := withoutData(text)
	if left > 0 {
		out.Note = fmt.Sprintf("%d bytes of files in base64 are left out", left)
	}
	most := x.settings.MaxKeptBody
	if len(text) > most {
		out.Note = noted(out.Note, fmt.Sprintf("of %d bytes without secrets, the middle is left out", len(text)))
		text = clip.Middle(text, most, most/2) // a conversation begins with its subject, and ends with the question
	}
	out.Text = text
	return out
}

// leastData is the length from which a run of base64 counts as a file.
const leastData = 1024

// withoutData returns a text without files in base64, and their size in bytes.
func withoutData(text string) (string, int) {
	var out strings.Builder
	done, left := 0, 0
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && base64Letters[text[i]] {
			i++
		}
		if i-start >= leastData {
			fmt.Fprintf(&out, "%s[%d bytes left out]", text[done:start], i-start)
			done, left = i, left+i-start
		}
		i++
	}
	if left == 0 {
		return text, 0
	}
	return out.String() + text[done:], left
}

// base64Letters are the letters of both base64 alphabets.
var base64Letters = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") {
		set[c] = true
	}
	return set
}()
