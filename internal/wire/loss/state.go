package loss

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
)

// OwnState returns the data of this vendor's state. The state of another vendor is not sent, because only that vendor
// can read it.
func (l *Log) OwnState(s llm.State) json.RawMessage {
	if s.Vendor == l.Vendor {
		return s.Data
	}
	return nil
}

func (l *Log) ForeignParts(parts []llm.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			l.ForeignExtra(p.Extra)
			l.OwnLogProbs(p.LogProbs)
			if p.Text != "" {
				l.ForeignBlock(p.State)
			}
			for _, c := range p.Citations {
				l.ForeignState("citations.", c.Raw)
				l.ForeignState("citations.", llm.State{Vendor: c.Raw.Vendor, Data: js.Get(c.Raw.Data, "url_citation")})
			}
		case llm.Thinking:
			l.ForeignExtra(p.Extra)
			l.ForeignState("", p.State)
			l.foreignSummary(p.State)
		case llm.Media:
			l.ForeignExtra(p.Extra)
			l.ForeignState("", p.State)
		case llm.Call:
			if !p.Hosted {
				l.ForeignExtra(p.Extra)
				l.ForeignState("", p.State)
			}
		case llm.Result:
			if !p.Hosted {
				l.ForeignExtra(p.Extra)
				l.ForeignState("", p.State)
				l.ForeignOutput(p.State)
				l.ForeignParts(p.Parts)
			}
		}
	}
}

// ForeignState notes the members of another vendor's state, except those that only that vendor can read and those that
// repeat the part.
func (l *Log) ForeignState(under string, s llm.State) {
	if s.Vendor == l.Vendor {
		return
	}
	for key := range js.Members(s.Data) {
		if !slices.Contains(StateMembers, string(key)) {
			l.Lost(llm.Ignored, under+string(key), "only "+s.Vendor+" can read it")
		}
	}
}

// foreignSummary notes the extra members of the texts of a reasoning item. Thinking has the texts themselves.
func (l *Log) foreignSummary(s llm.State) {
	if s.Vendor == l.Vendor {
		return
	}
	for _, list := range []string{"summary", "content"} {
		for el := range js.Elements(js.Get(s.Data, list)) {
			for key := range js.Members(el) {
				if k := string(key); k != "type" && k != "text" {
					l.Lost(llm.Ignored, list+"."+k, "only "+s.Vendor+" can read it")
				}
			}
		}
	}
}

// ForeignOutput notes that of the result of a tool that another vendor defines there is only the text.
func (l *Log) ForeignOutput(s llm.State) {
	if typ := js.Text(js.Get(s.Data, "type")); typ != "" && typ != SearchOutput && s.Vendor != l.Vendor {
		l.Lost(llm.Degraded, typ, "only "+s.Vendor+" takes it as it is; others are told its text")
	}
}

// ForeignBlock notes what the part does not say of a block of another vendor, like images among the texts of a document.
func (l *Log) ForeignBlock(s llm.State) {
	if s.Vendor == l.Vendor {
		return
	}
	switch typ := js.Text(js.Get(s.Data, "type")); {
	case typ == "search_result", typ == "document", js.Get(s.Data, "searchResult") != nil, js.Get(s.Data, "document") != nil:
		l.foreignMembers("", s.Data, s.Vendor)
	default:
		l.ForeignState("", s)
	}
}

func (l *Log) foreignMembers(at string, v []byte, vendor string) {
	deep := strings.Count(at, ".") >= maxNamed
	switch kind := js.Kind(v); {
	case kind == '{' && !deep:
		for key, val := range js.Members(v) {
			l.foreignMembers(strings.TrimPrefix(at+"."+string(key), "."), val, vendor)
		}
	case kind == '[' && !strings.HasSuffix(at, "[]"):
		for el := range js.Elements(v) {
			l.foreignMembers(at+"[]", el, vendor)
		}
	case kind != '"' || !readableFields[at]:
		l.Lost(llm.Ignored, strings.ReplaceAll(at, "[]", ""), "only "+vendor+" can read it")
	}
}

// ForeignFile reports whether a medium is a file stored at another vendor, and adds a warning, because its id is
// useless elsewhere. An id that a program sets has no label and belongs to the target's vendor.
func (l *Log) ForeignFile(m llm.Media) bool {
	if m.ID == "" || m.State.IsZero() || sameFiles(m.State.Vendor, l.Vendor) {
		return false
	}
	l.Lost(llm.Ignored, "file_id", "only "+m.State.Vendor+" has the file")
	return true
}

// ForeignText reports whether a part is text with a state of another vendor.
func (l *Log) ForeignText(p llm.Part) bool {
	t, is := p.(llm.Text)
	return is && !t.State.IsZero() && l.OwnState(t.State) == nil
}

// Opaque returns the raw form of a part that this format decoded without
// understanding it: an empty text whose state is a whole block.
func (l *Log) Opaque(t llm.Text) (json.RawMessage, bool) {
	if t.Text != "" || t.State.IsZero() {
		return nil, false
	}
	raw := l.OwnState(t.State)
	if raw == nil {
		l.Lost(llm.Ignored, "opaque part", ForeignPart(t.State))
	}
	return raw, true
}

