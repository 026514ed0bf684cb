package exchange

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// Response collects everything sent to the client.
type Response struct {
	*Request
	W         http.ResponseWriter // Writer, or a wrapper that turns a stream into an array
	Writer    clientio.Writer
	keepAlive time.Duration

	Relaying     bool          // the answer consists of the upstream's bytes
	RelayedBytes bool          // some of the upstream's bytes were sent
	CloseConn    bool          // close the connection after the answer, so an incomplete answer does not look complete
	HideUsage    bool          // the client did not ask for usage in its stream
	StripUsage   bool          // the upstream was asked for usage anyway, so it must be removed
	Cost         func() string // what the request cost so far in dollars, "" if unknown
	id           string        // id of the answer if the upstream uses another format
	Stream       *Stream       // nil if the answer is not streamed

	// mu guards the following fields: keep-alives are written while a step waits for the upstream.
	mu               sync.Mutex
	headerSent       bool          // the header is sent
	Upstream         string        // id of the model that answers
	headerWarnings   []llm.Warning // in the header
	overflowWarnings []llm.Warning // warnings beyond the limit of the header
	lateWarnings     int           // number of warnings that are not in the header
}

// NewResponse returns the response to a request.
func NewResponse(req *Request, w http.ResponseWriter, keepAlive, writeTime time.Duration) *Response {
	r := &Response{Request: req, keepAlive: keepAlive}
	r.Writer.Reset(w, req.HTTP, writeTime)
	r.W = &r.Writer
	return r
}

// The response headers.
const (
	// RequestHeader is the id of the request, which is also in the log.
	RequestHeader = "Toolpost-Request-Id"
	// UpstreamHeader is the id of the model that answered, without the address of its host. If a keep-alive had to be sent
	// before the answer began, it is a trailer.
	UpstreamHeader = "Toolpost-Upstream"
	// CostHeader is what the request cost, in dollars. For streams it is a trailer. It is missing if a price is unknown.
	CostHeader = "Toolpost-Cost"
	// WarningHeader reports deviations from the request, as far as known when the answer begins. Each value is one
	// warning: "code; feature; detail".
	WarningHeader = "Toolpost-Warning"
)

// Fail sends an error. It does nothing if the answer has begun: then the error was already sent.
func (r *Response) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.headerSent {
		return
	}
	r.headerSent = true
	vendorapi.Fail(r.W, r.Codec, r.forClient(err))
}

// forClient returns the error that the client sees.
func (r *Response) forClient(err error) error {
	if ShuttingDown(r.Context()) {
		return ErrShutdown
	}
	shown, final := upstream.ForClient(err)
	if final {
		r.W.Header().Set("X-Should-Retry", "false")
	}
	return shown
}

// head sends the status and the headers, once. The caller holds r.mu.
func (r *Response) head(mediaType string) {
	if r.headerSent {
		return
	}
	r.headerSent = true
	r.W.Header().Set("Content-Type", mediaType)
	r.W.Header().Set("Cache-Control", "no-cache")
	if r.Stream == nil || !r.Stream.early {
		r.W.Header().Set(UpstreamHeader, upstream.ShownID(r.Upstream))
	}
	if r.Stream == nil {
		r.setCost("")
	}
	r.writeOverflow()
	r.W.WriteHeader(http.StatusOK)
}

// setCost sets the header or trailer with the cost of the request.
func (r *Response) setCost(prefix string) {
	if r.Cost == nil {
		return
	}
	if cost := r.Cost(); cost != "" {
		r.W.Header().Set(prefix+CostHeader, cost)
	}
}

// AnswerID returns the id of an answer that does not use the upstream's id.
func (r *Response) AnswerID() string {
	if p := r.Codec.Properties(); r.id == "" && p.AnswerIDs {
		r.id = p.NewID()
	}
	return r.id
}

// SetUpstream records the upstream that is asked.
func (r *Response) SetUpstream(upstream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Upstream = upstream
}

// Tell sends a warning to the client, in the header or in the stream. Connection errors are ignored here; the next
// event reports them.
func (r *Response) Tell(w llm.Warning) {
	if r.Stream != nil {
		_ = r.Stream.Warn(w)
		return
	}
	r.Warn(w)
}

// Limits of the warning header. Many proxies and clients accept no more than 8 KiB of headers. The log has room for
// more.
const (
	maxWarnings = 16
	MaxWarning  = 300
	maxOverflow = 512
)

// writeOverflow adds one header line that names the features of the warnings beyond the limit, and writes these
// warnings to the log. The caller must hold r.mu.
func (r *Response) writeOverflow() {
	if len(r.overflowWarnings) == 0 {
		return
	}
	var features, all []string
	for _, w := range r.overflowWarnings {
		if !slices.Contains(features, w.Feature) {
			features = append(features, w.Feature)
		}
		all = append(all, warningText(w))
	}
	r.W.Header().Add(WarningHeader, warningText(llm.Warning{Code: llm.Degraded, Feature: "warnings",
		Detail: fmt.Sprintf("%d more, of which the log has %d, about %s", r.lateWarnings, len(all), strings.Join(features, ", "))}))
	r.Log.Warn("more warnings than the header has room for", "id", r.ID, "warnings", all)
}

