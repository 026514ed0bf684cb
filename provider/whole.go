package provider

import (
	"context"
	"errors"
	"mime"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/llm"
)

// streamers are the models that only answer with streams, by Model.key.
type streamers struct{ said sync.Map }

// asksWhole reports whether a request is sent for a document although the client asks for
// streams. Where tools are taught in a prompt, the answer is streamed, because it may be given up after a call.
func (m *Model) asksWhole(ctx context.Context, j *job) bool {
	if !requestctx.Whole(ctx) || j.route.Kind == Prompted || j.route.Kind == Constrained {
		return false
	}
	_, streams := m.client.streamers.said.Load(m.key())
	return !streams
}

// persistWhole is persist for an answer in one document. It asks for a stream if the vendor
// refuses to answer with a document.
func (m *Model) persistWhole(ctx context.Context, j *job, body []byte, yield func(llm.Event, error) bool) {
	refused := false
	m.persist(ctx, j, body, func(ev llm.Event, err error) bool {
		if refused = refusesWhole(err); refused {
			return false
		}
		return yield(ev, err)
	})
	if !refused {
		return
	}
	m.client.streamers.said.Store(m.key(), true)
	j.whole = false
	body, _, err := j.codec.EncodeRequest(j.req, true)
	if err != nil {
		yield(nil, err)
		return
	}
	body, _ = m.client.redactBody(&m.target, body)
	m.persist(ctx, j, body, yield)
}

// refusesWhole reports whether a vendor refused a request because it was not for a stream:
// "This model only support stream mode", "Requests with max_tokens > 4096 must have stream=true".
func refusesWhole(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Status/100 == 4 && (e.Kind == llm.Invalid || e.Kind == llm.Unsupported) && strings.Contains(strings.ToLower(e.Error()), "stream")
}

// streamed reports whether the answer is a stream. Some servers know nothing else.
func (x *exchange) streamed() bool {
	of, _, err := mime.ParseMediaType(x.resp.Header.Get("Content-Type"))
	return err == nil && of != "application/json" && slices.Contains(x.settled.streamType, of)
}
