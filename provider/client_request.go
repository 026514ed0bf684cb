package provider

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/equal"
	"github.com/toolpost/toolpost/wire/format"
)

// ClientRequest is a request as a client of a vendor's format wrote it.
type ClientRequest struct {
	Format string // of Body
	Body   []byte
	Stream bool         // the answer is wanted as a stream
	Says   *llm.Request // what Body says
	// Header goes with the request where it is relayed; see requestctx.Betas.
	Header http.Header
}

// relayable returns the job of a request that can be sent unchanged, the model with
// the metadata of its server, and the body with the vendor's name for the model. The
// job is nil if the request has to be changed.
// It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (r *ClientRequest) relayable(ctx context.Context, m *Model) (*Model, *job, []byte) {
	if r.Format != m.wire || m.client.Whole || r.differs(m.quirks()) || r.hasRefused(m.vendor.bounds) {
		return m, nil, nil
	}
	if m = m.discovered(ctx, r.Says).forTools(r.Says.Tools); m.wire != r.Format {
		return m, nil, nil
	}
	j := r.plan(m)
	if j == nil {
		return m, nil, nil
	}
	body := r.named(m)
	if body == nil {
		return m, nil, nil
	}
	if _, foreign := m.client.redactBody(&m.target, body); len(foreign) > 0 {
		return m, nil, nil
	}
	return m, j, body
}

// differs reports whether a request uses something in which the host differs from the vendor who
// made the format.
func (r *ClientRequest) differs(q format.Quirks) bool {
	req := r.Says
	has := func(field string) bool { return js.Get(js.Trim(r.Body), field) != nil }
	thought := func(msg llm.Message) bool {
		return slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { _, is := p.(llm.Thinking); return is })
	}
	strict := func(t llm.ToolDef) bool { return t.Strict != nil && *t.Strict }
	switch {
	case q.MaxTokens != "" && req.MaxTokens > 0 && !has(q.MaxTokens),
		q.SystemRole != "" && req.System != "",
		(q.Thinking != "" || q.ThinkingForCalls || q.ThinkingParts) && slices.ContainsFunc(req.Messages, thought),
		q.NoParallel && req.OneCall,
		q.NoStrict && slices.ContainsFunc(req.Tools, strict),
		q.NoStreamUsage && r.Stream && has("stream_options"),
		q.NoCallIDs && countCalls(req) > 0,
		q.OpenAPISchema && len(req.Tools) > 0,
		q.EmptyText && slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.RoleAssistant && msg.Text() == "" }):
		return true
	}
	q.MaxTokens, q.SystemRole, q.Thinking = "", "", ""
	q.Members, q.ModelFields = "", "" // they apply to requests of other formats
	q.ThinkingForCalls, q.ThinkingParts, q.NoParallel, q.NoStrict, q.NoStreamUsage, q.NoCallIDs, q.OpenAPISchema, q.EmptyText = false, false, false, false, false, false, false, false
	return q != format.Quirks{}
}

// hasRefused reports whether a request has members that the host refuses.
func (r *ClientRequest) hasRefused(b format.RequestBounds) bool {
	if b.Refuses == "" && b.RefusesInMessages == "" {
		return false
	}
	refused := func(object []byte, list string) bool {
		for key := range js.Members(object) {
			if slices.Contains(strings.Fields(list), string(key)) {
				return true
			}
		}
		return false
	}
	body := js.Trim(r.Body)
	for msg := range js.Elements(js.Get(body, "messages")) {
		if refused(msg, b.RefusesInMessages) {
			return true
		}
	}
	return refused(body, b.Refuses)
}

// plan plans a request that is sent unchanged, and returns nil if it has to be
// changed.
func (r *ClientRequest) plan(m *Model) *job {
	j, err := m.planned(r.Says, true)
	if err != nil || j.route.Kind != Native {
		return nil
	}
	for _, w := range j.warnings {
		if w.Code != llm.UnknownModel {
			return nil
		}
	}
	if !equal.Requests(j.req, r.Says) {
		return nil
	}
	j.whole = !r.Stream
	j.nameBack()
	return j
}

// nameBack has the codec know how the client named its tools. The codecs that it copies stay out
// of the frame of its caller, in which the deepest steps of the plan are taken.
//
//go:noinline
func (j *job) nameBack() { j.codec = j.codec.Answering(j.req) }

// named returns the body of a request with the vendor's own name for the model, and nil if the
// body names more than one: the vendor might read another than we did.
func (r *ClientRequest) named(m *Model) []byte {
	if m.format().ModelInPath() {
		return r.Body
	}
	var name []byte
	for key, value := range js.Members(js.Trim(r.Body)) {
		if !js.SameField(key, "model") { // some servers read other spellings too
			continue
		}
		if name != nil || string(key) != "model" {
			return nil
		}
		name = value
	}
	switch {
	case name == nil:
		return nil
	case js.Text(name) == m.model:
		return r.Body
	}
	at := cap(r.Body) - cap(name) // it is a part of the body
	out := make([]byte, 0, len(r.Body)+len(m.model))
	out = append(out, r.Body[:at]...)
	out = js.AppendQuoted(out, m.model)
	return append(out, r.Body[at+len(name):]...)
}
