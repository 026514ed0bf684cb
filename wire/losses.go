package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// losses collects what a conversion to a format could not carry. It writes nothing.
type losses struct {
	Format   string // that is written
	Vendor   string // whose opaque state can be sent
	LogProbs string // form of log probabilities that the format has
	warnings []llm.Warning
}

// lost notes that something was not carried, once for each thing that is said about a feature.
func (l *losses) lost(code llm.WarningCode, feature, detail string) {
	if len(l.warnings) == maxWarnings {
		return
	}
	n := 0
	for _, w := range l.warnings {
		if w.Code == code && w.Feature == feature {
			if n++; w.Detail == detail || n == maxNotes {
				return
			}
		}
	}
	if len(l.warnings) == maxWarnings-1 {
		feature, detail = "more", fmt.Sprintf("more than %d things are lost, the first of them %s", maxWarnings, feature)
	}
	l.warnings = append(l.warnings, llm.Warning{Code: code, Feature: feature, Detail: detail})
}

// unsupported notes an option that this format has no word for.
func (l *losses) unsupported(set bool, feature string) {
	if set {
		l.lost(llm.Ignored, feature, "the "+l.Format+" format has no field for it")
	}
}

// own returns the data of a state that belongs to this vendor. The state of
// another stays here: nobody else can read it.
func (l *losses) own(s llm.State) json.RawMessage {
	if s.Vendor == l.Vendor {
		return s.Data
	}
	return nil
}

// ownExtra returns the fields that only this format knows, and notes those
// that only others know.
func (l *losses) ownExtra(x llm.Extra) map[string]json.RawMessage {
	if own := x[l.Format]; len(x) == 0 || len(x) == 1 && own != nil {
		return own
	}
	for _, format := range slices.Sorted(maps.Keys(x)) {
		if format == l.Format {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(x[format])) {
			if _, said := x[l.Format][key]; said || strings.HasPrefix(key, restated) || saidAnyway[[2]string{format, key}] { // in this format, too
				continue
			}
			l.lostField(format, key, x[format][key], "only the "+format+" format has this field")
		}
	}
	return x[l.Format]
}

// joined returns the fields of two messages that become one. What both say stays as the first says it.
func (l *losses) joined(x, y map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(x)+len(y))
	maps.Copy(out, x)
	for _, key := range slices.Sorted(maps.Keys(y)) {
		if have, said := x[key]; !said {
			out[key] = y[key]
		} else if !bytes.Equal(have, y[key]) {
			l.lost(llm.Ignored, dotted(key), "the message before, which it is joined with, has another")
		}
	}
	return out
}

// lostField notes an extra field that is not sent, and why: each of its members if it is a remainder.
func (l *losses) lostField(format, key string, raw []byte, why string) {
	rest, ok := remainders[[2]string{format, key}]
	switch {
	case strings.HasPrefix(key, nestedMark):
		l.lost(llm.Ignored, dotted(key), why)
		return
	case !ok || rest.whole:
		name, _ := cutPrefix(key, innerPrefix)
		if part, pointer, nested := strings.Cut(name, "."+nestedMark); nested {
			name = part + "." + dotted(pointer)
		}
		l.lost(llm.Ignored, name, why)
	}
	if !ok {
		return
	}
	for member := range js.Members(raw) {
		if !slices.ContainsFunc(rest.known, func(k string) bool { return k == string(member) }) {
			l.lost(llm.Ignored, key+"."+string(member), why)
		}
	}
}

// foreignExtra is ownExtra for what was told already, most of the time.
func (l *losses) foreignExtra(x llm.Extra) {
	for format, fields := range x {
		for key := range fields {
			if format != l.Format && !l.toldField(key) {
				l.ownExtra(x)
				return
			}
		}
	}
}

func (l *losses) toldField(key string) bool {
	name, _ := cutPrefix(key, innerPrefix)
	return strings.HasPrefix(key, restated) || slices.ContainsFunc(l.warnings, func(w llm.Warning) bool { return w.Feature == name })
}

