package loss

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// describer returns a tool that a vendor defines as other models are told of it.
type describer func(t llm.ToolDef) (told llm.ToolDef, said llm.Warning, is bool)

// Uncarried returns a warning for each extra field of req that sent does not have.
func Uncarried(req, sent *llm.Request, describe describer) []llm.Warning {
	there := map[lostField]int{}
	var e Log
	counting(sent, describe, func(f lostField, _ []byte) { there[f]++ }, func(llm.ToolDef, llm.Warning) {})
	var lost []lostField
	values := map[lostField][]byte{}
	counting(req, describe, func(f lostField, raw []byte) {
		if there[f]--; there[f] < 0 && values[f] == nil {
			lost = append(lost, f)
			values[f] = raw
		}
	}, func(t llm.ToolDef, w llm.Warning) {
		if _, offered := sent.Tool(t.Name); !offered {
			e.Lost(w.Code, w.Feature, w.Detail)
		}
	})
	slices.SortFunc(lost, func(x, y lostField) int { return cmp.Or(cmp.Compare(x.format, y.format), cmp.Compare(x.name, y.name)) })
	for _, f := range lost {
		if f.format == "" {
			e.Lost(llm.Ignored, f.name, inWords)
		} else {
			e.LostField(f.format, f.name, values[f], NotSent)
		}
	}
	return e.Warnings
}

// inWords is the reason for a loss of data other than fields.
const inWords = "the model is told in words what was said before"

// lostField is a field that only a format or a vendor knows, or without one a kind of thing that words cannot say.
type lostField struct{ format, name string }

// counter is told of each field of a request, and of its value.
type counter func(f lostField, raw []byte)

// counting tells of tools that a vendor defines what models of others are told of them.
func counting(req *llm.Request, describe describer, found counter, say func(llm.ToolDef, llm.Warning)) {
	for _, t := range req.Tools {
		t, said, is := describe(t)
		if is {
			say(t, said)
		}
		found.extra(t.Extra)
	}
	for i := range req.Messages {
		found.extra(req.Messages[i].Extra)
		found.parts(req.Messages[i].Parts, "media")
	}
}

func (found counter) extra(x llm.Extra) {
	for format, fields := range x {
		for name, raw := range fields {
			if !strings.HasPrefix(name, Restated) {
				found(lostField{format, name}, raw)
			}
		}
	}
}

// state is told of the members that others than the vendor can read.
func (found counter) state(s llm.State) {
	for name, raw := range js.Members(s.Data) {
		if !slices.Contains(StateMembers, string(name)) {
			found(lostField{s.Vendor, string(name)}, raw)
		}
	}
}

func (found counter) thing(is bool, name string) {
	if is {
		found(lostField{"", name}, []byte("true"))
	}
}

func (found counter) parts(parts []llm.Part, media string) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			found.extra(p.Extra)
			found.state(p.State)
			found.thing(len(p.Citations) > 0, "citations")
			found.thing(p.Text == "" && !p.State.IsZero(), "opaque part")
		case llm.Thinking:
			found.extra(p.Extra)
			found.state(p.State)
			found.thing(true, "thinking")
		case llm.Media:
			found.extra(p.Extra)
			found.state(p.State)
			name := media
			if p.Kind == llm.Image { // an image of a result is sent as an image
				name = "media"
			}
			found.thing(true, name)
		case llm.Call:
			found.extra(p.Extra)
			found.state(p.State)
		case llm.Result:
			found.extra(p.Extra)
			found.state(p.State)
			found.parts(p.Parts, "media in results")
		}
	}
}
