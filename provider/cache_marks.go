package provider

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// cacheMark marks the end of a cached part of the prompt in the messages format. The codecs of other formats have their own
// place for it.
const cacheMark = "cache_control"

// WithCacheMarks returns a request whose instructions and last two turns of the user are marked for the vendor's prompt cache,
// so that the next request of the conversation reads them from it. It returns the request unchanged if the vendor has no such
// marks, or if the request has some.
func (m *Model) WithCacheMarks(req *llm.Request) *llm.Request {
	if !m.takesCacheMarks() || hasCacheMarks(req) {
		return req
	}
	out := *req
	out.Messages = slices.Clone(req.Messages)
	for i, left := len(out.Messages)-1, 2; i >= 0 && left > 0; i-- {
		if msg := &out.Messages[i]; msg.Role == llm.RoleUser || msg.Role == llm.RoleTool {
			if parts := markLast(msg.Parts); parts != nil {
				msg.Parts = parts
				left--
			}
		}
	}
	n := 0
	for n < len(out.Messages) && systemRole(out.Messages[n].Role) {
		n++
	}
	switch {
	case n > 0:
		if parts := markLast(out.Messages[n-1].Parts); parts != nil {
			out.Messages[n-1].Parts = parts
		}
	case req.System != "":
		out.System = ""
		out.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: req.System, Extra: marked(nil)}}}}, out.Messages...)
	case len(req.Tools) > 0 && m.format().CacheMarks == format.MarksAnywhere:
		out.Tools = slices.Clone(req.Tools)
		last := &out.Tools[len(out.Tools)-1]
		last.Extra = marked(last.Extra)
	}
	return &out
}

// takesCacheMarks reports whether the vendor caches what is marked.
func (m *Model) takesCacheMarks() bool {
	takes, members := m.format().CacheMarks, m.quirks().Members
	if members == "" {
		return takes > format.MarksByHost
	}
	return takes > 0 && slices.Contains(strings.Fields(members), cacheMark)
}

// hasCacheMarks reports whether a request has marks in any format.
func hasCacheMarks(req *llm.Request) bool {
	for _, t := range req.Tools {
		if isMarked(t.Extra) {
			return true
		}
	}
	for _, msg := range req.Messages {
		if slices.ContainsFunc(msg.Parts, func(p llm.Part) bool {
			switch p := p.(type) {
			case llm.Text:
				return isMarked(p.Extra)
			case llm.Media:
				return isMarked(p.Extra)
			case llm.Call:
				return isMarked(p.Extra)
			case llm.Result:
				return isMarked(p.Extra)
			}
			return false
		}) {
			return true
		}
	}
	return isMarked(req.Extra)
}

func isMarked(x llm.Extra) bool {
	for _, fields := range x {
		if fields[cacheMark] != nil || fields["cachePoint"] != nil {
			return true
		}
	}
	return false
}

// markLast returns a copy of parts whose last part is marked, or nil if it cannot be.
func markLast(parts []llm.Part) []llm.Part {
	if len(parts) == 0 {
		return nil
	}
	out := slices.Clone(parts)
	switch p := out[len(out)-1].(type) {
	case llm.Text:
		if p.Text == "" {
			return nil
		}
		p.Extra = marked(p.Extra)
		out[len(out)-1] = p
	case llm.Media:
		p.Extra = marked(p.Extra)
		out[len(out)-1] = p
	case llm.Result:
		p.Extra = marked(p.Extra)
		out[len(out)-1] = p
	default:
		return nil
	}
	return out
}

// marked returns extra fields with a mark.
func marked(x llm.Extra) llm.Extra {
	if x = x.Clone(); x == nil {
		x = make(llm.Extra)
	}
	if x[wire.Messages] == nil {
		x[wire.Messages] = make(map[string]json.RawMessage)
	}
	x[wire.Messages][cacheMark] = json.RawMessage(`{"type":"ephemeral"}`)
	return x
}