func (l *losses) foreignParts(parts []llm.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			l.foreignExtra(p.Extra)
			l.ownProbs(p.LogProbs)
			if p.Text != "" {
				l.foreignBlock(p.State)
			}
			for _, c := range p.Citations {
				l.foreignState("citations.", c.Raw)
				l.foreignState("citations.", llm.State{Vendor: c.Raw.Vendor, Data: js.Get(c.Raw.Data, "url_citation")})
			}
		case llm.Thinking:
			l.foreignExtra(p.Extra)
			l.foreignState("", p.State)
			l.foreignSummary(p.State)
		case llm.Media:
			l.foreignExtra(p.Extra)
			l.foreignState("", p.State)
		case llm.Call:
			if !p.Hosted {
				l.foreignExtra(p.Extra)
				l.foreignState("", p.State)
			}
		case llm.Result:
			if !p.Hosted {
				l.foreignExtra(p.Extra)
				l.foreignState("", p.State)
				l.foreignOutput(p.State)
				l.foreignParts(p.Parts)
			}
		}
	}
}

// foreignState notes the members of a state of another vendor, except those that only it can read, or that say again what
// the part says.
func (l *losses) foreignState(under string, s llm.State) {
	if s.Vendor == l.Vendor {
		return
	}
	for key := range js.Members(s.Data) {
		if !slices.Contains(stateMembers, string(key)) {
			l.lost(llm.Ignored, under+string(key), "only "+s.Vendor+" can read it")
		}
	}
}

// foreignSummary notes the members of the texts of an item of reasoning, beside the texts, which thinking has.
func (l *losses) foreignSummary(s llm.State) {
	if s.Vendor == l.Vendor {
		return
	}
	for _, list := range []string{"summary", "content"} {
		for el := range js.Elements(js.Get(s.Data, list)) {
			for key := range js.Members(el) {
				if k := string(key); k != "type" && k != "text" {
					l.lost(llm.Ignored, list+"."+k, "only "+s.Vendor+" can read it")
				}
			}
		}
	}
}

// foreignOutput notes that of the result of a tool that another vendor defines there is only the text.
func (l *losses) foreignOutput(s llm.State) {
	if typ := js.Text(js.Get(s.Data, "type")); typ != "" && typ != searchOutput && s.Vendor != l.Vendor {
		l.lost(llm.Degraded, typ, "only "+s.Vendor+" takes it as it is; others are told its text")
	}
}

// foreignBlock notes what the part does not say of a block of another vendor, like images among the texts of a document.
func (l *losses) foreignBlock(s llm.State) {
	if s.Vendor == l.Vendor {
		return
	}
	switch typ := js.Text(js.Get(s.Data, "type")); {
	case typ == "search_result", typ == "document", js.Get(s.Data, "searchResult") != nil, js.Get(s.Data, "document") != nil:
		l.foreignMembers("", s.Data, s.Vendor)
	default:
		l.foreignState("", s)
	}
}

func (l *losses) foreignMembers(at string, v []byte, vendor string) {
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
	case kind != '"' || !readings[at]:
		l.lost(llm.Ignored, strings.ReplaceAll(at, "[]", ""), "only "+vendor+" can read it")
	}
}

// foreignFile reports whether a medium is a file that another vendor holds, and names it: nobody else knows its id. An id that
// a program gives itself has no label, and is the vendor's.
func (l *losses) foreignFile(m llm.Media) bool {
	if m.ID == "" || m.State.IsZero() || sameFiles(m.State.Vendor, l.Vendor) {
		return false
	}
	l.lost(llm.Ignored, "file_id", "the file is one that only "+m.State.Vendor+" holds")
	return true
}

// unplaced warns about extra fields for which a stream has no place, or has none any more.
func (l *losses) unplaced(fields map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(key, restated) {
			l.lostField(l.Format, key, fields[key], "a stream has no place for it")
		}
	}
}

// ownProbs returns the tokens that this format can write.
func (l *losses) ownProbs(p *llm.LogProbs) []json.RawMessage {
	if p == nil {
		return nil
	}
	if p.Form == l.LogProbs {
		return p.Tokens
	}
	l.lost(llm.Ignored, "logprobs", "the format has no place for the log probabilities of "+p.Form)
	return nil
}