func (l *Log) keepOwn(s llm.State) llm.State {
	if s.IsZero() || l.OwnState(s) != nil {
		return llm.State{Vendor: s.Vendor, Data: bytes.Clone(s.Data)}
	}
	l.Lost(llm.Ignored, "state", "only "+s.Vendor+" can read it")
	return llm.State{}
}

// OwnParts returns parts without the state of other vendors.
func (l *Log) OwnParts(parts []llm.Part) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			opaque := p.Text == "" && !p.State.IsZero()
			if p.State = l.keepOwn(p.State); !opaque || !p.State.IsZero() {
				out = append(out, p)
			}
		case llm.Thinking:
			hidden := p.Text == "" && !p.State.IsZero()
			if p.State = l.keepOwn(p.State); !hidden || !p.State.IsZero() {
				out = append(out, p)
			}
		case llm.Media:
			if l.ForeignFile(p) {
				continue
			}
			if string(p.State.Data) == OwnFile && l.OwnState(p.State) == nil {
				p.State = llm.State{}
			}
			p.State = l.keepOwn(p.State)
			out = append(out, p)
		case llm.Call:
			p.State = l.keepOwn(p.State)
			out = append(out, p)
		case llm.Result:
			p.State = l.keepOwn(p.State)
			p.Parts = l.OwnParts(p.Parts)
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

// ResultParts returns the text and media of a result, for formats whose results hold nothing else, and names what it leaves out.
func (l *Log) ResultParts(parts []llm.Part) []llm.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p llm.Part) bool {
		switch p := p.(type) {
		case llm.Text:
			raw, opaque := l.Opaque(p)
			if raw != nil {
				l.Lost(llm.Ignored, "opaque part", "results of the "+l.Format+" format hold text and media")
			}
			return opaque
		case llm.Media:
			return false
		}
		l.Lost(llm.Ignored, "part", "results of the "+l.Format+" format hold text and media")
		return true
	})
}

// ForeignPart describes a part that another format decoded without understanding it.
func ForeignPart(s llm.State) string {
	what := "a part"
	if typ := js.Text(js.Get(s.Data, "type")); typ != "" && len(typ) <= 100 {
		what = fmt.Sprintf("a part of type %q", typ)
	} else if typ == "" {
		var names []string
		for key := range js.Members(s.Data) {
			if names = append(names, fmt.Sprintf("%.100q", key)); len(names) == MaxNotes {
				break
			}
		}
		what = "a part with " + strings.Join(names, " and ")
	}
	return what + ", which only " + s.Vendor + " knows"
}

// sameFiles reports whether two labels are of one vendor's files. A label without an owner is that of a client.
func sameFiles(a, b string) bool {
	ownerA, filesA := filesOf(a)
	ownerB, filesB := filesOf(b)
	return filesA == filesB && (ownerA == ownerB || ownerA == "" || ownerB == "")
}

// filesOf returns whose files the ids are that have a label; see [Properties.Files].
func filesOf(label string) (owner, files string) {
	i := strings.LastIndexByte(label, '/')
	owner, files = label[:max(i, 0)], label[i+1:]
	for _, s := range sharedFiles {
		if s.Format == files {
			files = s.vendor
		}
	}
	return owner, files
}

// sharedFiles are the formats whose file ids belong to one vendor; see [Properties.Files].
var sharedFiles = []struct{ Format, vendor string }{{names.Chat, "openai"}, {names.Responses, "openai"}}

// OwnFile is the state of a file in a form that the format accepts and its vendor does not prefer. It keeps this form
// in the same format.
const OwnFile = `{"type":"file"}`

// SealedMembers are the members of states that are for the eyes of their vendor.
var SealedMembers = []string{"signature", "data", "thoughtSignature", "encrypted_content", "redactedContent", "extra_content", "reasoning_details"}

// StateMembers are members of states that no other vendor needs.
var StateMembers = append([]string{
	"id", "status", "call_id", "type", "role", "name", "execution", // what pairs items
	"text", "content", "summary", "action", "actions", "operation", "arguments", "input", "output", "response", "tools", "tool_name", "tool_use_id", // what the part says
	// Of citations.
	"url", "title", "source", "cited_text", "document_title", "document_index", "search_result_index", "encrypted_index", "file_id", "filename", "index",
	"start_char_index", "end_char_index", "start_page_number", "end_page_number", "start_block_index", "end_block_index", "start_index", "end_index",
	"container_id", "location", "sourceContent", "url_citation",
}, SealedMembers...)

// readableFields are the members of the blocks that [decoder.reading] keeps whose texts the part says, by where they stand.
var readableFields = map[string]bool{
	"title": true, "source": true, "content": true, "content[].text": true, "source.content": true, "source.content[].text": true,
	"searchResult.title": true, "searchResult.source": true, "searchResult.content": true, "searchResult.content[].text": true,
	"document.name": true, "document.source.content": true, "document.source.content[].text": true,
	// What others need not know.
	"type": true, "content[].type": true, "source.type": true, "source.content[].type": true, "document.format": true,
}

// maxNamed is the depth to which members are named individually. Deeper members count as one.
const maxNamed = 8

// The items of a tool search. Either the vendor runs it, or the client does: then the call has an id, and its output
// has the definitions of the found tools.
const (
	SearchCall   = "tool_search_call"
	SearchOutput = "tool_search_output"
)
