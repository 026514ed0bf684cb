package codec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// RefuseSearchLimits refuses the limits of a web search that a format cannot pass
// on. They guard what a model may reach, so they must not be dropped.
func (e *Encoder) RefuseSearchLimits(format string, h *llm.HostedConfig, domains bool) {
	if h.MaxUses > 0 {
		e.Refuse("the %s format cannot limit the uses of web search", format)
	}
	if !domains && len(h.AllowedDomains) > 0 {
		e.Refuse("the %s format cannot restrict web search to domains", format)
	}
	if len(h.BlockedDomains) > 0 {
		e.Refuse("the %s format cannot block domains of web search", format)
	}
}

func (d *Decoder) Location(v []byte) *llm.Location {
	if !d.OneOf(v, "{", "an object") {
		return nil
	}
	d.Str(d.Get(v, "type"))
	if d.IsRequest && HasOthers(v, append(PlaceMembers, "type")...) {
		return nil // an option of the vendor
	}
	return d.ReadPlace(v)
}

// PlaceMembers are those of a place in all formats.
var PlaceMembers = []string{"city", "region", "country", "timezone"}

func (d *Decoder) ReadPlace(v []byte) *llm.Location {
	return &llm.Location{
		City: d.Str(d.Get(v, "city")), Region: d.Str(d.Get(v, "region")),
		Country: d.Str(d.Get(v, "country")), Timezone: d.Str(d.Get(v, "timezone")),
	}
}

// OptionNames are the names of the options of a hosted tool, for a person.
func OptionNames(h *llm.HostedConfig) string {
	names := js.Keys(h.Options)
	return strings.Join(names[:min(len(names), loss.MaxNotes)], ", ")
}

// HasOthers reports whether an object has members other than the known ones.
func HasOthers(v []byte, known ...string) bool {
	for key := range js.Members(v) {
		if !slices.Contains(known, string(key)) {
			return true
		}
	}
	return false
}

// Option keeps a field of a hosted tool that only the vendor knows.
func (d *Decoder) Option(h *llm.HostedConfig, key, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	if h.Options == nil {
		h.Options = make(map[string]json.RawMessage)
	}
	h.Options[string(key)] = d.Raw(v)
}