// Warn adds a warning to the header, unless the header was sent.
func (r *Response) Warn(w llm.Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addWarning(w)
}

// addWarning implements Warn. The caller must hold r.mu.
func (r *Response) addWarning(w llm.Warning) {
	if r.isDoneHere(w) {
		return
	}
	text, lines := warningText(w), r.W.Header()[WarningHeader]
	if slices.Contains(lines, text) { // each tool round of the route repeats it
		return
	}
	r.logWarning(w)
	if r.headerSent {
		r.lateWarnings++
		return
	}
	at := len(r.headerWarnings)
	if slices.Contains(urgentWarnings, w.Code) {
		if i := slices.IndexFunc(r.headerWarnings, func(t llm.Warning) bool { return !slices.Contains(urgentWarnings, t.Code) }); i >= 0 {
			at = i
		}
	}
	if r.headerWarnings = slices.Insert(r.headerWarnings, at, w); len(r.headerWarnings) > maxWarnings {
		if r.lateWarnings++; len(r.overflowWarnings) < maxOverflow {
			r.overflowWarnings = append(r.overflowWarnings, r.headerWarnings[maxWarnings])
		}
		r.headerWarnings = r.headerWarnings[:maxWarnings]
	}
	lines = slices.Insert(lines, min(at, len(lines)), text)
	r.W.Header()[WarningHeader] = lines[:min(len(lines), maxWarnings)]
}

// wordyWarnings may repeat what a model or a tool wrote, which must not be in the log. Each has a text in place of its
// detail.
var wordyWarnings = map[llm.WarningCode]string{
	llm.RefusedCall:   "a call was refused",
	llm.FailedCall:    "a call failed, or its outcome is unknown",
	llm.SuspectedCall: "text looks like a call and was not made one",
	llm.CallAsText:    "the answer is only text that looks like a call",
	llm.EchoedCall:    "a message of the user has the text of the call",
	llm.Repaired:      "a call was repaired",
	llm.Corrected:     "the upstream contradicted itself",
	llm.Ignored:       "the upstream does not get it",
}

// logWarning logs a warning the first time that the route has it.
func (r *Response) logWarning(w llm.Warning) {
	w = withoutAddress(w)
	if text, wordy := wordyWarnings[w.Code]; wordy {
		w.Detail = text
	}
	if text := printable(w.Detail); r.Warned != nil && r.Warned.first(r.Trace.Route, string(w.Code)+"; "+w.Feature+"; "+text) {
		r.Log.Warn("a client was warned; equal warnings of the route are not logged again", "id", r.ID, "route", r.Trace.Route, "code", string(w.Code), "feature", w.Feature, "warning", text)
	}
}

// urgentWarnings come before all others. Without them a client would assume that a refused or failed call was done.
var urgentWarnings = []llm.WarningCode{llm.RefusedCall, llm.FailedCall}

// warningText formats a warning for a header: one line of printable ASCII, without the addresses of upstreams.
func warningText(w llm.Warning) string {
	w = withoutAddress(w)
	return printable(string(w.Code) + "; " + w.Feature + "; " + w.Detail)
}

// withoutAddress replaces the address of an upstream in the feature and the detail of a warning.
func withoutAddress(w llm.Warning) llm.Warning {
	if shown := upstream.ShownID(w.Feature); shown != w.Feature {
		w.Detail = strings.ReplaceAll(w.Detail, w.Feature, shown)
		w.Feature = shown
	}
	return w
}

// printable limits a text to one line of printable ASCII.
func printable(text string) string {
	var b strings.Builder
	b.Grow(min(len(text), MaxWarning) + len("..."))
	for _, r := range text {
		if r < ' ' || r > '~' {
			r = '?'
		}
		if b.WriteByte(byte(r)); b.Len() >= MaxWarning {
			b.WriteString("...")
			break
		}
	}
	return b.String()
}

// MarkBegun marks the answer of an upstream as begun, for a step that writes the header and the body itself.
func (r *Response) MarkBegun(upstream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headerSent, r.Upstream = true, upstream
}

// WriteDocument sends a complete answer.
func (r *Response) WriteDocument(body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head("application/json")
	_, _ = r.W.Write(body) // the client may be gone
}

// WriteRelayed sends bytes of an upstream's answer: whole events of a stream, or a document.
func (r *Response) WriteRelayed(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.RelayedBytes = true
	if r.Stream == nil {
		r.head("application/json")
		return r.W.Write(b)
	}
	r.Stream.writeHead()
	if !r.StripUsage {
		return r.W.Write(b)
	}
	if _, err := r.W.Write(r.withoutUsage(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// FlushRelayed flushes a relayed stream.
func (r *Response) FlushRelayed() error {
	if r.Stream == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Stream.flushAll()
}

// Warnings returns the number of warnings.
func (r *Response) Warnings() int { return len(r.headerWarnings) + r.lateWarnings }