// foreignText reports whether a part is text with a state of another vendor.
func (l *losses) foreignText(p llm.Part) bool {
	t, is := p.(llm.Text)
	return is && !t.State.IsZero() && l.own(t.State) == nil
}

// opaque returns the raw form of a part that this format decoded without
// understanding it: an empty text whose state is a whole block.
func (l *losses) opaque(t llm.Text) (json.RawMessage, bool) {
	if t.Text != "" || t.State.IsZero() {
		return nil, false
	}
	raw := l.own(t.State)
	if raw == nil {
		l.lost(llm.Ignored, "opaque part", foreignPart(t.State))
	}
	return raw, true
}

// invalidAsText notes that a call which cannot be run is shown as what the
// model wrote: where arguments are objects, half an object cannot be sent.
func (l *losses) invalidAsText(c llm.InvalidCall) {
	what := "a call"
	if c.Name != "" {
		what = "the call of " + c.Name
	}
	l.lost(llm.Degraded, "invalid call", what+" cannot be run and is shown as text")
}

func (l *losses) ownState(s llm.State) llm.State {
	if s.IsZero() || l.own(s) != nil {
		return llm.State{Vendor: s.Vendor, Data: bytes.Clone(s.Data)}
	}
	l.lost(llm.Ignored, "state", "only "+s.Vendor+" can read it")
	return llm.State{}
}

// ownParts returns parts without the state of other vendors.
func (l *losses) ownParts(parts []llm.Part) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			opaque := p.Text == "" && !p.State.IsZero()
			if p.State = l.ownState(p.State); !opaque || !p.State.IsZero() {
				out = append(out, p)
			}
		case llm.Thinking:
			hidden := p.Text == "" && !p.State.IsZero()
			if p.State = l.ownState(p.State); !hidden || !p.State.IsZero() {
				out = append(out, p)
			}
		case llm.Media:
			if l.foreignFile(p) {
				continue
			}
			if string(p.State.Data) == ownFile && l.own(p.State) == nil {
				p.State = llm.State{}
			}
			p.State = l.ownState(p.State)
			out = append(out, p)
		case llm.Call:
			p.State = l.ownState(p.State)
			out = append(out, p)
		case llm.Result:
			p.State = l.ownState(p.State)
			p.Parts = l.ownParts(p.Parts)
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

// resultParts returns the text and media of a result, for formats whose results hold nothing else, and names what it leaves out.
func (l *losses) resultParts(parts []llm.Part) []llm.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p llm.Part) bool {
		switch p := p.(type) {
		case llm.Text:
			raw, opaque := l.opaque(p)
			if raw != nil {
				l.lost(llm.Ignored, "opaque part", "results of the "+l.Format+" format hold text and media")
			}
			return opaque
		case llm.Media:
			return false
		}
		l.lost(llm.Ignored, "part", "results of the "+l.Format+" format hold text and media")
		return true
	})
}

// foreignPart says what a part is that another format decoded without understanding it.
func foreignPart(s llm.State) string {
	what := "a part"
	if typ := js.Text(js.Get(s.Data, "type")); typ != "" && len(typ) <= 100 {
		what = fmt.Sprintf("a part of type %q", typ)
	} else if typ == "" {
		var names []string
		for key := range js.Members(s.Data) {
			if names = append(names, fmt.Sprintf("%.100q", key)); len(names) == maxNotes {
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
		if s.format == files {
			files = s.vendor
		}
	}
	return owner, files
}

// dotted is how warnings call an extra field of an object inside of a value.
func dotted(pointer string) string {
	return pointerUnescape.Replace(strings.ReplaceAll(strings.TrimPrefix(pointer, nestedMark), "/", "."))
}

// sharedFiles are the formats whose file ids belong to one vendor; see [Properties.Files].
var sharedFiles = []struct{ format, vendor string }{{Chat, "openai"}, {Responses, "openai"}}
