package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// searchLimits refuses the limits of a web search that a format cannot pass
// on. They guard what a model may reach, so they must not be dropped.
func (e *encoder) searchLimits(format string, h *llm.HostedConfig, domains bool) {
	if h.MaxUses > 0 {
		e.refuse("the %s format cannot limit the uses of web search", format)
	}
	if !domains && len(h.AllowedDomains) > 0 {
		e.refuse("the %s format cannot restrict web search to domains", format)
	}
	if len(h.BlockedDomains) > 0 {
		e.refuse("the %s format cannot block domains of web search", format)
	}
}

// location writes the members of a place.
func (e *encoder) location(l *llm.Location) {
	e.optString("city", l.City)
	e.optString("region", l.Region)
	e.optString("country", l.Country)
	e.optString("timezone", l.Timezone)
}

func (d *decoder) location(v []byte) *llm.Location {
	if !d.oneOf(v, "{", "an object") {
		return nil
	}
	d.str(d.get(v, "type"))
	if d.asking && hasOthers(v, append(placeMembers, "type")...) {
		return nil // an option of the vendor
	}
	return d.place(v)
}

// placeMembers are those of a place in all formats.
var placeMembers = []string{"city", "region", "country", "timezone"}

func (d *decoder) place(v []byte) *llm.Location {
	return &llm.Location{
		City: d.str(d.get(v, "city")), Region: d.str(d.get(v, "region")),
		Country: d.str(d.get(v, "country")), Timezone: d.str(d.get(v, "timezone")),
	}
}

// optionNames are the names of the options of a hosted tool, for a person.
func optionNames(h *llm.HostedConfig) string {
	names := slices.Sorted(maps.Keys(h.Options))
	return strings.Join(names[:min(len(names), maxNotes)], ", ")
}

// hasOthers reports whether an object has members beside those that are known.
func hasOthers(v []byte, known ...string) bool {
	for key := range js.Members(v) {
		if !slices.Contains(known, string(key)) {
			return true
		}
	}
	return false
}

// option keeps a field of a hosted tool that only the vendor knows.
func (d *decoder) option(h *llm.HostedConfig, key, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	if h.Options == nil {
		h.Options = make(map[string]json.RawMessage)
	}
	h.Options[string(key)] = d.raw(v)
}
