package provider

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// What makers of formats refuse although their formats can say it is changed in requests that are written for them. A
// request that is sent as its client wrote it is not: whoever speaks the vendor's own format gets the vendor's answer.

// bounds are those of the model at its host. Who only copies a format has those of its row.
func (m *Model) bounds() wire.RequestBounds {
	f := m.format()
	b := f.BoundsOf(m.settled.family)
	if b.MakerOnly && !m.vendor.Strict {
		return m.vendor.bounds
	}
	return b
}

// bound brings the numbers and the stop sequences of a request within the bounds. Each change is a warning.
func (m *Model) bound(j *job) {
	if j.asIs {
		return
	}
	b, r := m.bounds(), j.req
	if most := b.MaxTemperature; most > 0 && r.Temperature != nil && *r.Temperature > most {
		j.warn(llm.Degraded, "temperature", "%s takes at most %g, which is sent in place of %g", m.model, most, *r.Temperature)
		r.Temperature = &most
	}
	if r.MaxTokens > 0 && r.MaxTokens < b.MinTokens {
		j.warn(llm.Degraded, "max_tokens", "the %s format takes no limit below %d, which is sent in place of %d", m.wire, b.MinTokens, r.MaxTokens)
		r.MaxTokens = b.MinTokens
	}
	if n := len(r.Stop); b.SeenStops {
		if r.Stop = slices.DeleteFunc(r.Stop, unseen); len(r.Stop) < n {
			j.warn(llm.Ignored, "stop", "%s takes no stop sequence that is only white space; %d left out", m.model, n-len(r.Stop))
		}
	}
	if n := len(r.Stop); b.MaxStops > 0 && n > b.MaxStops {
		j.warn(llm.Degraded, "stop", "%s takes %d stop sequences; the first are sent, and %d left out", m.vendor.Name, b.MaxStops, n-b.MaxStops)
		r.Stop = r.Stop[:b.MaxStops]
	}
}

// unseen reports whether nothing of a text can be seen.
func unseen(s string) bool { return strings.TrimSpace(s) == "" }

// boundTexts gives the vendor the texts that it demands, and none that it refuses.
func (m *Model) boundTexts(j *job) {
	if j.asIs {
		return
	}
	b := m.bounds()
	m.boundMedia(j, b.Media)
	if b.SeenText {
		m.seenTexts(j)
	}
	if b.Describes != nil {
		describeDocuments(j, b.Describes)
	}
	if b.TrimmedEnd {
		m.trimEnd(j)
	}
	if b.SaysJSON && j.req.Output != nil && len(j.req.Output.Schema) == 0 && !saysJSON(j.req, b.SystemApart) {
		j.req.Messages = slices.Insert(j.req.Messages, 0, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "Answer in JSON."}}})
		j.warn(llm.Compatibility, "output", "%s demands that a message has the word JSON; instructions to answer in JSON were put first", m.vendor.Name)
	}
}

// saysJSON reports whether a message has the word.
func saysJSON(req *llm.Request, systemApart bool) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), "json") }
	return !systemApart && has(req.System) || slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return has(msg.Text()) })
}

// nothingSaid stands for a turn of the user in which nothing can be seen, where the vendor refuses such a turn and the
// conversation needs it: else it would begin with the model, or two turns of the model would be one.
const nothingSaid = "(This message is empty.)"

// seenTexts leaves out texts that are only white space, which healing left: instructions, and turns of the user. Such a turn
// between others of the user is not missed.
func (m *Model) seenTexts(j *job) {
	if j.req.System != "" && unseen(j.req.System) {
		j.req.System = ""
	}
	list, all := j.req.Messages, m.bounds().SeenResults
	out := make([]llm.Message, 0, len(list))
	dropped, named, emptied := 0, 0, 0
	for i, msg := range list {
		switch {
		case !blankTurn(msg):
			msg, n := withSeenResults(msg, all)
			out = append(out, msg)
			emptied += n
		case len(out) > 0 && users(out[len(out)-1]) || i+1 < len(list) && users(list[i+1]):
			dropped++
		default:
			named++
			msg.Parts = []llm.Part{llm.Text{Text: nothingSaid}}
			out = append(out, msg)
		}
	}
	j.req.Messages = out
	if emptied > 0 {
		j.warn(llm.Degraded, "results", "the %s format takes no blank texts; %d results that are only white space are sent empty", m.wire, emptied)
	}
	if dropped > 0 {
		j.warn(llm.Corrected, "history", "the %s format takes no blank texts; %d turns of the user that are blank were left out", m.wire, dropped)
	}
	if named > 0 {
		j.warn(llm.Corrected, "history", "the %s format takes no blank texts; %d turns of the user that are blank say %q", m.wire, named, nothingSaid)
	}
}

// users reports whether a message is part of a turn of the user, to whom results belong.
func users(msg llm.Message) bool { return msg.Role == llm.RoleUser || msg.Role == llm.RoleTool }

// blankTurn reports whether nothing can be seen of what the user says.
func blankTurn(msg llm.Message) bool {
	return msg.Role == llm.RoleUser && !slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { return !blankText(p) })
}

func blankText(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && unseen(t.Text) && t.State.IsZero()
}

// withSeenResults returns a message whose results hold no blank text beside other parts, or none at all. It counts those whose white space
// was all they had.
func withSeenResults(msg llm.Message, all bool) (seen llm.Message, emptied int) {
	for i, p := range msg.Parts {
		r, ok := p.(llm.Result)
		if !ok || r.Hosted || !all && len(r.Parts) < 2 || !slices.ContainsFunc(r.Parts, blankText) {
			continue
		}
		parts := slices.DeleteFunc(slices.Clone(r.Parts), blankText)
		if len(parts) == 0 && !all {
			continue
		}
		if len(parts) == 0 && r.Text() != "" {
			emptied++
		}
		r.Parts = parts
		msg.Parts = slices.Clone(msg.Parts)
		msg.Parts[i] = r
	}
	return msg, emptied
}

// describeDocuments puts a text beside documents that the user gives without a word. One that does not reach the vendor is not spoken of.
func describeDocuments(j *job, reaches func(llm.Media) bool) {
	for i, msg := range j.req.Messages {
		text := slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { t, is := p.(llm.Text); return is && !unseen(t.Text) })
		document := slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { d, is := p.(llm.Media); return is && reaches(d) })
		if msg.Role == llm.RoleUser && document && !text {
			j.req.Messages[i].Parts = append(slices.Clip(msg.Parts), llm.Text{Text: "See the document."})
			j.warn(llm.Compatibility, "document", "a document needs a text beside it; the user says: See the document.")
		}
	}
}

// trimEnd takes the white space off the end of what the model shall go on from.
func (m *Model) trimEnd(j *job) {
	last := len(j.req.Messages) - 1
	if last < 0 || j.req.Messages[last].Role != llm.RoleAssistant || len(j.req.Messages[last].Parts) == 0 {
		return
	}
	parts := j.req.Messages[last].Parts
	t, ok := parts[len(parts)-1].(llm.Text)
	if trimmed := strings.TrimRightFunc(t.Text, unicode.IsSpace); ok && trimmed != "" && trimmed != t.Text {
		t.Text = trimmed
		j.req.Messages[last].Parts = append(slices.Clip(parts[:len(parts)-1]), t)
		j.warn(llm.Degraded, "history", "%s refuses to go on from white space; that at the end of its last turn was left out", m.model)
	}
}
