package provider

import (
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/llm"
)

// The rules of this file change content that a format can express but the vendor
// refuses. They apply to requests that we write. A request that a client wrote in the
// vendor's own format is not changed: the client gets the vendor's response.

// mentionJSON adds instructions with the word JSON where the vendor demands it for an
// answer in JSON.
func (p planner) mentionJSON() {
	b := p.bounds()
	if b.SaysJSON && p.req.Output != nil && len(p.req.Output.Schema) == 0 && !saysJSON(p.req, b.SystemApart) {
		p.req.Messages = slices.Insert(p.req.Messages, 0, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "Answer in JSON."}}})
		p.warn(llm.Compatibility, "output", "%s demands that a message has the word JSON; instructions to answer in JSON were put first", p.vendor.Name)
	}
}

// saysJSON reports whether a message has the word.
func saysJSON(req *llm.Request, systemApart bool) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), "json") }
	return !systemApart && has(req.System) || slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return has(msg.Text()) })
}

// nothingSaid replaces a blank turn of the user where the vendor refuses blank turns
// and the conversation needs the turn: without it the conversation would begin with
// the model, or two turns of the model would be merged.
const nothingSaid = "(This message is empty.)"

// blankTexts leaves out texts that are only white space, which healing left: instructions, and turns of the user. Such a turn
// between others of the user is not missed.
func (p planner) blankTexts() {
	if !p.bounds().SeenText {
		return
	}
	if p.req.System != "" && unseen(p.req.System) {
		p.req.System = ""
	}
	list, all := p.req.Messages, p.bounds().SeenResults
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
	p.req.Messages = out
	if emptied > 0 {
		p.warn(llm.Degraded, "results", "the %s format takes no blank texts; %d results that are only white space are sent empty", p.wire, emptied)
	}
	if dropped > 0 {
		p.warn(llm.Corrected, "history", "the %s format takes no blank texts; %d turns of the user that are blank were left out", p.wire, dropped)
	}
	if named > 0 {
		p.warn(llm.Corrected, "history", "the %s format takes no blank texts; %d turns of the user that are blank say %q", p.wire, named, nothingSaid)
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

// withSeenResults returns a message whose results have no blank text next to other
// parts, or, if all is set, no blank text. It counts the results that had only white
// space.
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

// describeDocuments adds a text to documents that the user sends without one. A
// document that does not reach the vendor is not mentioned.
func (p planner) describeDocuments() {
	reaches := p.bounds().Describes
	if reaches == nil {
		return
	}
	for i, msg := range p.req.Messages {
		text := slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { t, is := p.(llm.Text); return is && !unseen(t.Text) })
		document := slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { d, is := p.(llm.Media); return is && reaches(d) })
		if msg.Role == llm.RoleUser && document && !text {
			p.req.Messages[i].Parts = append(slices.Clip(msg.Parts), llm.Text{Text: "See the document."})
			p.warn(llm.Compatibility, "document", "a document needs a text next to it; the user says: See the document.")
		}
	}
}

// trimEnd takes the white space off the end of what the model shall go on from.
func (p planner) trimEnd() {
	if !p.bounds().TrimmedEnd {
		return
	}
	last := len(p.req.Messages) - 1
	if last < 0 || p.req.Messages[last].Role != llm.RoleAssistant || len(p.req.Messages[last].Parts) == 0 {
		return
	}
	parts := p.req.Messages[last].Parts
	t, ok := parts[len(parts)-1].(llm.Text)
	if trimmed := strings.TrimRightFunc(t.Text, unicode.IsSpace); ok && trimmed != "" && trimmed != t.Text {
		t.Text = trimmed
		p.req.Messages[last].Parts = append(slices.Clip(parts[:len(parts)-1]), t)
		p.warn(llm.Degraded, "history", "%s refuses to go on from white space; that at the end of its last turn was left out", p.model)
	}
}
